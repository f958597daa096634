"""The commands of the program. The function ``main`` of a command's module runs the command."""
