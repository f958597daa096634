"""Attacks on releases, and bounds on their success. No module here reads options or files."""
