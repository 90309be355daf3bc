"""The page: the timeline and the memories in a browser, as a file, and inside a client.

`run` serves it, and imports the web server; `collect` writes it into a file, and does not.
"""

from memory_mcp.server.page.document import build_app_document
from memory_mcp.server.page.reads import read_page

__all__ = ["build_app_document", "read_page"]
