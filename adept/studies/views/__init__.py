"""How the studies look: for each one its tables for a terminal and its figure as SVG text, from the rows that it returned."""
