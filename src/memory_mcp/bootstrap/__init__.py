"""Builds the text that opens a session, and renders it into files for hooks and people."""

from memory_mcp.bootstrap.opening import build_bootstrap
from memory_mcp.bootstrap.views import keep_rendered, render_if_stale, render_views

__all__ = ["build_bootstrap", "keep_rendered", "render_if_stale", "render_views"]
