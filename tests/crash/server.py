"""The real server, saying who it is so that it can be killed: `python server.py PID_FILE`."""

import os
import sys
from pathlib import Path

from memory_mcp.cli.main import main

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(str(os.getpid()), encoding="ascii")
    main(["serve"])
