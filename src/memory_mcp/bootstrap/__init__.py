"""What opens a session, at every door and in the files that hooks and people read."""

from memory_mcp.bootstrap.opening import bootstrap
from memory_mcp.bootstrap.views import keep_rendered, render_if_behind, render_views

__all__ = ["bootstrap", "keep_rendered", "render_if_behind", "render_views"]
