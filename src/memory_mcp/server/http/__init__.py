"""HTTP: who may call, for how long, in how many sessions, and how the server ends."""

from memory_mcp.server.http.run import Address, make_web_server

__all__ = ["Address", "make_web_server"]
