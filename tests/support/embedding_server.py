"""A server on a socket of this machine that makes vectors, or misbehaves in any way it is told to.

Vectors are counts of letters: like texts get like vectors.
"""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Final

LETTERS: Final = "abcdefghijklmnopqrstuvwxyz "

Json = dict[str, Any]


@dataclass(frozen=True)
class Heard:
    """One request."""

    path: str
    headers: dict[str, str]
    body: Json


@dataclass(frozen=True)
class Said:
    """One answer; `late` answers come when the server closes."""

    body: object
    status: int = 200
    late: bool = False
    headers: dict[str, str] = field(default_factory=dict[str, str])


Behaviour = Callable[[Heard], Said]


def vector(text: str) -> list[float]:
    """How often each letter is in the text."""
    return [1.0, *(float(text.lower().count(letter)) for letter in LETTERS)]


def well(heard: Heard) -> Said:
    """What a good server answers, by the interface that was asked."""
    texts: list[str] = heard.body["input"]
    if heard.path.endswith("/api/embed"):
        return Said({"model": heard.body["model"], "embeddings": [vector(t) for t in texts]})
    items = [{"index": place, "embedding": vector(t)} for place, t in enumerate(texts)]
    return Said({"object": "list", "data": items[::-1]})  # the interface promises no order


class EmbeddingServer:
    """What it heard, and how it behaves from now on."""

    def __init__(self, usual: Behaviour) -> None:
        self.url = ""
        self.heard: list[Heard] = []
        self.usual: Behaviour = usual
        self.behaves: Behaviour = usual
        self.closing = Event()

    def once(self, said: Said) -> None:
        """Answer like this once, and well from then on."""

        def behaviour(_: Heard) -> Said:
            self.behaves = self.usual
            return said

        self.behaves = behaviour


@contextmanager
def embedding_server(usual: Behaviour = well) -> Generator[EmbeddingServer]:
    """It runs until it is no longer needed."""
    server = EmbeddingServer(usual)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            heard = Heard(self.path, dict(self.headers), json.loads(self.rfile.read(length)))
            server.heard.append(heard)
            said = server.behaves(heard)
            if said.late:
                server.closing.wait(60)
            data = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
            try:
                self.send_response(said.status)
                for name, value in {"Content-Length": str(len(data)), **said.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # nobody waited

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name there
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{listening.server_address[1]}"
    thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        listening.shutdown()
        listening.server_close()
        thread.join()
