"""The page, tables and figures that show a comparison."""
