"""Measures of what rewritten text is good for."""
