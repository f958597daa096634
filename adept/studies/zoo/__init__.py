"""A zoo of published private text mechanisms, each rebuilt from its paper in a few lines, and put to the audit."""
