"""The guessing game: input pairs, statistics, decision rules, and the scoring experiment."""
