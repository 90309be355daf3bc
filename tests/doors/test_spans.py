"""OpenTelemetry, with its real SDK: a span for each call, and nothing that was said."""

import json
from collections.abc import AsyncGenerator, Generator
from contextlib import suppress
from pathlib import Path

import pytest
from hosted import Hosted, hosting
from mcp.shared.exceptions import MCPError
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

pytestmark = pytest.mark.anyio

_EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def provider_of_spans() -> None:
    """One for the process, as OpenTelemetry wants it; the tests after these write spans as well."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_EXPORTER))
    trace.set_tracer_provider(provider)


@pytest.fixture
def exporter() -> Generator[InMemorySpanExporter]:
    _EXPORTER.clear()
    yield _EXPORTER
    _EXPORTER.clear()


@pytest.fixture
async def hosted(tmp_path: Path) -> AsyncGenerator[Hosted]:
    async with hosting(tmp_path / "home") as served:
        yield served


def of_server(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.kind is trace.SpanKind.SERVER]


SECRET = "flamingo"  # noqa: S105  # no password
"""Stands in whatever a client says: content, queries, ids, names, addresses, arguments."""


async def test_each_call_has_a_span_and_none_has_content_or_keys(
    hosted: Hosted, exporter: InMemorySpanExporter
) -> None:
    """Spans go to whoever runs the collector, who is not to read memories."""
    token = hosted.add_token("ada", "alder")
    async with hosted.client(token) as client:
        for name, given in (
            ("add_memory", {"content": f"The mascot is a {SECRET}."}),
            ("search_memories", {"query": SECRET}),
            ("memory_context", {"task": f"draw the {SECRET}"}),
            ("update_memory", {"memoryId": SECRET, "content": SECRET}),
            ("forget_memory", {"memoryId": SECRET}),
            ("add_memory", {"content": SECRET, SECRET: SECRET}),
            ("backtrack", {"to": SECRET}),
            ("switch_branch", {"name": SECRET}),
            (SECRET, {}),
        ):
            with suppress(MCPError):
                await client.call_tool(name, given)
        for uri in ("memory://head", f"memory://{SECRET}", f"memory://memory/{SECRET}", SECRET):
            with suppress(MCPError):
                await client.read_resource(uri)
        for prompt in ("remember", SECRET):
            with suppress(MCPError):
                await client.get_prompt(prompt, {SECRET: SECRET})

    spans = of_server(exporter)
    names = {span.name for span in spans}
    assert {"tools/call add_memory", "tools/call search_memories", "resources/read"} <= names
    for span in spans:
        said = json.dumps(json.loads(span.to_json()))
        assert SECRET not in said, said
        assert token not in said
    endings = {(span.name, (span.attributes or {})["memory_mcp.ending"]) for span in spans}
    assert {
        ("tools/call add_memory", "ok"), ("tools/call add_memory", "refused"),
        ("tools/call forget_memory", "refused"), ("tools/call other", "failed"),
    } <= endings  # fmt: skip
    failed = [span for span in spans if (span.attributes or {})["memory_mcp.ending"] == "failed"]
    assert {span.status.status_code for span in failed} == {trace.StatusCode.ERROR}


async def test_a_call_is_below_the_span_of_its_client(
    hosted: Hosted, exporter: InMemorySpanExporter
) -> None:
    """A trace goes on across the protocol, in both directions of a call."""
    async with hosted.client(hosted.add_token("ada", "alder")) as client:
        with trace.get_tracer("test").start_as_current_span("the agent's step") as step:
            await client.call_tool("memory_head", {})
    (span,) = [span for span in of_server(exporter) if span.name == "tools/call memory_head"]
    assert span.context
    assert span.context.trace_id == step.get_span_context().trace_id
