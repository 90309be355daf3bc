"""What closes a phase: written with the checkpoint, found by asking, gone and back with it."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from closing import PHASES
from command_line import Run, as_json, complaint
from depth import depth
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
    hiding = [r["supersedes"] for r in records(project) if r["kind"] == "exclusion"]
    assert hiding == ([asked["written"]] if hidden else [])


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


@pytest.mark.files
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
    wrong = complaint(run, "checkpoint", "x", "--closeout", '{"decided": []}', expected=2)
    assert "decided is no name that is known here" in wrong
    assert "any of: decisions, artifacts, issues, agents." in wrong


# What was decided, and why, is found by asking: among many other memories, by words alone.


DESIGN: Final = (
    ("Modular monolith with a hexagonal core", "three people cannot run microservices"),
    ("PostgreSQL as the only store", "reports join five tables"),
    ("Monorepo with Nx", "one version of everything"),
)
WHAT: Final = (
    "the billing service", "the login page", "the deploy job", "the search index",
    "the mobile client", "the nightly export", "the admin panel", "the mail queue",
)  # fmt: skip
DID: Final = (
    "was rewritten to use", "failed because of", "now depends on", "was tested with",
    "is documented beside", "was moved behind", "logs through", "retries with", "waits for",
)  # fmt: skip
WITH: Final = (
    "Redis streams", "the old gateway", "OpenTelemetry", "Terraform modules", "S3 buckets",
    "gRPC calls", "Playwright", "Debian images", "Kafka topics", "Vault secrets",
)  # fmt: skip
KINDS: Final = ("fact", "decision", "event", "fact")


def other_memories(many: int) -> list[tuple[str, str]]:
    """Texts that are alike, and a kind each: what fills a project in the phases that follow."""
    chance = random.Random(3)  # noqa: S311  # the same in every run
    every = [f"{what} {did} {use}" for what in WHAT for did in DID for use in WITH]
    texts = chance.sample(every, many)
    return [
        (f"On day {n} {text}, ticket {n * 13 + 7}.", chance.choice(KINDS))
        for n, text in enumerate(texts)
    ]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "later",
    [pytest.param(False, marks=pytest.mark.nightly, id="one phase"),
     pytest.param(True, id="phases after it")],
)  # fmt: skip
async def test_all_that_was_decided_in_a_phase_comes_first_among_hundreds(
    settings: Settings, *, later: bool
) -> None:
    """The question that a closeout is written for, in both its wordings."""
    async with agent(settings, "auto") as client:
        await call(
            client, "checkpoint", summary="Research finished", phase=1,
            decisions=[{"text": "Ten office managers were interviewed", "rationale": "they buy"}],
        )  # fmt: skip
        await call(
            client, "checkpoint", summary="The architecture stands", phase=2,
            decisions=[{"text": text, "rationale": why} for text, why in DESIGN],
            issues=["Nobody load-tested the import"], artifacts=["docs/adr-001.md"],
            agents=["architect: drew the design"],
        )  # fmt: skip
        for text, kind in other_memories(depth(100, 330)):
            await add(client, text, kind=kind)
        for number in (3, 4, 5) if later else ():
            await call(
                client, "checkpoint", summary=f"Phase {number} done", phase=number,
                decisions=[{"text": f"Phase {number} decision: use library L{number}{n}",
                            "rationale": f"it was quicker in trial {n}"} for n in range(10)],
            )  # fmt: skip
        found = [
            await recalled(client, question)
            for question in (
                "What was decided in phase 2?",
                "what did we decide in phase 2",
                "which decisions were made in phase 2?",
            )
        ]
        why = await recalled(client, "why did we choose that architecture?")

    wanted = {f"{text}\nReason: {reason}" for text, reason in DESIGN}
    for hits in found:
        assert set(hits[:3]) == wanted
    # no decision says "architecture": what does was written in one step with the decisions
    assert any(text.startswith("Modular monolith") for text in why[:5])


async def test_what_was_decided_in_a_phase_and_why_is_found_by_asking(
    settings: Settings, era: Era
) -> None:
    """The point of it all, among more than sixty other memories, by words alone."""
    async with agent(settings, era) as client:
        for number, (facts, decisions, issues) in PHASES.items():
            for fact in facts:
                await add(client, fact, phase=number)
            await call(
                client, "checkpoint", summary=f"Part {number} is done", phase=number,
                decisions=[{"text": text, "rationale": why} for text, why in decisions],
                issues=list(issues), artifacts=["src/app.py"], agents=["architect", "coder"],
            )  # fmt: skip
        found = await call(
            client, "search_memories", query="what was decided in phase 2?", limit=10
        )
        why = await recalled(client, "why did we choose that architecture?")
        open_ = await recalled(client, "which issues of phase 2 are open?")

    of_phase = {f"{text}\nReason: {reason}" for text, reason in PHASES[2][1]}
    kinds = [(r["metadata"].get("phase"), r["content"]) for r in found["results"]]
    first_other = next((at for at, (n, _) in enumerate(kinds) if n != 2), len(kinds))
    assert of_phase <= {content for _, content in kinds[:first_other]}
    assert any(text.startswith("We build a hexagonal architecture") for text in why[:3])
    assert "Reason: the portals change their protocols twice a year" in " ".join(why[:3])
    assert set(open_[:3]) >= set(PHASES[2][2])


async def test_a_phase_that_nobody_recorded_is_looked_for_by_its_words(
    settings: Settings, era: Era
) -> None:
    """Phase 2 may be one of a clinical trial: then "phase" and "2" are words like any others."""
    async with agent(settings, era) as client:
        for number in (1, 2, 3):
            await add(client, f"Phase {number} of the trial had {number * 40} patients.")
        found = await recalled(client, "how many patients were in phase 2?")

    assert found[0] == "Phase 2 of the trial had 80 patients."


async def test_a_phase_is_preferred_and_nothing_is_left_out(settings: Settings, era: Era) -> None:
    """A memory of another phase that is meant more plainly is still found."""
    async with agent(settings, era) as client:
        await add(client, "The login takes 90 ms.", phase=1)
        await add(client, "The checkout takes 300 ms.", phase=2)
        found = await recalled(client, "how long does the login take since phase 2")
        plainly = await recalled(client, "login takes ms")

    assert set(found) == {"The checkout takes 300 ms.", "The login takes 90 ms."}
    assert plainly[0] == "The login takes 90 ms."


# What is never written with a checkpoint or by a session, and what may be said shortly.


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
        said = await refused(client, "checkpoint", summary="More", issues=7)

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
