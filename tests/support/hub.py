"""A hub on a socket of this machine: files, by pieces if asked so, and cut off when told to."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tiny_model import silent

from memory_mcp.errors import MemoryMcpError
from memory_mcp.models.install import fetch_files
from memory_mcp.models.recipes import Recipe


class Hub:
    """What it holds, what it was asked (path and range), and how it misbehaves."""

    def __init__(self) -> None:
        self.url = ""
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.cut_after: int | None = None
        self.knows_ranges = True
        self.status = 0
        self.moved_to = ""


@contextmanager
def hub_serving() -> Generator[Hub]:
    """It runs until it is no longer needed."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            hub.asked.append((self.path, wanted))
            if hub.moved_to and not self.path.startswith(hub.moved_to):
                self.send_response(302)
                self.send_header("Location", f"{hub.moved_to}{self.path}")
                self.end_headers()
                return
            data = hub.files.get(self.path.rpartition("/")[2])
            if hub.status or data is None:
                self.send_error(hub.status or 404)
                return
            start = int(wanted[6:-1]) if wanted and hub.knows_ranges else 0
            if start and start >= len(data):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            end = len(data) if hub.cut_after is None else start + hub.cut_after
            self.wfile.write(data[start:end])

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name there
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{listening.server_address[1]}"
    thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def refusal(kind: type[MemoryMcpError], recipe: Recipe, source: object, downloads: Path) -> str:
    """Why nothing can be had from there."""
    with pytest.raises(kind) as caught:
        fetch_files(recipe, str(source), downloads, silent)
    return str(caught.value)


def held(folder: Path) -> list[str]:
    """The names of what is in a folder."""
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
