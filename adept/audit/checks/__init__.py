"""Checks: one subject a module; `adept.audit.questions` is the table of them."""
