"""Attackers on releases, and bounds on their success; free of command lines and files."""
