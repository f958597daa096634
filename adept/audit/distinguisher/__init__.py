"""Plays the guessing game: input pairs, statistics, decision rules, the experiment that scores them."""
