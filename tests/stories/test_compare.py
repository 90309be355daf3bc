"""Two points of the timeline side by side: what only one of them knew, and what was corrected."""

import random
from contextlib import suppress
from datetime import timedelta
from itertools import product

import pytest
from fakes import FakeClock, fake_workspace, forked
from moving import added, contents

from memory_mcp import branches, memories
from memory_mcp.branches.compare import resolve_point
from memory_mcp.domain.outcomes import Backtracked, CheckpointSaved, MemoryAdded, PointComparison
from memory_mcp.domain.record import Approval, Draft, format_time
from memory_mcp.engine.head import view_head
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, UnknownTargetError
from memory_mcp.render.difference import (
    compare_words,
    render_difference,
    render_difference_fields,
)
from memory_mcp.timeline.points import select_known

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def workspace(clock: FakeClock) -> Workspace:
    return fake_workspace(clock)


async def compare(workspace: Workspace, a: str, b: str = "head") -> PointComparison:
    found = await branches.compare_points(workspace, a, b)
    assert isinstance(found, PointComparison)
    return found


async def seal(workspace: Workspace, phase: int | None, approval: Approval = "approved") -> str:
    _wait(workspace)
    outcome = await branches.checkpoint(workspace, "Sealed.", phase, again=False, approval=approval)
    assert isinstance(outcome, CheckpointSaved), outcome
    return outcome.checkpoint.id


async def go(workspace: Workspace, to: str) -> str:
    _wait(workspace)
    outcome = await branches.backtrack(workspace, to, "continue")
    assert isinstance(outcome, Backtracked), outcome
    return str(outcome.line)


async def write(workspace: Workspace, text: str, kind: str = "fact") -> str:
    _wait(workspace)
    return await added(workspace, text, kind=kind)


async def correct(workspace: Workspace, memory: str, text: str) -> str:
    _wait(workspace)
    outcome = await memories.update_memory(workspace, memory, text)
    assert isinstance(outcome, MemoryAdded), outcome
    return outcome.record.id


def _wait(workspace: Workspace) -> None:
    assert isinstance(workspace.clock, FakeClock)
    workspace.clock.advance(timedelta(minutes=1))


def texts(found: PointComparison) -> tuple[list[str], list[str]]:
    return [r.content for r in found.only_a], [r.content for r in found.only_b]


async def test_a_checkpoint_beside_now(workspace: Workspace) -> None:
    """What came, what went, what was corrected; a durable memory is of the time it was written."""
    orders = await write(workspace, "Orders live in PostgreSQL.")
    carts = await write(workspace, "Carts live in the browser.")
    await write(workspace, "Prices are in cents.")
    first = await seal(workspace, 1)
    once = await correct(workspace, orders, "Orders live in MySQL.")
    last = await correct(workspace, once, "Orders live in SQLite.")
    await memories.forget_memory(workspace, carts, "they do not", erase=False)
    await write(workspace, "Sessions live in Redis.")
    await write(workspace, "Short commits.", kind="preference")
    second = await seal(workspace, 2)

    found = await compare(workspace, "phase 1")
    assert found.a.name == first
    assert texts(found) == (
        ["Carts live in the browser."], ["Sessions live in Redis.", "Short commits."],
    )  # fmt: skip
    assert [(pair.before.id, pair.after.id) for pair in found.corrected] == [(orders, last)]
    assert ([*found.left], [c.id for c in found.reached], found.same) == ([], [second], 1)
    assert [r.segment is None for r in found.only_b] == [False, True]

    back = await compare(workspace, "head", first)
    assert texts(back) == texts(found)[::-1]
    assert [(pair.before.id, pair.after.id) for pair in back.corrected] == [(last, orders)]
    assert [c.id for c in back.left] == [second]


async def test_what_a_left_line_knew(workspace: Workspace) -> None:
    """By the line's name, by that of a checkpoint on it, and by the time before it was left."""
    await write(workspace, "Orders live in PostgreSQL.")
    await seal(workspace, 1)
    await write(workspace, "Sessions live in Redis.")
    lost = await seal(workspace, 2)
    await write(workspace, "Redis needs three nodes.")
    line = await go(workspace, "1")
    await write(workspace, "Sessions live in cookies.")
    redis = ["Sessions live in Redis.", "Redis needs three nodes."]

    assert texts(await compare(workspace, line)) == (redis, ["Sessions live in cookies."])
    assert texts(await compare(workspace, lost)) == (redis[:1], ["Sessions live in cookies."])
    assert texts(await compare(workspace, "2m")) == (redis, ["Sessions live in cookies."])
    assert texts(await compare(workspace, "30s", "head")) == ([], ["Sessions live in cookies."])
    assert texts(await compare(workspace, line, lost)) == (redis[1:], [])
    assert (await compare(workspace, "head", "now")).same == 2


async def test_everything_there_is_came_since_the_start(workspace: Workspace) -> None:
    """The rule of the comparison agrees with what the index shows now, derived ones included."""
    orders = await write(workspace, "Orders live in PostgreSQL.")
    await correct(workspace, orders, "Orders live in SQLite.")
    await write(workspace, "Tests come first.", kind="convention")
    spike = await forked(workspace, "spike", "")
    await write(spike, "Sessions live in Redis.")

    for here in (workspace, spike):
        found = await compare(here, "start")
        assert sorted(texts(found)[1]) == sorted(await contents(here))
    assert texts(await compare(workspace, "main", "spike")) == ([], ["Sessions live in Redis."])
    assert texts(await compare(workspace, "2026-01-31T00:00")) == texts(
        await compare(workspace, "start")
    )


async def test_what_names_no_point_is_refused(workspace: Workspace) -> None:
    """The error has the value, the nearest name and everything that can be compared."""
    await forked(workspace, "spike", "")
    sealed = await seal(workspace, None)

    with pytest.raises(UnknownTargetError) as error:
        await compare(workspace, "spiek")
    said = str(error.value)
    assert "'spiek'. Did you mean 'spike'?" in said
    assert f"Known: {sealed}, main, spike, head, start, a time (2026-01-31" in said
    with pytest.raises(InvalidRequestError, match=r"'2031-01-01' is yet to come.*`head`"):
        await compare(workspace, "2031-01-01")
    with pytest.raises(UnknownTargetError, match="No checkpoint of phase '7'"):
        await compare(workspace, "7")


@pytest.mark.parametrize(
    ("old", "new", "pieces"),
    [
        ("Orders live in SQLite.", "Orders live in two SQLite files.",
         [("same", "Orders live in "), ("added", "two "), ("same", "SQLite "),
          ("added", "files"), ("same", ".")]),
        ("订单在此", "订单不在此", [("same", "订单"), ("added", "不"), ("same", "在此")]),
        ("One.", "", [("removed", "One.")]),
    ],
)  # fmt: skip
def test_words_are_compared(old: str, new: str, pieces: list[tuple[str, str]]) -> None:
    """Word by word; and put together the pieces are both texts again."""
    assert compare_words(old, new) == pieces


async def test_it_reads_like_a_diff(workspace: Workspace) -> None:
    """Without colours the signs and brackets say it; no line of a memory passes for one of ours."""
    orders = await write(workspace, "Orders live in PostgreSQL.")
    sealed = await seal(workspace, 1)
    await correct(workspace, orders, "Orders live in SQLite.")
    await write(workspace, "Two lines.\n- One of them lies.")
    found = await compare(workspace, sealed)

    lines = ["".join(text for text, _ in line) for line in render_difference(found)]
    assert lines[:3] == [
        f"--- {sealed} (2026-01-31 14:32)",
        "+++ head (branch main, now)",
        "~ Orders live in [-PostgreSQL-]{+SQLite+}.",
    ]
    assert "+ Two lines.\n    - One of them lies." in lines
    assert lines[-1] == f"0 only at {sealed}, 1 only at head, 1 corrected, 0 the same"
    fields = render_difference_fields(found)
    assert fields["corrected"][0]["words"][1:3] == [
        {"change": "removed", "text": "PostgreSQL"},
        {"change": "added", "text": "SQLite"},
    ]


async def read_all(workspace: Workspace, a: str, b: str) -> tuple[set[str], set[str], int]:
    """What only one point knew, and how many both, by reading every record."""
    head = await view_head(workspace)
    points = [await resolve_point(workspace, head, name) for name in (a, b)]
    ids = await workspace.project.index.ids() - await workspace.project.index.erased()
    records = [record async for record in workspace.project.records.scan(ids)]
    now = workspace.clock.now()
    seen, there = ({r.id for r in select_known(records, point, now)} for point in points)
    return {*seen - there}, {*there - seen}, len(seen & there)


@pytest.mark.parametrize("seed", range(8))
async def test_what_is_read_is_enough(workspace: Workspace, clock: FakeClock, seed: int) -> None:
    """Whatever was done: what is the same at both points need not be read."""
    choose = random.Random(seed)  # noqa: S311  # no secret
    known: list[str] = []
    points = ["start", "head"]
    for number in range(40):
        clock.advance(timedelta(minutes=choose.choice([0, 1, 7])))
        match choose.choice("wwwddcchsbbte"):
            case "w":
                known.append(await write(workspace, f"Room {number} has {number} lamps."))
            case "d":
                known.append(await write(workspace, f"Room {number} is painted.", "convention"))
            case "c" if known:
                with suppress(InvalidRequestError, UnknownTargetError):
                    new = await correct(workspace, choose.choice(known), f"Hall {number} is big.")
                    known.append(new)
            case "h" if known:
                with suppress(InvalidRequestError, UnknownTargetError):
                    await memories.forget_memory(
                        workspace, choose.choice(known), "gone", erase=choose.random() < 0.2
                    )
            case "s":
                points.append(await seal(workspace, None))
            case "b" if len(points) > 2:
                with suppress(InvalidRequestError, UnknownTargetError):
                    left = await go(workspace, choose.choice(points))
                    points += [left] if left != "None" else []
            case "t":
                points.append(format_time(clock.now()))
            case _:
                fleeting = Draft(
                    f"Shop {number} is shut.",
                    expires_at=clock.now() + timedelta(minutes=choose.choice([2, 20, 200])),
                )
                await memories.add_memory(workspace, fleeting)
    clock.advance(timedelta(minutes=1))
    lines = {line.id for line in (await view_head(workspace)).timeline.left_lines()}
    points = [point for point in points if not point.startswith("line-") or point in lines]
    for a, b in product(points, repeat=2):
        found = await compare(workspace, a, b)
        gone = {r.id for r in found.only_a} | {each.before.id for each in found.corrected}
        come = {r.id for r in found.only_b} | {each.after.id for each in found.corrected}
        assert (gone, come, found.same) == await read_all(workspace, a, b), (a, b)
