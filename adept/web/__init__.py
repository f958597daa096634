"""The page on which people see what a budget buys; it is served on this machine alone unless a token is set."""
