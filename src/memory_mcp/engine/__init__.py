"""What every use case stands on: the workspace, the head, recovery, an index in step with it."""
