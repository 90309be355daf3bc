"""The log of a server for many: one line for each event, as text or JSON, without content or keys.

What libraries log below an error names sessions, addresses and whole messages, so it is left out at
every level. Of an exception that is not ours the frames are shown and not its words, which may
repeat what a client sent.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Literal

from memory_mcp.errors import MemoryMcpError

LOG_LINE: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_OURS: Final = "memory_mcp"
_WEB_SERVER: Final = "uvicorn"

_NOISE: Final = ("Failed to parse message",)
"""How lines of the SDK begin that tell of a client's mistake and repeat what it sent."""

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def log_without_content(level: str, form: Literal["text", "json"]) -> None:
    """Send the log of this process to stderr, in that form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if form == "json" else _TextLines(LOG_LINE))
    handler.addFilter(_tells_no_content)
    logging.basicConfig(level=level, handlers=[handler])


def _tells_no_content(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, RuntimeError) and "http.response.start" in str(error):
        return False  # the SDK causes it whenever a stream of SSE has ended
    if record.name.startswith(_OURS):
        return True
    if record.name.startswith(_WEB_SERVER):
        return record.levelno >= logging.INFO
    return record.levelno >= logging.ERROR and not record.getMessage().startswith(_NOISE)


class _TextLines(logging.Formatter):
    """Lines for people."""

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802  # the standard library's name
        return _describe(ei)


class _JsonLines(logging.Formatter):
    """An object on each line, for programs."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = _describe(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _describe(info: ExcInfo) -> str:
    kind, error, trace = info
    frames = "".join(traceback.format_tb(trace)).rstrip()
    said = f": {error}" if isinstance(error, MemoryMcpError) else ""
    return f"{frames}\n{kind.__name__ if kind else 'Error'}{said}".lstrip()
