"""Records, the head and everything else that rests in plain files."""
