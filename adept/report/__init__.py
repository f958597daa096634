"""A comparison as a page."""
