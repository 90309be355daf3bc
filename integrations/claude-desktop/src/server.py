"""Starts memory-mcp with what its user filled in; what was left empty arrives as a placeholder."""

import os
import sys
from pathlib import Path

from memory_mcp.cli.main import main

if __name__ == "__main__":
    for name, value in list(os.environ.items()):
        if value.startswith("${user_config."):
            del os.environ[name]
    if not os.environ.get("MEMORY_PROJECT_DIR"):
        # no project was meant: the bundle may lie in a git work tree (a home of dotfiles is one)
        os.chdir(Path(__file__).resolve().anchor)
    sys.exit(main([]))
