"""Confidence bounds, exact tests, and the noise distributions for which they are exact."""
