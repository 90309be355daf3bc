"""The toolset `layers`: what an agent that searches a tree calls, and two clients on two nodes."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from doors import Era, add, agent, call, recalled, refused
from mcp import Client
from mcp_types import TextContent
from test_http import serving

from memory_mcp.config.settings import Settings
from memory_mcp.server.tools import load_toolset

pytestmark = [pytest.mark.anyio, pytest.mark.protocol]


async def test_a_node_is_forked_written_and_read(settings: Settings, era: Era) -> None:
    """Every call names its node, and moves no session."""
    async with agent(replace(settings, toolsets=("layers",)), era) as client:
        forked = await call(
            client, "mem_node_fork", parent_node_id="b", child_node_id="stage1/node:3",
            ancestor_chain=["a", "b"],
        )  # fmt: skip
        written = await call(
            client, "mem_node_write", node_id="stage1/node:3",
            core_updates={"goal": "0.95", "lr": {"value": "1e-3", "ttl": "2d"}},
            recall_event={"summary": "begun", "loss": 0.5},
            archival_records=[{"text": "Adam diverges.", "tags": ["opt"]}],
        )  # fmt: skip
        read = await call(client, "mem_node_read", node_id="stage1/node:3")
        applied = await call(
            client, "apply_llm_memory_updates", node_id="stage1/node:3",
            updates={"mem_core_del": ["lr"], "mem_core_get": ["*"], "mem_recall_search": ["begun"]},
        )  # fmt: skip
        prompt = await client.call_tool(
            "mem_node_render", {"node_id": "stage1/node:3", "budget_chars": 400}
        )
        small = await call(client, "mem_node_read", node_id="stage1/node:3", budget_chars=40)
        asked = await call(
            client, "apply_llm_memory_updates", node_id="stage1/node:3",
            updates={
                "mem_archival_write": ["Momentum helps."], "mem_archival_search": "diverges",
                "mem_recall_search": "nothing of it",
            },
        )  # fmt: skip
        core = await call(client, "mem_node_read", node_id="stage1/node:3", scope="core")
        evicted = await call(
            client, "apply_llm_memory_updates", node_id="stage1/node:3",
            updates={"mem_recall_evict": {"keep": 0}},
        )  # fmt: skip
        unknown = await refused(client, "mem_node_read", node_id="stage1/node:4")
        wrong = await refused(
            client, "apply_llm_memory_updates", node_id="a", updates={"mem_cor_set": {}}
        )
        attic = await refused(client, "mem_node_read", node_id="a", scope="attic")
        await add(client, "The session is still on main.")
        assert "The session is still on main." in await recalled(client)

    assert forked["created"] == ["a", "b", "stage1/node:3"]
    assert written["core_set"] == ["goal", "lr"]
    assert len(written["events"]) == len(written["archival"]) == 1
    assert read["chain"] == ["stage1/node:3", "b", "a", "main"]
    assert read["core"] == {"goal": "0.95", "lr": "1e-3"}
    assert (read["recall"][0]["summary"], read["recall"][0]["meta"]) == ("begun", {"loss": 0.5})
    assert read["archival"][0]["text"] == "Adam diverges."
    assert "left_out" not in read
    assert small["core"] == {"goal": "0.95"}
    assert small["left_out"] == {"recall": 1, "archival": 1}
    assert "budget_chars=40" in small["message"]
    assert applied["results"]["core"] == {"goal": "0.95"}
    assert applied["results"]["recall"][0]["summary"] == "begun"
    assert len(asked["archival"]) == 1  # what was written, beside what was found
    assert [each["text"] for each in asked["results"]["archival"]] == ["Adam diverges."]
    assert asked["results"]["recall"] == []
    assert (core["events"], core["archived"]) == (1, 2), "they are there, and were not asked for"
    assert evicted == {"success": True, "node": "stage1/node:3", "evicted": 1}
    (text,) = prompt.content
    assert isinstance(text, TextContent)
    assert prompt.structured_content is None
    assert "- goal: 0.95" in text.text
    assert "Adam diverges." in text.text
    assert len(text.text) <= 400
    assert "Did you mean 'stage1/node:3'" in unknown
    assert "Did you mean 'mem_core_set'" in wrong
    assert "scope must be 'all', 'core', 'recall' or 'archival'" in attic


async def test_a_text_alone_is_a_record_and_a_step_is_named_as_a_tool(
    settings: Settings, era: Era
) -> None:
    """As in Python; and a model has no shell."""
    async with agent(replace(settings, toolsets=("layers",)), era) as client:
        written = await call(
            client, "mem_node_write", node_id="main", archival_records=["SGD is slow."]
        )
        read = await call(client, "mem_node_read", node_id="main", scope="archival")
        unknown = await refused(client, "mem_node_read", node_id="x")

    assert [each["text"] for each in read["archival"]] == ["SGD is slow."]
    assert len(written["archival"]) == 1
    assert "fork it first: mem_node_fork(parent_node_id='main', child_node_id='x')" in unknown


def test_its_schemas_are_small() -> None:
    """Each session that has the toolset pays for them."""
    tools = [tool.parameters | {"d": tool.description} for tool in load_toolset("layers")]

    assert len(str(tools)) <= 3_600


async def test_two_clients_work_on_two_nodes(
    project: Path, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server over HTTP: neither client is moved, and neither sees the other's."""
    monkeypatch.setenv("MEMORY_TOOLSETS", "layers")
    nodes = ("node 3", "stage1/node:3")

    async def work(url: str, node: str) -> None:
        async with Client(url, mode=era) as client:
            await call(client, "mem_node_fork", child_node_id=node)
            for number in range(5):
                await call(
                    client, "mem_node_write", node_id=node, core_updates={"step": f"{number}"},
                    recall_event={"summary": f"{node} {number}"},
                )  # fmt: skip

    with serving(project, "streamable-http") as (port, _):
        url = f"http://127.0.0.1:{port}/mcp"
        await asyncio.gather(*(work(url, node) for node in nodes))
        async with Client(url, mode=era) as client:
            views = [await call(client, "mem_node_read", node_id=node) for node in nodes]
            root = await call(client, "mem_node_read", node_id="main")

    for node, view in zip(nodes, views, strict=True):
        assert view["core"] == {"step": "4"}
        assert [e["summary"] for e in view["recall"]] == [f"{node} {n}" for n in range(5)]
    assert "recall" not in root
