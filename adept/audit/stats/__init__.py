"""Confidence bounds and exact tests, and the distributions of noise that mechanisms may declare."""
