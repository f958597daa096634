"""The page that shows the effect of a budget; only this machine can open it without a token."""
