"""Text to token ids and back, and a lexicon of English for words that a vocabulary lacks."""
