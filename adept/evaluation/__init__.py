"""Measures of how useful rewritten text is."""
