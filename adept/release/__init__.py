"""A file's release: columns, labels, persons and the statement beside it."""
