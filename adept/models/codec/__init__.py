"""Any text as a whole number below K, and back."""
