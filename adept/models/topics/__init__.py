"""The encoder that needs no network: topics, a linear map of a text's words, fitted to public text."""
