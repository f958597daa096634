"""Private rewrites of texts, in memory."""
