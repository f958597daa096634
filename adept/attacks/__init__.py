"""Attacks on releases, and bounds on their success. Nothing here reads options or files."""
