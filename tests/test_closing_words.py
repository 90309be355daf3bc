"""What is never written with a checkpoint or by a session, and what may be said shortly."""

from dataclasses import replace
from pathlib import Path

import pytest
from doors import Era, add, agent, call, failed, files_with, recalled, records

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


async def test_an_edit_of_a_pending_one_leaves_nothing_of_the_old_summary(
    settings: Settings, era: Era, project: Path
) -> None:
    """The user rejected those words: no record beside the checkpoint's own may repeat them."""
    async with agent(replace(settings, approval="ask"), era) as client:
        asked = await call(
            client, "checkpoint", summary="Billing is done", phase=2, issues=["No mails yet"],
            decisions=[{"text": "JWT for the API", "rationale": "no session store"}],
        )  # fmt: skip
        await call(
            client, "checkpoint", pending=asked["checkpointId"], decision="edit",
            summary="Login works",
        )  # fmt: skip
        found = await recalled(client, "is billing done")

    assert [text for text in found if "Billing" in text] == []
    held = [name for name in files_with(project.parent, "Billing is done") if "memory-head" in name]
    assert held == []
    repeated = [r for r in records(project) if "Billing" in r["content"]]
    assert [r["kind"] for r in repeated] == ["checkpoint"]


async def test_what_is_given_bare_is_a_list_of_one(settings: Settings, era: Era) -> None:
    """Models write one issue as a text, and a decision without its reason."""
    async with agent(settings, era) as client:
        await call(
            client, "checkpoint", summary="Done", decisions=["JWT for the API"],
            issues="No mails yet", agents=None, artifacts="docs/auth.md",
        )  # fmt: skip
        found = set(await recalled(client))
        said = await failed(client, "checkpoint", summary="More", issues=7)

    assert {"JWT for the API", "No mails yet", "- docs/auth.md"} <= found
    assert said == "checkpoint: issues must be a list (got 7)"


async def test_a_secret_in_the_name_of_a_session_is_never_written(
    settings: Settings, project: Path
) -> None:
    """A name stands in keys and origins, where no text is cleaned; and it stays the same name."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7H8"
    named = replace(settings, toolsets=("session",), session=secret)
    async with agent(named, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
        await call(client, "consolidate", memory_update="Login works.", session_id=secret)
        await call(client, "consolidate", memory_update="Mails work.", session_id=secret)
        found = await recalled(client)

    assert sorted(found) == ["Mails work.", "Orders live in PostgreSQL."]
    assert files_with(project.parent, secret[:20]) == []
