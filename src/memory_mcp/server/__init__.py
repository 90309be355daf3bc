"""Serve MCP clients. MCP is known only here and in `cli`."""
