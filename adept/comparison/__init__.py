"""Mechanisms, budgets and seeds side by side on one data set."""
