"""Attacks on releases, and limits of what any attack can achieve."""
