"""Memories on their way in and out: imports and exports."""
