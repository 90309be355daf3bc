"""precisionMemBench 1.0.0: is what must be found found, and nothing else?

tenurehq/precisionMemBench (MIT; arXiv 2605.11325), scored as its runner scores external providers.
The runner gives every provider the same help: it lists pinned facts and open questions itself, adds
the participants of a relation that was found, and supplies the persona. What is left to a provider
is the list of relevant beliefs, asked for by user and scope; only that differs between the rows.

A case passes if all that it asserts holds. Precision is the share of the relevant beliefs that was
expected (none if nothing was expected and nothing found), recall the share of the expected that was
found; a pass with a precision is *active*. What the persona must contain is not checked, since no
provider has a part in it. Of sessions every turn is scored: drift is 1 minus precision.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from public_runs import Bench, Rows, Store, open_store, read_items
from recall_baselines import rank_texts
from recall_metrics import K
from report import Table

__all__ = [
    "ABOUT",
    "Belief",
    "Case",
    "Score",
    "Shown",
    "Suite",
    "assemble",
    "load",
    "measure",
    "score_case",
    "score_turn",
]

ABOUT: Final[Rows] = (
    ("set", "precisionMemBench 1.0.0 (tenurehq/precisionMemBench, MIT; arXiv 2605.11325)"),
    ("rule", "its runner for external providers; what the persona contains is not checked"),
    ("passed", "cases of which every assertion holds"),
    ("active", "passed cases with a precision: something was expected, and nothing else was found"),
    ("precision", "share of the relevant beliefs that was expected, mean over cases that have one"),
    ("recall", "share of the expected beliefs that was found, mean over cases that expect any"),
    ("noise", "beliefs found that were not expected, per case"),
    ("told", "name, aliases, content and reason of each belief, tagged with its first scope"),
    ("asked", f"the query, filtered by scope; {K} at most (upstream 20; the tool returns {K})"),
)

_USER: Final = "test-user"
_BELIEFS_MAX: Final = 20
_QUESTIONS_MAX: Final = 15
_LIKELY: Final = 0.5
"""The score from which the server calls a result more likely relevant than not."""


@dataclass(frozen=True)
class Belief:
    """One thing to remember, and what the runner knows of it."""

    id: str
    user: str
    text: str
    scopes: tuple[str, ...]
    type: str
    pinned: bool = False
    superseded: bool = False
    resolved: bool = False
    participants: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A query and what its answer is held against; of a session, the belief written after it."""

    id: str
    category: str
    user: str
    scopes: tuple[str, ...]
    query: str
    expect: Mapping[str, Any]
    beliefs_max: int = _BELIEFS_MAX
    questions_max: int = _QUESTIONS_MAX
    created: Belief | None = None


@dataclass(frozen=True)
class Suite:
    """What a file holds."""

    beliefs: tuple[Belief, ...]
    cases: tuple[Case, ...]
    turns: tuple[Case, ...] = ()


@dataclass(frozen=True)
class Shown:
    """The context that the runner puts together for a case, as ids."""

    pinned: tuple[str, ...]
    relevant: tuple[str, ...]
    questions: tuple[str, ...]
    persona: bool


@dataclass(frozen=True)
class Score:
    """What the context of one case is worth."""

    category: str
    passed: bool
    precision: float | None
    recall: float | None
    noise: int


Find = Callable[[Sequence[Belief], str, str, str | None], list[str]]
"""Beliefs told so far, user, query and scope; the ids of the relevant beliefs, best first."""


def load(path: Path) -> Suite:
    """A file with `beliefs`, `cases` and `sessions`, or upstream's folder of fixtures."""
    if path.is_dir():
        names = ("beliefs.seed", "retrieval.cases", "session-retrieval.cases")
        files = [path / f"{name}.json" for name in names]
        parts = [read_items(file) if file.exists() else [] for file in files]
    else:
        (content,) = read_items(path)
        parts = [content["beliefs"], content.get("cases", []), content.get("sessions", [])]
    beliefs, cases, sessions = parts
    return Suite(
        tuple(_belief(each) for each in beliefs),
        tuple(_case(each) for each in cases),
        tuple(_turn(session, turn) for session in sessions for turn in session["turns"]),
    )


def measure(path: Path, bench: Bench) -> Iterable[Table]:
    """All cases, the cases by category, and the turns of sessions if there are any."""
    suite = load(path)
    suite = Suite(suite.beliefs, suite.cases[: bench.limit], suite.turns[: bench.limit])
    cases: dict[str, list[Score]] = {}
    turns: dict[str, list[Score]] = {}
    modes: set[str] = set()
    for mode in bench.modes:
        with ExitStack() as stack:
            users = dict.fromkeys([*(each.user for each in (*suite.beliefs, *suite.cases)), _USER])
            stores = {user: stack.enter_context(open_store(bench, user, mode)) for user in users}
            server = _Server(stores)
            for belief in suite.beliefs:
                server.tell(belief)
            systems = {
                f"search_memories, {mode}": server.find,
                f"search_memories, {mode}, min_score {_LIKELY}": server.find_likely,
            }
            _run(suite, systems, server.tell, (cases, turns))
            modes.update(*(store.modes for store in stores.values()))
    _run(suite, _find_by_baselines(bench.model), lambda _: None, (cases, turns))
    yield from _draw(cases, turns, f"the server said mode {', '.join(sorted(modes))}")


def assemble(case: Case, beliefs: Sequence[Belief], find: Find) -> Shown:
    """The context as upstream's runner puts it together around what a provider finds."""
    own = [each for each in beliefs if each.user == case.user and _shares(each.scopes, case)]
    pinned = [
        each.id
        for each in own
        if each.pinned
        and each.type != "open_question"
        and not each.superseded
        and not each.resolved
    ]
    questions = [
        each.id
        for each in own
        if each.pinned and each.type == "open_question" and not each.resolved
    ]
    found: list[str] = []
    if case.query.strip() and case.beliefs_max:
        lists = [find(beliefs, case.user, case.query, scope) for scope in case.scopes or (None,)]
        found = [each for each in _take_turns(lists) if each not in pinned][: case.beliefs_max]
    known = {each.id: each for each in beliefs}
    joined = [
        other
        for belief_id in found
        if known[belief_id].type == "relation"
        for other in known[belief_id].participants
        if other not in {*pinned, *found}
        and other in {each.id for each in own if each.type != "open_question"}
    ]
    pinned = pinned[: case.beliefs_max]
    room = max(0, case.beliefs_max - len(pinned))
    relevant = dict.fromkeys([*found, *joined][:room])
    questions = questions[: case.questions_max]
    return Shown(tuple(pinned), tuple(relevant), tuple(questions), case.user == _USER)


def score_case(case: Case, shown: Shown, beliefs: Sequence[Belief]) -> Score:
    """Every assertion, and precision and recall of the relevant beliefs."""
    wanted = case.expect.get("relevantBeliefs", {})
    only = wanted.get("shouldOnlyInclude")
    relevant, union = set(shown.relevant), {*shown.relevant, *shown.pinned}
    places = {belief: place for place, belief in enumerate(shown.relevant)}
    persona = case.expect.get("personaPrelude", {})
    passed = all((
        _holds(wanted, union),
        union.issuperset(wanted.get("shouldInclude", ())),
        only is None or relevant == set(only),
        wanted.get("minCount", 0) <= len(relevant) <= wanted.get("maxCount", len(relevant)),
        all(
            first in places and second in places and places[first] < places[second]
            for first, second in wanted.get("orderedBefore", ())
        ),
        _holds(case.expect.get("pinnedFacts", {}), set(shown.pinned)),
        _holds(case.expect.get("openQuestions", {}), set(shown.questions)),
        shown.persona or not persona.get("nonEmpty"),
        not shown.persona or not persona.get("isNull"),
    ))  # fmt: skip
    pinned = {each.id for each in beliefs if each.pinned and each.user == _USER}
    expected = set(only) if only is not None else set(wanted.get("mustInclude", ())) - pinned
    hits = len(expected & relevant)
    precision = hits / len(relevant) if relevant else 0.0 if expected else None
    recall = hits / len(expected) if expected else None
    return Score(case.category, passed, precision, recall, len(relevant - expected))


def score_turn(case: Case, shown: Shown) -> Score:
    """A turn of a session: pinned beliefs count as found, and noise may not come up at all."""
    wanted = case.expect.get("relevantBeliefs", {})
    only = wanted.get("shouldOnlyInclude")
    relevant, union = set(shown.relevant), {*shown.relevant, *shown.pinned}
    noise = set(case.expect.get("noiseCheck", {}).get("mustNotSurface", ()))
    passed = all((
        _holds(wanted, union),
        only is None or relevant == set(only),
        _holds(case.expect.get("pinnedFacts", {}), set(shown.pinned)),
        _holds(case.expect.get("openQuestions", {}), set(shown.questions)),
        union.isdisjoint(noise),
    ))  # fmt: skip
    expected = set(only if only is not None else wanted.get("mustInclude", ()))
    hits = len(expected & union)
    precision = hits / len(relevant) if relevant else None
    recall = hits / len(expected) if expected else None
    return Score(case.category, passed, precision, recall, len(union & noise))


class _Server:
    """One store per user, and which beliefs each memory holds."""

    def __init__(self, stores: Mapping[str, Store]) -> None:
        self._stores = stores
        self._beliefs: dict[str, list[str]] = {}

    def tell(self, belief: Belief) -> None:
        memory = self._stores[belief.user].add(belief.text, tags=belief.scopes[:1])
        self._beliefs.setdefault(memory, []).append(belief.id)

    def find(self, _: Sequence[Belief], user: str, query: str, scope: str | None) -> list[str]:
        return self._search(user, query, scope, 0.0)

    def find_likely(
        self, _: Sequence[Belief], user: str, query: str, scope: str | None
    ) -> list[str]:
        return self._search(user, query, scope, _LIKELY)

    def _search(self, user: str, query: str, scope: str | None, least: float) -> list[str]:
        store = self._stores[user]
        store.wait_until_ready()
        hits = store.search(query, tags=(scope,) if scope else ())
        return [
            belief for hit in hits if hit.score >= least for belief in self._beliefs.get(hit.id, ())
        ]


def _find_by_baselines(model: Path | None) -> dict[str, Find]:
    """By name: each baseline over the beliefs of that user and scope."""

    def finder(name: str) -> Find:
        def find(beliefs: Sequence[Belief], user: str, query: str, scope: str | None) -> list[str]:
            texts = {
                each.id: each.text
                for each in beliefs
                if each.user == user and (scope is None or each.scopes[:1] == (scope,))
            }
            return rank_texts(texts, [query], model)[name][0][:K]

        return find

    return {name: finder(name) for name in rank_texts({}, [], model)}


def _run(
    suite: Suite,
    systems: Mapping[str, Find],
    tell: Callable[[Belief], None],
    scores: tuple[dict[str, list[Score]], dict[str, list[Score]]],
) -> None:
    """Ask every system each case, then each turn, with what was written between turns."""
    for case in suite.cases:
        for name, find in systems.items():
            shown = assemble(case, suite.beliefs, find)
            scores[0].setdefault(name, []).append(score_case(case, shown, suite.beliefs))
    known = list(suite.beliefs)
    for turn in suite.turns:
        for name, find in systems.items():
            shown = assemble(turn, known, find)
            scores[1].setdefault(name, []).append(score_turn(turn, shown))
        if turn.created:
            known.append(turn.created)
            tell(turn.created)


def _belief(item: Mapping[str, Any]) -> Belief:
    parts = (item["canonical_name"], *item.get("aliases", ()), item["content"])
    return Belief(
        id=item["_id"],
        user=item["user_id"],
        text=" ".join(part for part in (*parts, item.get("why_it_matters", "")) if part),
        scopes=tuple(item["scope"]),
        type=item["type"],
        pinned=item.get("pinned", False),
        superseded=bool(item.get("superseded_by")),
        resolved=bool(item.get("resolved_at")),
        participants=tuple(item.get("participants") or ()),
    )


def _case(item: Mapping[str, Any]) -> Case:
    budget = item.get("budget", {})
    return Case(
        id=item["caseId"],
        category=item["category"],
        user=item.get("userId", _USER),
        scopes=tuple(item["scope"]),
        query=item["query"],
        expect=item["expect"],
        beliefs_max=budget.get("maxBeliefs", _BELIEFS_MAX),
        questions_max=budget.get("maxQuestions", _QUESTIONS_MAX),
    )


def _turn(session: Mapping[str, Any], item: Mapping[str, Any]) -> Case:
    return Case(
        id=f"{session['caseId']}/{item['turnIndex']}",
        category="sessions",
        user=_USER,
        scopes=tuple(item["scope"]),
        query=item["userMessage"],
        expect=item["expect"],
        created=_belief(item["createBeliefAtTurn"]) if item.get("createBeliefAtTurn") else None,
    )


def _shares(scopes: Iterable[str], case: Case) -> bool:
    return not set(case.scopes).isdisjoint(scopes)


def _take_turns(lists: Sequence[Sequence[str]]) -> list[str]:
    """The first of each list, then the second of each, every id once."""
    longest = max(map(len, lists), default=0)
    return list(dict.fromkeys(
        each[rank] for rank in range(longest) for each in lists if rank < len(each)
    ))  # fmt: skip


def _holds(wanted: Mapping[str, Any], found: set[str]) -> bool:
    included = found.issuperset(wanted.get("mustInclude", ()))
    return included and found.isdisjoint(wanted.get("mustExclude", ()))


def _draw(
    cases: Mapping[str, Sequence[Score]], turns: Mapping[str, Sequence[Score]], note: str
) -> Iterable[Table]:
    columns = ("system", "cases", "passed", "active", "precision", "recall", "noise")
    table = Table("cases", columns, note)
    for name, scores in cases.items():
        table.add(name, *_figures(scores))
    yield table
    table = Table("by category", ("category", *columns))
    for category in dict.fromkeys(each.category for some in cases.values() for each in some):
        for name, scores in cases.items():
            table.add(category, name, *_figures([s for s in scores if s.category == category]))
    yield table
    if turns:
        table = Table(
            "sessions", ("system", "turns", "passed", "precision", "recall", "drift", "noisy turns")
        )
        for name, scores in turns.items():
            drift = fmean(0.0 if s.precision is None else 1 - s.precision for s in scores)
            noisy = sum(bool(s.noise) for s in scores)
            means = (_mean(s.precision for s in scores), _mean(s.recall for s in scores))
            table.add(name, len(scores), sum(s.passed for s in scores), *means, drift, noisy)
        yield table


def _figures(scores: Sequence[Score]) -> tuple[str | float, ...]:
    active = sum(each.passed and each.precision is not None for each in scores)
    return (
        len(scores),
        sum(each.passed for each in scores),
        active,
        _mean(each.precision for each in scores),
        _mean(each.recall for each in scores),
        fmean(each.noise for each in scores),
    )


def _mean(each: Iterable[float | None]) -> str | float:
    values = [value for value in each if value is not None]
    return fmean(values) if values else "-"
