"""The subject of an audit: a mechanism on vectors or values, and the ways to call it."""
