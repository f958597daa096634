"""Confidence bounds and tests."""
