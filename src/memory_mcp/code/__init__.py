"""Memories beside the code that they are about: where they stand in git, and what they cite."""

from memory_mcp.code.marks import make_marker, mark_standing

__all__ = ["make_marker", "mark_standing"]
