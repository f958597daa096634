"""What text is likely, in whole numbers: n-grams, word classes, an LSTM over words, and the spelling of unknown words."""
