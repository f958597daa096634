"""A code that turns any text into a whole number below K, and back."""
