"""The page that shows what a budget buys; served on this machine alone, unless with a token."""
