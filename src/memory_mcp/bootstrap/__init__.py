"""What opens a session, at every door and in the files that hooks and people read."""
