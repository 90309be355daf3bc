"""The face to MCP clients: thin. Only here and in `cli` is MCP known."""
