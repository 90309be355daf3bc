"""I/O: text to vectors, by a model on this machine or behind an address."""
