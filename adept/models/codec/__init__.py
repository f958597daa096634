"""Any text as a whole number below K and back: an arithmetic code, listed texts, and the search for a text near a record."""
