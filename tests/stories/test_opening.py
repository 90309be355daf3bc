"""What opens a session: a fair share for each section, the same bytes, within the budget."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, as_json
from doors import Era, add, agent, read
from fakes import (
    FakeClock,
    FakeIds,
    Scribe,
    called,
    close_workspace,
    fake_workspace,
    real_workspace,
)
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp import branches, memories, sessions
from memory_mcp.config.settings import Settings
from memory_mcp.domain.outcomes import Closeout, find_latest_consolidation
from memory_mcp.domain.record import Draft, Kind, Record
from memory_mcp.domain.sessions import ContextSettings
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.render.block import (
    Block,
    BudgetLine,
    Listing,
    ListingLine,
    Section,
    fill_listings,
    render_context,
)
from memory_mcp.render.sections import select_open_issues, share_room

pytestmark = pytest.mark.anyio


KINDS: Sequence[Kind] = ("identity", "decision", "preference", "lesson", "closeout", "summary")


async def filled_workspace(each: int, **fields: Any) -> tuple[Workspace, FakeClock]:
    """A workspace in memory with so many records of each kind that has a section."""
    clock, ids = FakeClock(), FakeIds()
    workspace, scribe = fake_workspace(clock, ids), Scribe(clock, ids)
    await branches.report_head(workspace)
    keys = {"closeout": "phase:shop:1:issues", "summary": "gardener:shop:s:checkpoint"}
    durable = ("identity", "preference", "lesson")
    for number in range(each):
        for kind in (*KINDS, "fact"):
            clock.advance(timedelta(seconds=1))
            text = f"The {kind} of number {number}, which is told at some length: " + "so " * 70
            place = None if kind in durable else "root"
            given = {"segment": place, "key": keys.get(kind, ""), **fields}
            await workspace.project.keep(scribe.record(text, kind=kind, **given))
    return workspace, clock


async def opened(workspace: Workspace, task: str = "", budget: int | None = None) -> Block:
    block = await sessions.memory_context(workspace, task, budget)
    assert isinstance(block, Block)
    return block


async def test_no_section_starves_another() -> None:
    """With a thousand memories, 150 of each kind, there is something of each in 500 tokens."""
    workspace, _ = await filled_workspace(150)
    block = await opened(workspace)

    assert [line for line in block.text.splitlines() if line.startswith("## ")] == [
        "## Identity", "## Decisions that hold", "## Preferences and conventions", "## Lessons",
        "## Open issues", "## Where the last session left off", "## Newest",
    ]  # fmt: skip
    assert 450 < block.tokens <= 500, "what is left over is handed on"
    assert f"{7 * 150 - block.shown} more: search_memories" in block.text


async def test_the_same_memories_give_the_same_bytes_but_for_the_time() -> None:
    """A cache of prompts is lost from the first byte on that differs."""
    workspace, clock = await filled_workspace(3)
    one = await opened(workspace)
    clock.advance(timedelta(days=5, hours=7))  # to a day with a longer name
    other = await opened(called(workspace, client="another/2.0"))

    assert other.text != one.text
    first, second = one.text.splitlines(), other.text.splitlines()
    assert first[:-2] == second[:-2]
    assert first[-1] == second[-1]
    said = int(re.findall(r"^(\d+) of 500 tokens", one.text, re.MULTILINE)[0])
    assert one.tokens <= said <= one.tokens + 1, "of the day's names the longest is reckoned with"


async def test_without_a_budget_it_is_the_setting(settings: Settings, era: Era) -> None:
    """Who pays for the tokens sets it once, for every client."""
    small = replace(settings, opening=ContextSettings(bootstrap_tokens=100))
    async with agent(small, era) as client:
        for number in range(20):
            await add(client, f"Rule {number} of the house.", kind="preference")
        usual = await read(client, "memory_context")
        task = await read(client, "memory_context", task="rule of the house")
        asked = await read(client, "memory_context", budget_tokens=300)

    assert 300 < len(usual) <= 400
    assert " of 100 tokens, " in usual
    assert len(task) <= 400
    assert 400 < len(asked) <= 1_200


def test_the_command_has_the_same_budget(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that runs it costs what the tool costs."""
    monkeypatch.setenv("MEMORY_BOOTSTRAP_TOKENS", "90")
    run("add", "Tabs.", "--kind", "preference")
    said = as_json(run, "context")

    assert " of 90 tokens" in said["context"]
    assert said["since"].startswith("r1-")


async def test_an_old_pinned_memory_and_an_important_decision_come_first(tmp_path: Path) -> None:
    """What was pinned a thousand memories ago was pinned for this."""
    async with real(tmp_path) as (workspace, scribe):
        pinned = scribe.record("Pinned fact.", pinned=True, segment="root")
        vital = scribe.record("Vital choice.", kind="decision", importance=5, segment="root")
        await workspace.project.keep(pinned)
        await workspace.project.keep(vital)
        for number in range(60):
            scribe.clock.advance(timedelta(seconds=1))
            kind = ("fact", "decision")[number % 2]
            await workspace.project.keep(
                scribe.record(f"Usual {number}.", kind=kind, segment="root")
            )
        lines = (await opened(workspace)).text.splitlines()

    assert lines[lines.index("## Decisions that hold") + 1] == f"- Vital choice. [{vital.id}]"
    assert lines[lines.index("## Newest") + 1] == f"- Pinned fact. [{pinned.id}]"


@asynccontextmanager
async def real(
    folder: Path, opening: ContextSettings | None = None
) -> AsyncGenerator[tuple[Workspace, Scribe]]:
    clock, ids = FakeClock(), FakeIds()
    policy = Policy(opening=opening or ContextSettings())
    workspace = real_workspace(folder, clock, ids, policy=policy)
    await branches.report_head(workspace)
    yield workspace, Scribe(clock, ids)
    await close_workspace(workspace)


async def orders(workspace: Workspace, scribe: Scribe) -> None:
    """Many facts of one matter, and what happened in it."""
    for number in range(30):
        scribe.clock.advance(timedelta(seconds=1))
        fact = scribe.record(f"Orders have part {number}.", segment="root", importance=2)
        await workspace.project.keep(fact)
    for number in range(6):
        scribe.clock.advance(timedelta(seconds=1))
        told = scribe.record(f"Orders broke on day {number}.", kind="episode", segment="root")
        await workspace.project.keep(told)


def under(block: Block, heading: str) -> list[str]:
    lines = block.text.split(f"## {heading}\n")[1:]
    return re.findall(r"^- (.*) \[", lines[0].split("\n## ")[0], re.MULTILINE) if lines else []


async def test_a_task_gets_what_is_so_and_what_happened(tmp_path: Path) -> None:
    """Thirty facts that fit must not hide that it broke last week."""
    async with real(tmp_path) as (workspace, scribe):
        await orders(workspace, scribe)
        block = await opened(workspace, "orders", 2_000)

    assert len(under(block, "For this task")) == 7
    assert len(under(block, "What happened before")) == 3


@pytest.mark.parametrize(("topn", "so", "happened"), [(1, 1, 0), (3, 2, 1), (20, 14, 6)])
async def test_at_most_topn_are_shown(tmp_path: Path, topn: int, so: int, happened: int) -> None:
    """MEMORY_CONTEXT_TOPN: whoever wants few gets few, however many tokens there are."""
    async with real(tmp_path, ContextSettings(topn=topn)) as (workspace, scribe):
        await orders(workspace, scribe)
        block = await opened(workspace, "orders", 4_000)

    assert len(under(block, "For this task")) == so
    assert len(under(block, "What happened before")) == happened


async def test_topk_is_how_many_candidates_are_ranked(tmp_path: Path) -> None:
    """MEMORY_CONTEXT_TOPK: what is not among them is not shown, however well it would rank."""
    shown: dict[int, set[str]] = {}
    for topk in (2, 40):
        async with real(tmp_path / str(topk), ContextSettings(topk=topk)) as (workspace, scribe):
            await orders(workspace, scribe)
            block = await opened(workspace, "orders", 4_000)
            shown[topk] = set(under(block, "For this task"))

    assert len(shown[2]) == 2
    assert len(shown[40]) == 7


async def test_pinned_and_important_memories_come_first_for_a_task(tmp_path: Path) -> None:
    """Of two that fit alike, the user's word decides: MEMORY_RERANK_WEIGHTS."""
    async with real(tmp_path) as (workspace, scribe):
        for name, fields in (
            ("b", {}), ("a", {"importance": 5}), ("c", {"pinned": True, "importance": 5}), ("d", {})
        ):  # fmt: skip
            await workspace.project.keep(
                scribe.record(f"Orders rule {name}.", segment="root", **fields)
            )
        block = await opened(workspace, "orders rule")

    assert under(block, "For this task")[:2] == ["Orders rule c.", "Orders rule a."]


def test_shares_of_what_is_so_and_what_happened() -> None:
    """A third for what happened; what one does not need the other has."""
    assert share_room(40, 40, 9) == (6, 3)
    assert share_room(2, 40, 9) == (2, 7)
    assert share_room(40, 1, 9) == (8, 1)
    assert share_room(40, 40, 1) == (1, 0)
    assert share_room(0, 40, 1) == (0, 1)


def test_the_latest_consolidation_is_one_sessions(scribed: Scribe) -> None:
    """Its newest word on what is true and its insights; another session's are history."""

    def summary(key: str) -> Record:
        scribed.clock.advance(timedelta(minutes=1))
        return scribed.record(key or "other", kind="summary", key=key)

    def latest(records: list[Record]) -> list[Record]:
        found = find_latest_consolidation(records)
        return found.records if found else []

    old = [summary("gardener:shop:a:checkpoint"), summary("gardener:shop:a:insights")]
    new = [summary(f"gardener:shop:b:{part}") for part in ("checkpoint", "insights", "final")]
    other = summary("")

    assert latest([*old, *new, other]) == [new[2], new[1]]
    assert latest([*new[1:2], *old]) == old, "insights alone say not where it stands"
    assert latest(new[1:2]) == [new[1]]
    assert latest([other]) == []


def test_issues_are_told_from_other_closeouts(scribed: Scribe) -> None:
    """Lists of files and agents open no session."""
    parts = [scribed.record(part, key=f"phase:shop:1:{part}") for part in ("issues", "artifacts")]

    assert select_open_issues(parts) == parts[:1]


def in_bytes(text: str) -> int:
    return len(text.encode())


@pytest.fixture
def scribed() -> Scribe:
    return Scribe()


@given(
    st.lists(
        st.tuples(st.lists(st.text(st.characters(codec="utf-8"), max_size=400), max_size=6),
                  st.integers(1, 9)), max_size=6),
    st.integers(0, 2_000),
)  # fmt: skip
def test_no_filling_is_larger_than_the_room(
    shelves: list[tuple[list[str], int]], room: int
) -> None:
    """Whatever the texts, and however letters are counted; a heading never stands alone."""
    for cost in (len, in_bytes):
        made = [
            Listing(f"## {number}", [ListingLine(text) for text in texts], weight)
            for number, (texts, weight) in enumerate(shelves)
        ]
        lines = fill_listings(made, room, cost, lines_max=9)
        assert sum(cost(line) + 1 for line in lines) <= room
        assert len(lines) <= 9
        for shelf in made:
            assert (shelf.heading in lines) is bool(shelf.shown)


@given(
    budget=st.integers(60, 700),
    many=st.integers(0, 40),
    width=st.integers(0, 40),
    firm=st.booleans(),
)
def test_every_block_keeps_its_budget(budget: int, many: int, width: int, firm: bool) -> None:  # noqa: FBT001
    """With and without a nudge, whatever there is."""
    scribe = Scribe()
    records = [scribe.record(f"Number {n}: " + "word " * width) for n in range(many)]
    nudge = Section("Left", facts=("n" * 200,), firm=True)
    block = render_context(
        ["Head: branch main."],
        [Section("All", records), *([nudge] if firm and budget > 100 else [])],
        budget,
        user="User: Ada",
        now="Now: today",
        now_chars=40,
        figure=BudgetLine(many, "r1-000000000000000"),
    )

    assert len(block.text) <= budget * 4
    assert ("n" * 200 in block.text) is (firm and budget > 100)
    if not firm or budget > 120:  # beside a nudge little room may be left
        assert f" of {budget} tokens" in block.text


# What the last section of an opening shows.


async def test_what_a_checkpoint_says_is_not_said_again_by_its_closeout() -> None:
    """The newest are facts; an issue stays, for a task as well."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    await memories.add_memory(workspace, Draft("Orders rest in PostgreSQL."))
    scribe = Scribe(clock)
    for number in range(8):
        for part in ("closeout", "artifacts", "agents", "issues"):
            clock.advance(timedelta(minutes=1))
            key = f"phase:shop:{number}:{part}"
            await workspace.project.keep(scribe.record(
                f"Of {part} {number}.", kind="closeout", key=key, segment="root", branch="main",
            ))  # fmt: skip
    whole = await sessions.memory_context(workspace, budget_tokens=2_000)
    task = await sessions.memory_context(workspace, "unheard", budget_tokens=2_000)

    assert isinstance(whole, Block)
    assert isinstance(task, Block)
    newest = whole.text.split("## Newest\n")[1].splitlines()
    assert newest[0].startswith("- Orders rest in PostgreSQL.")
    assert not re.search("Of (closeout|artifacts|agents)", whole.text + task.text)
    assert "Of issues 7." in task.text


# What is left out, and what the last checkpoint says.


FACTS = ("The shop sells coffee beans.", "Invoices are sent by post.")


async def open_story(*summaries: str, budget: int = 500, facts: Sequence[str] = ()) -> Block:
    clock = FakeClock()
    workspace = fake_workspace(clock)
    for fact in facts:
        await memories.add_memory(workspace, Draft(fact))
    for number, summary in enumerate(summaries):
        clock.advance(timedelta(minutes=1))
        closeout = Closeout(issues=(f"Region {number} is slow.",))
        await branches.checkpoint(
            workspace, summary, number, again=False, approval="approved", closeout=closeout
        )
    block = await sessions.memory_context(workspace, budget_tokens=budget)
    assert isinstance(block, Block)
    return block


@pytest.mark.parametrize("summary", ["Storage is chosen.", "Auth", "Stage 1 of the shop is done."])
async def test_the_last_checkpoint_stands_however_short_it_is(summary: str) -> None:
    """And nothing is left out: that the closeout has one issue is seen."""
    block = await open_story("Before it.", summary)

    newest = block.text.split("## Newest\n")[1]
    assert newest.startswith(f"- {summary} [")
    assert newest.index(f"- {summary} [") < newest.index("- Before it. [")
    assert " tokens, nothing left out. " in block.text
    assert block.left_out == 0


async def test_the_label_of_an_earlier_checkpoint_takes_no_line_from_a_fact() -> None:
    """It stands behind all facts."""
    newest = (await open_story("Auth", "Cart", facts=FACTS)).text.split("## Newest\n")[1]

    assert re.findall("Auth|Cart|coffee|post", newest) == ["Cart", "post", "coffee", "Auth"]


@pytest.mark.parametrize("budget", [60, 75, 120, 500])
async def test_the_count_of_what_is_left_out_is_the_one_of_the_answer(budget: int) -> None:
    """In the shortest line as well."""
    block = await open_story(budget=budget, facts=[f"Service {n} is Ada's." for n in range(30)])

    assert block.left_out == 30 - block.shown > 0
    assert f"{block.left_out} more" in block.text
