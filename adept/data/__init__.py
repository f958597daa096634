"""Functions that read and write files of records, the splits of data sets, and the bundled text."""
