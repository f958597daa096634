"""Reading and writing of records: files, splits and the bundled text."""
