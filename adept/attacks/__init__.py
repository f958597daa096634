"""Attackers on releases, and their bounds: a library that knows nothing of command lines and files."""
