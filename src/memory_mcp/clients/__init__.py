"""Pure: where MCP clients keep their servers, what is written there, and how a text is edited."""
