"""Strategies for records with any links, and for what may be asked of them."""

from datetime import timedelta
from typing import Any

from fakes import MILLISECOND, START, Scribe
from hypothesis import strategies as st

from memory_mcp.domain.ids import MAIN, BranchName, SegmentId
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.profile import make_profile_key
from memory_mcp.domain.record import REJECTED_PREFIX, Approval, Move, Record
from memory_mcp.domain.search import Filters, View

SEGMENTS = [SegmentId(name) for name in ("s0", "s1", "s2", "s3")]
BRANCHES = [MAIN, BranchName("side")]
KINDS = [
    "fact",
    "fact",
    "decision",
    "lesson",
    "checkpoint",
    "tombstone",
    "tombstone",
    "move",
    "exclusion",
]
WORDS = ["apple", "pear", "plum"]
KEYS = [*(f"{REJECTED_PREFIX}{digest(word)}" for word in WORDS), make_profile_key("city")]
LAYERS = ["archival", "core", "recall"]
RECORDS_MAX = 12


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    """Any records, with links to any others: earlier, later, missing, in chains and in circles."""
    scribe = Scribe()
    ids = [scribe.record().id for _ in range(draw(st.integers(1, RECORDS_MAX)) + 1)]
    links = st.lists(st.sampled_from(ids), max_size=3, unique=True)
    written: list[Record] = []
    for id_ in ids[:-1]:  # the last one is named but not there

        def others(id_: str = id_) -> tuple[str, ...]:
            return tuple(link for link in draw(links) if link != id_)

        kind = draw(st.sampled_from(KINDS))
        approval: Approval = draw(st.sampled_from(["approved", "pending", "skipped"]))
        act = "checkpoint" if kind == "checkpoint" else "backtrack"
        step = Move(act=act, branch=MAIN, approval=approval)
        expiry = draw(st.none() | st.integers(-1, 1))
        written.append(
            scribe.record(
                " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))),
                id=id_,
                kind=kind,
                layer=draw(st.sampled_from(LAYERS)),
                key=draw(st.sampled_from(KEYS)),
                segment=draw(st.none() | st.sampled_from(SEGMENTS)),
                branch=draw(st.none() | st.sampled_from(BRANCHES)),
                category=draw(st.sampled_from(["", "Design", "plan", "profile"])),
                tags=draw(st.lists(st.sampled_from(["A", "b", "c"]), max_size=3, unique=True)),
                phase=draw(st.none() | st.integers(0, 2)),
                move=step if kind in ("checkpoint", "move") else None,
                expires_at=None if expiry is None else START + timedelta(milliseconds=expiry),
                supersedes=others() if kind == "tombstone" or draw(st.booleans()) else (),
                derived_from=others() if draw(st.booleans()) else (),
                erases=others() if kind == "tombstone" else (),
            )
        )
    return draw(st.permutations(written))


def maybe(values: st.SearchStrategy[Any], nothing: object) -> st.SearchStrategy[Any]:
    return st.just(nothing) | st.just(nothing) | values


FILTERS = st.builds(
    Filters,
    category=maybe(st.sampled_from(["DESIGN", "plan", "Profile"]), ""),
    tags=maybe(st.lists(st.sampled_from(["a", "B", "c"]), max_size=2).map(tuple), ()),
    kinds=maybe(st.frozensets(st.sampled_from(KINDS), min_size=1, max_size=3), frozenset[str]()),
    phase=maybe(st.integers(0, 2), None),
    segments=maybe(st.frozensets(st.sampled_from(SEGMENTS), max_size=3), None),
    branch=maybe(st.sampled_from(BRANCHES), None),
    durable=maybe(st.booleans(), None),
    since=maybe(st.integers(0, RECORDS_MAX).map(lambda n: START + n * MILLISECOND), None),
    until=maybe(st.integers(0, RECORDS_MAX).map(lambda n: START + n * MILLISECOND), None),
    statement=maybe(st.sampled_from(WORDS).map(digest), ""),
    layer=maybe(st.sampled_from(LAYERS), None),
    history=maybe(st.booleans(), nothing=False),
)


def _make_view(chain: frozenset[SegmentId], away: frozenset[SegmentId]) -> View:
    return View(chain, START, away & chain)


_SOME = st.frozensets(st.sampled_from(SEGMENTS))
VIEWS = st.builds(_make_view, _SOME, maybe(_SOME, frozenset[SegmentId]()))
QUERIES = st.lists(st.sampled_from([*WORDS, "kiwi"]), max_size=3, unique=True).map(tuple)
