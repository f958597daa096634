"""The records of a release: where they are read, and which columns of them are used."""
