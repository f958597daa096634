"""Text to private text, in memory."""
