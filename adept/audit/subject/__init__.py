"""What is judged, and how it is called: a mechanism on vectors or on values, a rewriter of texts, anyone's code."""
