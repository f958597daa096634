"""The release of a file: its columns, labels and persons, and the statement written beside it."""
