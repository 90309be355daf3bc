"""A stand-in of Anthropic's Messages API on a socket of this machine, for the real Claude Code.

It has no model. What it answers is in the prompt: each line `CALL <tool> <json>` becomes one tool
call, in their order, and then a last word. A request to compact a conversation is answered with
`MessagesApi.summary`. Every request is kept as it came: it is exactly what a model would have seen.

The first request of a turn may come before an MCP server is connected; a call of a tool that is not
offered yet is made all the same, as Claude Code defers the schemas of most tools anyway.
"""

import json
import re
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final

__all__ = ["Json", "MessagesApi", "Seen", "messages_api", "text_of"]

Json = dict[str, Any]

BODY_BYTES_MAX: Final = 32_000_000
"""What the real service takes in one request; more is a fault of the driver."""

_CALL: Final = re.compile(r"^CALL (\S+) (\{.*\})[ \t]*$", re.MULTILINE)
_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_COMPACT: Final = "Your task is to create a detailed summary"


@dataclass(frozen=True)
class Seen:
    """One request for an answer, as a model would have seen it."""

    body: Json

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n".join(_texts(self.body.get("system", "")))

    @property
    def tools(self) -> list[str]:
        """The names of the tools whose schemas were sent along."""
        return [tool["name"] for tool in self.body.get("tools", [])]

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and text of each message: what was said, called, and answered by tools."""
        return [(m["role"], "\n".join(_texts(m["content"]))) for m in self.body["messages"]]

    @property
    def text(self) -> str:
        """Everything that was said in messages, in one piece."""
        return "\n".join(text for _, text in self.messages)

    @property
    def everything(self) -> str:
        """The whole request, as JSON that keeps every letter readable."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def compacts(self) -> bool:
        """Whether it asks for the summary of a conversation."""
        return bool(self.messages) and _COMPACT in self.messages[-1][1]

    @property
    def of_agent(self) -> bool:
        """Whether it is a step of the agent's own loop, and no title or other small errand."""
        return bool(self.body.get("tools")) and not self.compacts


@dataclass
class MessagesApi:
    """What was asked so far, and what a conversation is summed up as."""

    url: str = ""
    summary: str = "We talked about the shop."
    requests: list[Seen] = field(default_factory=list[Seen])
    others: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])

    @property
    def turns(self) -> list[Seen]:
        """The requests of the agent's own loop, oldest first."""
        return [seen for seen in self.requests if seen.of_agent]

    def forget(self) -> None:
        """Begin anew, as for the next session."""
        self.requests.clear()
        self.others.clear()

    def reply(self, seen: Seen) -> Json:
        """The one content block that answers a request."""
        if seen.compacts:
            summary = (
                f"<analysis>\nAll of it.\n</analysis>\n\n<summary>\n{self.summary}\n</summary>"
            )
            return {"type": "text", "text": summary}
        calls, done = _script(seen.body["messages"])
        if seen.of_agent and done < len(calls):
            tool, arguments = calls[done]
            name = f"toolu_{uuid.uuid4().hex[:20]}"
            return {"type": "tool_use", "id": name, "name": tool, "input": arguments}
        return {"type": "text", "text": "DONE"}


def _script(messages: list[Json]) -> tuple[list[tuple[str, Json]], int]:
    """The calls of the last prompt that has any, and how many of them were made since."""
    calls: list[tuple[str, Json]] = []
    done = 0
    for message in messages:
        if message["role"] != "user":
            continue
        done += sum(block["type"] == "tool_result" for block in _blocks(message["content"]))
        said = "\n".join(_spoken(message["content"]))
        if found := _CALL.findall(_REMINDER.sub("", said)):
            calls, done = [(tool, json.loads(given)) for tool, given in found], 0
    return calls, done


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _spoken(content: str | list[Json]) -> Iterator[str]:
    return (block["text"] for block in _blocks(content) if block["type"] == "text")


def _texts(content: str | list[Json]) -> Iterator[str]:
    """The readable part of content blocks."""
    for block in _blocks(content):
        match block:
            case {"type": "text", "text": str(text)}:
                yield text
            case {"type": "tool_use", "name": str(name), "input": given}:
                yield f"[calls {name} {json.dumps(given, ensure_ascii=False)}]"
            case {"type": "tool_result", "content": answer}:
                yield from _texts(answer)
            case {"type": kind}:
                yield f"[{kind}]"
            case _:
                raise AssertionError(block)


def text_of(block: Json) -> str:
    """What can be read in one content block."""
    return "\n".join(_texts([block]))


def _message(seen: Seen, block: Json) -> Json:
    return {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": seen.body["model"],
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": len(seen.everything) // 4,
            "output_tokens": 5,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _events(message: Json) -> Iterator[Json]:
    """The same message as it is streamed."""
    (block,) = message["content"]
    head: Json = {**message, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": head}
    if block["type"] == "text":
        empty: Json = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


class _Server(ThreadingHTTPServer):
    """Each connection in a thread of its own; the client may hang up whenever it likes."""

    daemon_threads = True

    def __init__(self, api: MessagesApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api
        self.lock = Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: what goes wrong while answering is kept in `faults`; the rest is hanging up."""


class _Handler(BaseHTTPRequestHandler):
    """Speaks HTTP. What to say, `MessagesApi` knows."""

    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]  # always this one

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's name
        """Tests read what was asked; nobody reads a log."""

    def do_HEAD(self) -> None:
        self._send(b"", "application/json")

    def do_GET(self) -> None:
        self._note("GET")
        self._json({"data": [], "has_more": False})

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        if length > BODY_BYTES_MAX:
            self._fault(f"{self.path}: {length} bytes")
            return
        raw = self.rfile.read(length)
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._json({"input_tokens": len(raw) // 4})
        elif path == "/v1/messages":
            try:
                self._answer(Seen(json.loads(raw)))
            except (AssertionError, KeyError, TypeError, ValueError) as error:
                self._fault(f"{path}: {error!r}")
        else:
            self._note("POST")
            self._json({})

    def _answer(self, seen: Seen) -> None:
        with self.server.lock:
            self.server.api.requests.append(seen)
            message = _message(seen, self.server.api.reply(seen))
        if seen.body.get("stream"):
            said = "".join(
                f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in _events(message)
            )
            self._send(said.encode(), "text/event-stream")
        else:
            self._json(message)

    def _note(self, method: str) -> None:
        with self.server.lock:
            self.server.api.others.append(f"{method} {self.path}")

    def _fault(self, what: str) -> None:
        """A 400 is not tried again, and the test says what it was."""
        self.server.api.faults.append(what)
        error = {"type": "invalid_request_error", "message": what}
        self._json({"type": "error", "error": error}, 400)

    def _json(self, answer: Json, status: int = 200) -> None:
        self._send(json.dumps(answer).encode(), "application/json", status)

    def _send(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def messages_api() -> Generator[MessagesApi]:
    """It runs until it is no longer needed; in the end nothing may have been unanswerable."""
    api = MessagesApi()
    with _Server(api) as server:
        api.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, name="messages-api", daemon=True)
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
    assert api.faults == []
