"""What came with a repository, and whose word erases."""
