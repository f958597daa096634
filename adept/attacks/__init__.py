"""Attacks on releases, and bounds on their success; no command lines and no files."""
