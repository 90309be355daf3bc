"""Text to vectors and text to text, by a model on this machine or behind an address."""
