"""Text probabilities in whole numbers: n-grams, unknown words, and an arithmetic coder."""
