"""A language model that computes probabilities in whole numbers, and its arithmetic coder."""
