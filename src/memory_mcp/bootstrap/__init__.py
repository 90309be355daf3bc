"""Builds the text that opens a session, and renders it into files for hooks and people.

What builds it (`opening`) is not here, because a command that renders nothing starts without it.
"""

from memory_mcp.bootstrap.views import keep_rendered, render_if_stale, render_views

__all__ = ["keep_rendered", "render_if_stale", "render_views"]
