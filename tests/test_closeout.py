"""What closes a phase: written with the checkpoint, found by asking, gone and back with it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, as_json, complaint
from doors import (
    Era,
    Json,
    User,
    add,
    agent,
    call,
    files_with,
    head_file,
    recalled,
    records,
    refused,
    text_of,
)
from mcp import Client

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio

CLOSEOUT: Json = {
    "decisions": [{"text": "JWT for the API", "rationale": "no session store to run"}],
    "artifacts": ["src/auth.py", "docs/auth.md"],
    "issues": ["Nobody tested the recovery mails"],
    "agents": ["architect", "coder: wrote the login"],
}
WRITTEN = {
    "JWT for the API\nReason: no session store to run",
    "Nobody tested the recovery mails",
    "- src/auth.py\n- docs/auth.md",
    "- architect\n- coder: wrote the login",
    "Closed with 1 decision, 1 open issue, 2 artifacts, 2 agents.",
}


async def close(client: Client, summary: str = "Login works", **arguments: Any) -> Json:
    return await call(client, "checkpoint", summary=summary, **(CLOSEOUT | arguments))


async def test_each_part_is_a_record_of_the_phase_that_the_checkpoint_seals(
    settings: Settings, era: Era, project: Path
) -> None:
    """Keys, phase and segment are what the opening of a session and other programs read."""
    async with agent(settings, era) as client:
        said = await close(client, phase=2)

    *closing, sealed = sorted(records(project), key=lambda r: r["kind"] == "checkpoint")
    ours = sealed["container_tags"][1].removeprefix("tag:project:")
    assert {r["content"] for r in closing} == WRITTEN
    assert [r["key"].removeprefix(f"phase:{ours}:2:") for r in closing[1:]] == [
        "issues", "artifacts", "agents", "closeout",
    ]  # fmt: skip
    assert closing[0]["key"].startswith(f"project:{ours}:decision:")
    assert {(r["segment"], r["phase"]) for r in closing} == {(sealed["segment"], 2)}
    assert sealed["move"]["carries"] == said["written"] == [r["id"] for r in closing]
    assert said["message"] == "Checkpoint saved. With it: 5 memories."


async def test_without_a_phase_the_keys_say_none(settings: Settings, project: Path) -> None:
    """Not every project works in phases."""
    async with agent(settings, "auto") as client:
        await close(client)

    keys = {r["key"] for r in records(project) if r["kind"] == "closeout"}
    assert {key.split(":")[2] for key in keys} == {"none"}


async def test_a_checkpoint_without_a_closeout_writes_nothing_else(
    settings: Settings, project: Path
) -> None:
    """Most restore points close nothing."""
    async with agent(settings, "auto") as client:
        said = await call(client, "checkpoint", summary="Half way")

    assert [r["kind"] for r in records(project)] == ["checkpoint"]
    assert "written" not in said


async def test_a_backtrack_hides_a_closeout_and_a_restore_brings_it_back(
    settings: Settings, era: Era
) -> None:
    """It holds exactly where its checkpoint does."""
    async with agent(settings, era) as client:
        await call(client, "checkpoint", summary="Planned", phase=1)
        await close(client, phase=2)
        assert set(await recalled(client)) >= WRITTEN
        left = (await call(client, "backtrack", to=1, mode="continue"))["line"]
        assert await recalled(client) == ["Planned"]
        await call(client, "backtrack", to=left, mode="continue")
        assert set(await recalled(client)) >= WRITTEN


@pytest.mark.protocol
async def test_the_user_approves_what_is_sealed(settings: Settings, era: Era) -> None:
    """A question that kept a decision back would be no question about it."""
    user = User("accept", {"decision": "save", "summary": ""})
    async with agent(replace(settings, approval="ask"), era, user) as client:
        await close(client, phase=2)
        assert set(await recalled(client)) >= WRITTEN

    question = (
        "Save this checkpoint?\n\nLogin works\n\n"
        "Decided:\n- JWT for the API — no session store to run\n"
        "Open issues:\n- Nobody tested the recovery mails\n"
        "Artifacts:\n- src/auth.py\n- docs/auth.md\n"
        "Agents:\n- architect\n- coder: wrote the login"
    )
    assert user.asked == [question]


async def test_what_the_user_skips_at_once_is_not_written(
    settings: Settings, era: Era, project: Path
) -> None:
    """Skipped means that nothing of it was ever there."""
    async with agent(replace(settings, approval="ask"), era, User("decline")) as client:
        await close(client, phase=2)

    assert not (project / ".claude").exists()


@pytest.mark.parametrize("decision", ["save", "edit", "skip"])
async def test_a_pending_closeout_counts_until_it_is_skipped(
    settings: Settings, era: Era, project: Path, decision: str
) -> None:
    """Work goes on while nobody answers, and rests on what was decided."""
    async with agent(replace(settings, approval="ask"), era) as client:
        await add(client, "Orders live in PostgreSQL.")
        asked = await close(client, phase=2)
        assert set(await recalled(client)) >= WRITTEN
        await call(
            client, "checkpoint", pending=asked["checkpointId"], decision=decision, summary="Done"
        )
        found = set(await recalled(client))

    hidden = decision == "skip"
    assert found & WRITTEN == (set() if hidden else WRITTEN)
    assert "Orders live in PostgreSQL." in found
    (tombstone,) = [r for r in records(project) if r["kind"] == "tombstone"] if hidden else [None]
    assert tombstone is None or tombstone["supersedes"] == asked["written"]


async def test_a_pending_one_takes_no_further_closeout(settings: Settings, era: Era) -> None:
    """What the user is asked about must not grow with the answer."""
    async with agent(replace(settings, approval="ask"), era) as client:
        name = (await close(client, phase=2))["checkpointId"]
        said = await refused(client, "checkpoint", pending=name, decision="save", issues=["One"])

    assert "belong to a new checkpoint" in said


async def test_what_is_known_is_named_and_not_written_again(
    settings: Settings, era: Era, project: Path
) -> None:
    """A decision is one memory, however often a closeout repeats it; so is an issue left open."""
    async with agent(settings, era) as client:
        first = await close(client, phase=2)
        again = await close(client, "Mails work", phase=3)

    decision, issue, *_ = first["written"]
    assert again["known"] == [decision, issue]
    assert "2 memories said the same already (known)." in again["message"]
    of_agents = [r for r in records(project) if r.get("key", "").endswith(":agents")]
    assert [r["phase"] for r in of_agents] == [2, 3], "who took part belongs to each phase"


async def test_what_the_user_rejected_is_not_decided_behind_their_back(
    settings: Settings, era: Era
) -> None:
    """A tombstone with a reason counts here as well."""
    async with agent(settings, era) as client:
        first = await close(client, phase=2)
        await call(client, "forget_memory", memory_id=first["written"][0], reason="Sessions it is")
        again = await close(client, "Mails work", phase=3)
        assert not await recalled(client, "JWT", kind="decision")

    assert "Not stored: 'JWT for the API" in again["message"]
    assert "(Sessions it is)" in again["message"]


async def test_a_closeout_of_a_sealed_phase_leaves_nothing(
    settings: Settings, era: Era, project: Path
) -> None:
    """A refusal is no half checkpoint."""
    async with agent(settings, era) as client:
        await close(client, phase=2)
        before = records(project)
        said = await close(client, "Again", phase=2, issues=["Another one"])

    assert said["status"] == "refused"
    assert records(project) == before


async def test_secrets_and_recalled_text_stay_out_of_a_closeout(
    settings: Settings, era: Era, project: Path
) -> None:
    """Every text of it goes through the gateway."""
    key = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
    async with agent(settings, era) as client:
        known = await add(client, "Orders live in PostgreSQL.")
        said = await close(
            client,
            decisions=[{"text": "Deploy by key", "rationale": f"it is {key}"}],
            issues=[f"- Orders live in PostgreSQL. [{known}]", "The key rotates"],
            artifacts=[f"s3 {key}"],
            agents=[],
        )

    assert files_with(project.parent, key) == []
    assert "Taken out of rationale before anything was written" in said["message"]
    assert "What memory itself had recalled was left out of issues." in said["message"]
    issues = [r["content"] for r in records(project) if r.get("key", "").endswith(":issues")]
    assert issues == ["The key rotates"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"decisions": [{"text": " "}]}, "one of decisions is empty"),
        ({"decisions": [{"text": "x", "why": "y"}]}, "decisions.0.why"),
        ({"decisions": [{"text": "x", "rationale": "y" * 2_001}]}, "the limit is 2,000"),
        ({"issues": ["x"] * 21}, "21 issues; the limit is 20"),
        ({"artifacts": ["x" * 151]}, "one of artifacts has 151 characters; the limit is 150"),
        ({"agents": ["x"] * 21}, "21 agents; the limit is 20"),
    ],
)
async def test_what_cannot_be_stored_is_refused_before_anybody_is_asked(
    settings: Settings, project: Path, given: Json, complaint: str
) -> None:
    """The message names the part, its figure and the limit."""
    user = User("accept", {"decision": "save", "summary": ""})
    async with agent(replace(settings, approval="ask"), "auto", user) as client:
        said = text_of(await client.call_tool("checkpoint", {"summary": "Done", **given}))

    assert complaint in said
    assert user.asked == []
    assert not (project / ".claude").exists()


async def test_a_forgotten_part_is_nowhere_not_even_in_the_head(
    settings: Settings, era: Era, project: Path
) -> None:
    """The head holds the last step whole only until each of its records has a file."""
    async with agent(settings, era) as client:
        said = await close(client, phase=2)
        assert head_file(project)["with_last"] == []
        await call(client, "forget_memory", memory_id=said["written"][1])

    assert files_with(project.parent, "recovery mails") == []


async def test_a_head_without_the_field_is_read(
    settings: Settings, era: Era, project: Path
) -> None:
    """Files of any earlier version stay readable."""
    async with agent(settings, era) as client:
        await call(client, "checkpoint", summary="Planned", phase=1)
    path = project / ".state" / "memory-head.json"
    fields = json.loads(path.read_bytes())
    del fields["with_last"]
    path.write_text(json.dumps(fields), encoding="utf-8")
    async with agent(settings, era) as client:
        await close(client, phase=2)
        assert set(await recalled(client)) >= WRITTEN


def test_the_command_closes_as_the_tool_does(run: Run, project: Path) -> None:
    """By options, by JSON, or both."""
    said = as_json(
        run, "checkpoint", "Login works", "--phase", "2",
        "--decided", "JWT for the API :: no session store to run",
        "--artifact", "src/auth.py", "--artifact", "docs/auth.md",
        "--issue", "Nobody tested the recovery mails",
        "--closeout", json.dumps({"agents": CLOSEOUT["agents"]}),
    )  # fmt: skip

    assert len(said["written"]) == 5
    assert {r["content"] for r in records(project) if r["kind"] != "checkpoint"} == WRITTEN
    wrong = complaint(run, "checkpoint", "x", "--closeout", '{"decided": []}')
    assert "at decided: Extra inputs" in wrong
    assert "any of: decisions, artifacts, issues, agents." in wrong
