"""Pure: which records are visible, and how heads move."""
