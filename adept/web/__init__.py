"""The web page of ``adept play``; to read it from another machine, one needs a token."""
