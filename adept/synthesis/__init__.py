"""Synthetic records for a whole file, from noisy counts under central differential privacy."""
