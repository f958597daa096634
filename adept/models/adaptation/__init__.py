"""A trained model in another domain, by public examples of it."""
