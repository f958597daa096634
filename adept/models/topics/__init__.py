"""What a text is about, as a linear map of its words that is fitted on public text: an encoder without a network."""
