"""Synthetic text for a whole file under a central guarantee, from one exact release of counts."""
