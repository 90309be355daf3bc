"""Settings: what the environment says, and which folders follow from it."""
