"""Measures of the usefulness of rewritten text."""
