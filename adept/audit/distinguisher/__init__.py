"""The guessing game: a rule sees a release and guesses from which of two inputs it was made."""
