"""The command `memory-mcp`."""
