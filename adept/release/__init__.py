"""The release of a file: columns, labels, persons and the statement beside it."""
