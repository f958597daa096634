"""What is judged, and how it is called."""
