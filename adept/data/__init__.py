"""Records in and out: files, splits and the bundled grammar."""
