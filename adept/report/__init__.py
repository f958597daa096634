"""The web page, the tables and the figures that show the results of a comparison."""
