"""Observe calls: how many are under way, how each ended, how long it took. Never what was said.

The end of a server waits for what is under way. A call's line in the log names the tool, its
duration and how it ended; so does its OpenTelemetry span, if anybody collects these.
"""

import asyncio
import logging
import time
from collections import Counter, defaultdict
from contextlib import AbstractContextManager
from typing import Any, Final, Literal

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import CallToolResult
from opentelemetry import propagate, trace

_LOG: Final = logging.getLogger("memory_mcp.calls")

Ending = Literal["ok", "refused", "failed"]
"""Done; answered with a sentence that says why not; or ended by an error."""

_STREAMS: Final = ("subscriptions/listen",)
"""What is open for as long as the client likes."""

_OTHER: Final = "other"
"""Stands for a method that we do not know: its name is the client's, and could be anything."""


class Calls:
    """The calls of this process, of whatever client."""

    def __init__(self, names: frozenset[str] = frozenset()) -> None:
        self._tools = names
        self.under_way = 0
        self.ended = Counter[tuple[str, Ending]]()
        self.seconds = defaultdict[str, float](float)
        self._idle = asyncio.Event()
        self._idle.set()

    async def wait_until_idle(self, seconds_max: float) -> bool:
        """Wait until no call is under way; whether that came in time."""
        try:
            async with asyncio.timeout(seconds_max):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def observe(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Middleware: count a call while it is under way, and note how it ended."""
        if ctx.method in _STREAMS:
            return await call_next(ctx)
        began, ending = time.monotonic(), "failed"
        self.under_way += 1
        self._idle.clear()
        name = self._name(ctx)
        with _begin_span(ctx, name) as span:
            try:
                result = await call_next(ctx)
                ending = _judge(result)
                return result
            finally:
                self.under_way -= 1
                if not self.under_way:
                    self._idle.set()
                self._note(name, ending, time.monotonic() - began)
                _end_span(span, ending)

    def _name(self, ctx: ServerRequestContext[Any, Any]) -> str:
        """The tool or the method of a call, of those that there are."""
        if ctx.method != "tools/call":
            return ctx.method if ctx.method in _METHODS else _OTHER
        tool = (ctx.params or {}).get("name")
        return tool if tool in self._tools else _OTHER

    def _note(self, name: str, ending: Ending, seconds: float) -> None:
        self.ended[name, ending] += 1
        self.seconds[name] += seconds
        _LOG.info("%s: %s in %.0f ms", name, ending, seconds * 1000)


def _begin_span(
    ctx: ServerRequestContext[Any, Any], name: str
) -> AbstractContextManager[trace.Span]:
    """The span of a call, below that of its client if it says which.

    It takes the place of the SDK's, which names a tool as the client does, and holds the sentences
    of errors: these quote ids, names and texts.
    """
    is_tool = ctx.method == "tools/call"
    attributes = {
        "mcp.method.name": ctx.method if is_tool else name,
        "mcp.protocol.version": ctx.protocol_version,
    }
    if is_tool:
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    meta = {key: value for key, value in (ctx.meta or {}).items() if isinstance(value, str)}
    return _TRACER.start_as_current_span(
        f"{ctx.method} {name}" if is_tool else name,
        context=propagate.extract(meta),
        kind=trace.SpanKind.SERVER,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    )


def _end_span(span: trace.Span, ending: Ending) -> None:
    span.set_attribute("memory_mcp.ending", ending)
    if ending == "failed":
        span.set_status(trace.StatusCode.ERROR)


_TRACER: Final = trace.get_tracer("memory_mcp")

_METHODS: Final = frozenset(
    {
        "initialize", "notifications/initialized", "ping", "server/discover", "tools/list",
        "resources/list", "resources/read", "resources/templates/list", "resources/subscribe",
        "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete",
        "logging/setLevel", "notifications/cancelled", "notifications/roots/list_changed",
    }
)  # fmt: skip


def _judge(result: HandlerResult) -> Ending:
    match result:
        case CallToolResult(is_error=True) | {"isError": True}:
            return "failed"
        case CallToolResult(structured_content={"success": False}) | {
            "structuredContent": {"success": False}
        }:
            return "refused"
        case _:
            return "ok"
