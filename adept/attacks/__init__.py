"""Attacks on releases, and bounds on their success. No module of this package reads options or files."""
