"""The subject of an audit, and ways to call it: a mechanism on vectors or values."""
