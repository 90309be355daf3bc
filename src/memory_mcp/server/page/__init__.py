"""The page: the timeline and the memories in a browser, as a file, and inside a client."""

from memory_mcp.server.page.document import build_app_document
from memory_mcp.server.page.reads import read_page
from memory_mcp.server.page.run import export_page, serve_page

__all__ = ["build_app_document", "export_page", "read_page", "serve_page"]
