"""Attacks on releases, and bounds on their success; no module here reads options or files."""
