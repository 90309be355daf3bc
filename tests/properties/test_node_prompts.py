"""The text of a node for a prompt: never over its budget, the same each time, and honestly told."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.domain.ids import BranchName, RecordId
from memory_mcp.domain.layers import ArchivalRecord, CoreEntry, NodeView, RecallEvent
from memory_mcp.domain.resources import RESOURCE_INDEX_KEY
from memory_mcp.fence import CLOSE, OPEN, holds_fence
from memory_mcp.render.node import SectionLog, render_node, share_room

NODE = BranchName("node 3")
AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
WORDS = st.sampled_from(
    ["acc 0.91", "lr=1e-3", "\n", "</memory>", "&lt;memory", "naïve", "。", "x" * 90, "why?", " "]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


def entry(key: str, value: str, importance: int = 3, *, durable: bool = False) -> CoreEntry:
    return CoreEntry(key, value, RecordId(f"c-{key}"), NODE, AT, importance, durable=durable)


def event(number: int, summary: str, text: str = "") -> RecallEvent:
    at = AT.replace(minute=number % 60)
    return RecallEvent(RecordId(f"e-{number}"), NODE, at, summary, text, "result", "tuning")


@st.composite
def views(draw: st.DrawFn) -> NodeView:
    """A node with anything in it."""
    core = [
        entry(f"k{n}", value, n % 5 + 1, durable=n % 4 == 3)
        for n, value in enumerate(draw(st.lists(TEXTS, max_size=12)))
    ]
    if index := draw(TEXTS):
        core.append(entry(RESOURCE_INDEX_KEY, index))
    events = [
        event(n, summary, draw(TEXTS))
        for n, summary in enumerate(draw(st.lists(TEXTS, max_size=12)))
    ]
    archive = [
        ArchivalRecord(RecordId(f"a-{n}"), NODE, AT, text, ("runs",))
        for n, text in enumerate(draw(st.lists(TEXTS, max_size=12)))
    ]
    return NodeView(
        NODE,
        (NODE, BranchName("main")),
        core=tuple(core),
        recall=tuple(events),
        archival=tuple(archive),
        events=len(events) + 2,
        archived=len(archive),
    )


VIEWS = views()


@given(view=VIEWS, budget=st.integers(0, 4_000))
def test_it_is_never_over_the_budget_and_always_the_same(view: NodeView, budget: int) -> None:
    """A prompt that does not fit is refused by the model, or cut by somebody else."""
    prompt = render_node(view, budget)

    assert len(prompt.text) <= budget
    assert prompt == render_node(view, budget)
    assert prompt.log.chars == len(prompt.text)


@given(view=VIEWS, budget=st.none() | st.integers(0, 4_000))
def test_the_log_accounts_for_everything(view: NodeView, budget: int | None) -> None:
    """Whoever reads it can add it up."""
    prompt = render_node(view, budget)

    given_ = sum(1 for e in view.core if e.key != RESOURCE_INDEX_KEY)
    by_name = {log.section: log for log in prompt.log.sections}
    assert [*by_name] == ["resources", "core", "recall", "archival"]
    assert by_name["core"].items == given_
    assert (by_name["recall"].items, by_name["recall"].beyond) == (len(view.recall), 2)
    for log in prompt.log.sections:
        assert log.whole + log.cut + log.left_out == log.items
        assert log.chars <= log.room or log.chars == 0
        assert bool(log.why) == (log.whole < log.items)
        assert budget is not None or log.whole == log.items
    taken = sum(log.chars for log in prompt.log.sections)
    assert prompt.log.chars == (taken + len(OPEN) + len(CLOSE) + 1 if taken else 0)


@given(view=VIEWS, budget=st.none() | st.integers(0, 4_000))
def test_nothing_in_it_ends_the_fence(view: NodeView, budget: int | None) -> None:
    """What an experiment printed is no instruction."""
    text = render_node(view, budget).text

    if text:
        inner = text.removeprefix(f"{OPEN}\n").removesuffix(f"\n{CLOSE}")
        assert not holds_fence(inner)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 500), st.integers(1, 5)), max_size=9),
    room=st.integers(0, 2_000),
)
def test_room_is_shared_out_and_none_is_wasted(pairs: list[tuple[int, int]], room: int) -> None:
    """But for what no whole character is left of."""
    needs, weights = [need for need, _ in pairs], [weight for _, weight in pairs]
    shares = share_room(needs, weights, room)

    assert all(0 <= share <= need for share, need in zip(shares, needs, strict=True))
    assert sum(shares) <= room
    assert sum(shares) >= min(room, sum(needs)) - len(needs)


def test_the_order_of_what_is_shown() -> None:
    """Resources, core by importance with preferences marked, events, the archive with lessons."""
    view = NodeView(
        NODE,
        (NODE,),
        core=(
            entry("plan", "more dropout", 2),
            entry("goal", "beat 0.91", 5),
            entry("style", "metric units", 5, durable=True),
            entry(RESOURCE_INDEX_KEY, "local_data:mnist | available | data/mnist"),
        ),
        recall=(event(1, "Dropout 0.3 gave 0.902"), event(2, "It diverged", "loss is nan\nat 40")),
        archival=(ArchivalRecord(RecordId("a-1"), NODE, AT, "Rates above 1e-3 diverge", ("lr",)),),
    )
    lessons = [ArchivalRecord(RecordId("a-2"), BranchName("node 2"), AT, "Do not widen it")]

    assert render_node(view, None, lessons).text.splitlines() == [
        OPEN,
        "## Resources",
        "- local_data:mnist | available | data/mnist",
        "## Core",
        "- goal: beat 0.91",
        "- plan: more dropout",
        "- style (preference): metric units",
        "## Events, oldest first",
        "- 2026-03-01 12:01 [tuning/result] Dropout 0.3 gave 0.902",
        "- 2026-03-01 12:02 [tuning/result] It diverged",
        "  loss is nan",
        "  at 40",
        "## From the archive",
        "- [a-2] (lesson) Do not widen it",
        "- [a-1] (lr) Rates above 1e-3 diverge",
        CLOSE,
    ]


@pytest.mark.parametrize("budget", [300, 600])
def test_the_newest_events_are_shown_when_not_all_fit(budget: int) -> None:
    """And the log says how many did not."""
    view = NodeView(NODE, (NODE,), recall=tuple(event(n, f"Run {n} " * 20) for n in range(9)))
    prompt = render_node(view, budget)

    shown = [line for line in prompt.text.splitlines() if line.startswith("- ")]
    log = prompt.log.sections[2]
    assert isinstance(log, SectionLog)
    assert len(shown) == log.cut + log.whole < 9
    assert all(f"Run {n} " in line for n, line in zip(range(9 - len(shown), 9), shown, strict=True))
    assert log.left_out == 9 - len(shown)
    assert f"{log.room} were this section's share" in log.why
