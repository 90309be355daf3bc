"""What `/metrics` shows, in Prometheus's text format: counts and durations, and no content."""

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from memory_mcp.server.observation import Calls


class Figures:
    """How requests over HTTP were answered, by status."""

    def __init__(self) -> None:
        self.answers = Counter[int]()

    def note(self, status: int) -> None:
        """Count an answer; 0 is a client that left before there was one."""
        self.answers[status] += 1


class OpenTenants(Protocol):
    """What is open now."""

    @property
    def count(self) -> int: ...

    @property
    def sessions(self) -> int: ...


def render_figures(figures: Figures, calls: Calls, tenants: OpenTenants, requests: int) -> str:
    """The figures of this process since its start."""
    return "".join(f"{line}\n" for line in _list_lines(figures, calls, tenants, requests))


def _list_lines(
    figures: Figures, calls: Calls, tenants: OpenTenants, requests: int
) -> Iterator[str]:
    yield from _head("calls_total", "counter", "Calls by tool or method, and how they ended.")
    for (name, ending), count in sorted(calls.ended.items()):
        yield f'memory_mcp_calls_total{{name="{name}",ending="{ending}"}} {count}'
    yield from _head("call_seconds_total", "counter", "How long calls took, together.")
    for name, seconds in sorted(calls.seconds.items()):
        yield f'memory_mcp_call_seconds_total{{name="{name}"}} {seconds:.6f}'
    yield from _head(
        "http_answers_total", "counter", "Answers over HTTP by status; 0: the client left."
    )
    for status, count in sorted(figures.answers.items()):
        yield f'memory_mcp_http_answers_total{{status="{status}"}} {count}'
    for name, value, what in (
        ("calls_under_way", calls.under_way, "Calls that are being answered."),
        ("http_requests_open", requests, "Requests that are open, streams included."),
        ("memories_open", tenants.count, "Memories that are open: one for each user and project."),
        ("sessions_open", tenants.sessions, "Sessions of clients."),
    ):
        yield from _head(name, "gauge", what)
        yield f"memory_mcp_{name} {value}"


def _head(name: str, kind: str, what: str) -> tuple[str, str]:
    return f"# HELP memory_mcp_{name} {what}", f"# TYPE memory_mcp_{name} {kind}"
