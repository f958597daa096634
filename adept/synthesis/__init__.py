"""Synthetic text from a whole file under a central guarantee: one exact release of counts."""
