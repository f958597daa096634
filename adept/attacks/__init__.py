"""Attacks on releases, and bounds on the success of any attack."""
