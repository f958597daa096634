"""The release of a file: its columns, labels and persons, and its privacy statement."""
