"""A model's public sentences: the list, its files, and the search for those near to a record."""
