"""Confidence bounds and exact tests, and the distributions of noise that they are exact for."""
