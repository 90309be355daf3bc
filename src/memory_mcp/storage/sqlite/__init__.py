"""The index, the vectors and the outbox, in SQLite. Deleting the index loses nothing."""
