"""Comparisons of mechanisms at several budgets on one data set, with several seeds."""
