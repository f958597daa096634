"""Reading and writing of records in files, the splits of data sets, and the bundled text."""
