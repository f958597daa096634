"""Plays the guessing game: input pairs, statistics, decision rules, experiment."""
