"""How likely a text is, in whole numbers: n-grams over words and word classes, an LSTM over words, and unknown words."""
