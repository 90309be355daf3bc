"""The server to compare with: the same SDK, one tool, and nothing behind it."""

from mcp.server import MCPServer

server = MCPServer("nothing")


@server.tool()
def nothing(text: str) -> str:
    """Give back what was given."""
    return text


if __name__ == "__main__":
    server.run("stdio")
