"""The approval gate: nothing is sealed or left behind in place of a missing answer."""

from dataclasses import replace
from pathlib import Path

import pytest
from doors import (
    Action,
    Era,
    User,
    add,
    agent,
    call,
    head_file,
    history,
    read,
    recalled,
    refused,
    seal,
)

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A session that asks, which is the default."""
    return replace(settings, approval="ask")


@pytest.mark.protocol
async def test_the_user_is_asked_with_a_form_that_can_be_accepted_as_it_is(
    settings: Settings, era: Era
) -> None:
    """Two keys must be enough: every field is filled in."""
    user = User("accept", {"decision": "save", "summary": "Storage chosen"})
    async with agent(settings, era, user) as client:
        said = await call(client, "checkpoint", summary="Storage chosen", phase=1)

    assert user.asked == ["Save this checkpoint?\n\nStorage chosen"]
    fields = user.forms[0]["requestedSchema"]["properties"]
    assert fields["decision"]["enum"] == ["save", "edit", "skip"]
    assert (fields["decision"]["default"], fields["summary"]["default"]) == (
        "save",
        "Storage chosen",
    )
    assert (said["success"], said["status"]) == (True, "approved")
    assert said["message"] == "Checkpoint saved."


@pytest.mark.protocol
async def test_an_empty_field_of_the_form_does_not_empty_the_summary(
    settings: Settings, era: Era
) -> None:
    """Some clients return every field, touched or not."""
    async with agent(settings, era, User("accept", {"decision": "save", "summary": ""})) as client:
        await call(client, "checkpoint", summary="Storage chosen")
        assert await recalled(client, "storage", kind="checkpoint") == ["Storage chosen"]


@pytest.mark.parametrize("decision", ["edit", "save"])
async def test_an_edited_summary_is_what_is_sealed(
    settings: Settings, era: Era, decision: str
) -> None:
    """The user has the last word on what later sessions read, whichever button it was."""
    user = User("accept", {"decision": decision, "summary": "PostgreSQL it is"})
    async with agent(settings, era, user) as client:
        said = await call(client, "checkpoint", summary="Storage chosen")
        assert await recalled(client, "", kind="checkpoint") == ["PostgreSQL it is"]

    assert said["status"] == "approved"


async def test_an_edit_without_a_text_is_asked_about_again(settings: Settings, era: Era) -> None:
    """Whoever chose edit did not approve the old text."""
    user = User("accept", {"decision": "edit", "summary": "  "})
    async with agent(settings, era, user) as client:
        said = await refused(client, "checkpoint", summary="Storage chosen")
        assert await recalled(client, "", kind="checkpoint") == []

    assert "left the summary empty" in said


@pytest.mark.protocol
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_user_who_says_no_gets_no_checkpoint(
    settings: Settings, era: Era, project: Path, action: Action
) -> None:
    """Skipping leaves no trace that could be recalled or gone back to."""
    user = User(action, {"decision": "skip", "summary": "x"} if action == "accept" else None)
    async with agent(settings, era, user) as client:
        said = await call(client, "checkpoint", summary="Storage chosen", phase=1)
        assert await recalled(client) == []

    assert said == {"success": True, "status": "skipped", "message": "Skipped by the user."}
    assert not (project / ".claude").exists()


@pytest.mark.protocol
@pytest.mark.parametrize("asks", [True, False], ids=["cancel", "cannot ask"])
async def test_an_answer_that_did_not_come_leaves_it_pending(
    settings: Settings, era: Era, *, asks: bool
) -> None:
    """Cancel means that nobody answered; it counts as neither yes nor no."""
    async with agent(settings, era, User("cancel") if asks else None) as client:
        await add(client, "Orders live in PostgreSQL.")
        said = await call(client, "checkpoint", summary="Storage chosen", phase=1)
        name = said["checkpointId"]
        head = await read(client, "memory_head")
        assert "Storage chosen" not in await recalled(client)
        undecided = await refused(client, "backtrack", to=name, mode="continue")
        by_phase = await refused(client, "backtrack", to=1, mode="continue")
        assert "1 checkpoint pending approval" in await read(client, "memory_context")

    assert (said["success"], said["status"]) == (True, "pending")
    assert f"checkpoint(pending={name!r}, decision=…)" in said["message"]
    assert f"- {name}: Storage chosen" in head
    assert "Last checkpoint: none yet" in head
    assert f"Checkpoint {name!r} is pending" in undecided
    assert by_phase == undecided


@pytest.mark.parametrize(
    ("decision", "summary", "kept"),
    [
        ("save", "", ["Storage chosen"]),
        ("save", "ignored", ["Storage chosen"]),
        ("edit", "PostgreSQL it is", ["PostgreSQL it is"]),
        ("skip", "", []),
    ],
)
async def test_a_second_call_decides_what_is_pending_where_it_was_sealed(
    settings: Settings, era: Era, decision: str, summary: str, kept: list[str]
) -> None:
    """The place is fixed by the first call: what was learnt while waiting comes after it."""
    async with agent(settings, era) as client:
        name = (await call(client, "checkpoint", summary="Storage chosen", phase=1))["checkpointId"]
        await add(client, "Learnt while waiting.")
        said = await call(client, "checkpoint", pending=name, decision=decision, summary=summary)
        assert await recalled(client, "", kind="checkpoint") == kept
        if kept:
            await call(client, "backtrack", to=1, mode="continue")
            assert await recalled(client) == kept
        again = await refused(client, "checkpoint", pending=name, decision="save")

    assert said["status"] == ("approved" if kept else "skipped")
    assert said["checkpointId"] == name
    assert said["success"] is bool(kept)
    assert f"No pending checkpoint {name!r}. Known: none yet." in again


async def test_a_pending_checkpoint_is_decided_by_a_later_session(
    settings: Settings, era: Era, project: Path
) -> None:
    """The user may well answer tomorrow."""
    async with agent(settings, era) as client:
        name = (await call(client, "checkpoint", summary="Storage chosen"))["checkpointId"]
    assert head_file(project)["checkpoints"] == []
    async with agent(settings, era) as client:
        await call(client, "checkpoint", pending=name, decision="save")

    (shown,) = head_file(project)["checkpoints"]
    assert (shown["id"], shown["status"], shown["approval"]) == (name, "valid", "approved")
    assert [m["move"]["act"] for m in history(project)] == ["checkpoint", "decide"]


async def test_a_pending_checkpoint_needs_a_decision(settings: Settings, era: Era) -> None:
    """Nothing is guessed in place of a missing answer."""
    async with agent(settings, era) as client:
        name = (await call(client, "checkpoint", summary="Storage chosen"))["checkpointId"]
        said = await refused(client, "checkpoint", pending=name)

    assert "pending and decision go together" in said
    assert "save, edit with the new summary, skip, or reopen" in said


async def test_a_phase_is_not_sealed_twice_by_deciding_late(settings: Settings, era: Era) -> None:
    """Two pending checkpoints of one phase: the second is refused like any other second one."""
    async with agent(settings, era) as client:
        first, second = [
            (await call(client, "checkpoint", summary=text, phase=3))["checkpointId"]
            for text in ("once", "twice")
        ]
        await call(client, "checkpoint", pending=first, decision="save")
        said = await call(client, "checkpoint", pending=second, decision="save")
        again = await call(client, "checkpoint", pending=second, decision="save", again=True)

    assert (said["success"], said["status"]) == (False, "refused")
    assert again["success"]


async def test_auto_approval_asks_nobody(settings: Settings, era: Era) -> None:
    """For unattended runs; what was approved by nobody says so."""
    user = User("decline")
    async with agent(replace(settings, approval="auto"), era, user) as client:
        said = await call(client, "checkpoint", summary="Storage chosen", phase=1)
        back = await call(client, "backtrack", to=1)

    assert user.asked == []
    assert said["status"] == "auto"
    assert back["success"] is True


async def test_the_user_is_not_asked_about_what_will_be_refused(
    settings: Settings, era: Era
) -> None:
    """A question whose answer changes nothing wastes the user's patience."""
    user = User("accept", {"decision": "save", "summary": ""})
    async with agent(settings, era, user) as client:
        await call(client, "checkpoint", summary="One", phase=1)
        again = await call(client, "checkpoint", summary="One", phase=1)
        long = await refused(client, "checkpoint", summary="x" * 2_001)
        empty = await refused(client, "checkpoint")
        beyond = await refused(client, "checkpoint", summary="x", phase=10_000)
        nowhere = await refused(client, "backtrack", to="nowhere")
    async with agent(replace(settings, meta=True), era, user) as client:
        meta = await call(client, "checkpoint", summary="Two")
        back = await call(client, "backtrack", to=1)

    assert len(user.asked) == 1
    assert again["status"] == "refused"
    assert "summary has 2,001 characters; the limit is 2,000" in long
    assert "summary is empty" in empty
    assert "phase is 10000" in beyond
    assert "No checkpoint, phase or line 'nowhere'." in nowhere
    assert "meta session" in meta["message"]
    assert "meta session" in back["message"]


async def test_two_checkpoints_of_one_second_have_names_of_their_own(
    settings: Settings, era: Era
) -> None:
    """A name that stood for two places would lead to the wrong one."""
    async with agent(replace(settings, approval="auto"), era) as client:
        names = [await seal(client, f"Number {n}") for n in range(5)]
        assert len(set(names)) == 5
        await call(client, "backtrack", to=names[1], mode="continue")
        assert await recalled(client) == ["Number 1", "Number 0"]
