"""Text to token ids and back, and what English as a whole knows of a word."""
