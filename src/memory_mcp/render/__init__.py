"""Pure: what a prompt is given to read, within its budget."""
