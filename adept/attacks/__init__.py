"""Attackers and their bounds: what a reader of releases can find out about a record, beside what the guarantee allows.

A library for other projects too: it takes texts, latents and mechanisms, and knows nothing of command lines and files.
"""
