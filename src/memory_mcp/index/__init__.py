"""I/O: the derived index in SQLite. Deleting its file loses nothing."""
