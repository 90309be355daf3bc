"""Finding what holds: here, in the cloud, and among what came with a repository."""
