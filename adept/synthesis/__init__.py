"""Synthetic text for a whole file under central differential privacy, from noisy counts."""
