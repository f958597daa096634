"""What rewritten text is good for."""
