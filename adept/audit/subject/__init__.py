"""The subject of an audit, and the ways to call it: a mechanism on vectors or on values, anyone's code."""
