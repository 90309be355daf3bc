"""I/O: files. Records, the head, and what the host can tell (clock, ids, git)."""
