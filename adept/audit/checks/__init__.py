"""Checks, one subject per module; `adept.audit.questions` lists them."""
