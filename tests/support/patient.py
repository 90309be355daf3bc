"""A project with a bit of everything, for the doctor."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from doors import Json, add, agent, call, seal

from memory_mcp import maintenance
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.outcomes import Finding

KEPT, LATER = "Orders live in PostgreSQL.", "Sessions live in Redis."


@pytest.fixture
def lone_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """No session renders beside this doctor, so it waits for none: 3 s for each stale file."""
    monkeypatch.setattr("memory_mcp.bootstrap.views._PAUSES_MAX", 1)


async def examine(settings: Settings, *, repair: bool = False) -> dict[str, Finding]:
    """What a fresh doctor finds, by its code."""
    async with open_workspace(settings) as built:
        found = await maintenance.run_doctor(built.workspace, repair=repair)
    assert all(f.what and f.remedy for f in found), "a finding without a next step helps nobody"
    return {finding.code: finding for finding in found}


async def worked_on(settings: Settings) -> dict[str, str]:
    """A project with a bit of everything; the ids by what they are."""
    async with agent(settings, "auto") as client:
        ids = {"kept": await add(client, KEPT)}
        ids["mine"] = await add(client, "Short commits.", kind="preference", scope="user")
        ids["one"] = await seal(client, "One", phase=1)
        ids["later"] = await add(client, LATER)
        ids["line"] = (await call(client, "backtrack", to=1, mode="continue"))["line"]
        old = await add(client, "Port 8000.")
        ids["old"] = old
        new = await call(client, "update_memory", memory_id=old, content="Port 9000.")
        ids["new"] = new["memoryId"]
    return ids


def rewrite(path: Path, change: Callable[[Json], None]) -> None:
    """Change a JSON file of ours by hand."""
    fields = json.loads(path.read_bytes())
    change(fields)
    path.write_text(json.dumps(fields), "utf-8")


async def mended(settings: Settings, code: str, severity: str) -> None:
    """The finding is there, `repair` mends it, and afterwards everything is as it must be."""
    found = await examine(settings)
    assert found[code].severity == severity
    assert not found[code].repaired
    assert "--repair" in found[code].remedy
    assert (await examine(settings, repair=True))[code].repaired
    assert await examine(settings) == {}
