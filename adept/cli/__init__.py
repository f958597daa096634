"""The commands: ``main`` of each module runs one command with its configuration."""
