"""Records, heads, index and vectors in PostgreSQL: one memory for a team."""
