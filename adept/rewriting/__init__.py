"""Private rewriting of texts in memory; ``adept.release`` rewrites files."""
