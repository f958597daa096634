"""Comparisons of mechanisms, budgets and seeds on one data set."""
