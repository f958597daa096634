"""The probability of a text, in whole numbers: n-grams over words and word classes, unknown words, and an arithmetic coder."""
