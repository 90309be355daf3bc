"""One memory: added, corrected, forgotten."""
