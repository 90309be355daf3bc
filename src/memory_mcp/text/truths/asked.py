"""Decides whether a later statement answers a question anew that an earlier one answered.

Two statements alone often do not tell that they are about one thing: "Orders up to 200 euros need
nobody", "Administration cut the limit: above 75 euros Gudrun signs". A question that both of them
answer does. The later one must say that something changed, and speak of what the earlier one
speaks of, end it, or have another value of the kind that is asked for; and what limits one of
them to another place, person or part keeps them apart here, too. What one thing is said of twice is
not said anew: they must have more in common than that (`_describe_links`).

Where the scores of both are known, how much each of these tells, and how near both are to the
question, was learnt (`tools/answers.py`): `weigh_answers`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from memory_mcp.learnt import Features, load_figures, weigh
from memory_mcp.text.tables import matches
from memory_mcp.text.truths.compare import Independent, compare_alike, find_limit, has_other_head
from memory_mcp.text.truths.frames import Frame, read_frames
from memory_mcp.text.truths.kinds import find_other_kinds, find_topic, list_kinds
from memory_mcp.text.truths.renames import states_name
from memory_mcp.text.truths.siblings import find_siblings

_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "asks_who": frozenset({"name"}),
    "asks_when": frozenset({"day", "clock", "time", "often", "count"}),
    "asks_figure": frozenset({"count", "money", "time", "share", "size", "mass", "length", "rate"}),
}
"""The kinds of values that answer a question of each form."""
_ASKED: Final[Mapping[str, frozenset[str]]] = {
    "asks_who": frozenset({"who", "name"}),
    "asks_when": frozenset({"day", "hour", "clock", "time", "often"}),
    "asks_figure": frozenset({"figure", *_KINDS["asks_figure"]}),
    "asks_where": frozenset({"where", "place"}),
}
"""The same with what a sentence says of its subject; a bare figure is no time."""
_FIGURES: Final = (_KINDS["asks_when"] | _KINDS["asks_figure"]) - {"often"}


_HINTED_MIN: Final = 0.5
"""Share of the best score from which on two statements may answer the same question."""


def answers_anew(question: str, old: str, new: str) -> bool:
    """Whether the later statement replaces the earlier one as an answer to this question.

    Both are taken to be near to the question, so that a value of the kind asked for is enough.
    """
    return _answers_anew(question, read_frames(old), read_frames(new), hints_change(new))


def hints_change(text: str) -> bool:
    """Whether a text may say that something is other than it was."""
    return matches("truths", "hints", text.casefold())


def describe_answers(question: str, old: str, new: str) -> dict[str, float]:
    """What their words say of whether the later statement answers the question anew."""
    theirs, ours, hints = read_frames(old), read_frames(new), hints_change(new)
    kinds = _find_kinds(question, _KINDS)
    before, after = _find_values(kinds, theirs), _find_values(kinds, ours)
    asked = _find_asked(question)
    both = _list_kinds(theirs) & _list_kinds(ours)
    asks = [_find_kinds(question, _ASKED)] if question else list(_ASKED.values())
    links = _describe_links(asks, theirs, ours)
    supposed = {frame.supposed for frame in theirs} != {frame.supposed for frame in ours}
    found = {
        "anew": _answers_anew(question, theirs, ours, hints),
        "changes": any(frame.changes for frame in ours),
        "changed before": any(frame.changes for frame in theirs),
        "hints": hints,
        "asks for a value": bool(kinds),
        "another value": bool(before and after - before),
        "same kind": bool(both - {"name"}),
        "other family": _has_other_family(theirs, ours),
        "happened": all(frame.past for frame in theirs),
        "only one supposes": supposed,
        "siblings": all(_find_apart(o, n) for o in theirs for n in ours),
        "same value": _state_same(theirs, ours),
        "of one thing": any(not _find_difference(o, n, asked) for o in theirs for n in ours),
    }
    return {name: float(holds) for name, holds in (found | links).items()}


def _describe_links(
    asks: Sequence[frozenset[str]], theirs: Sequence[Frame], ours: Sequence[Frame]
) -> dict[str, bool]:
    """What both have in common beside that of which they speak, if one of these kinds is asked for.

    Who "now has an office" is the same who approves the budget, and approves it still.
    """
    before, after = _list_stated(theirs), _list_stated(ours)
    topic, new_topic = _join_topics(theirs), _join_topics(ours)
    about = frozenset[str]().union(*(frame.about for frame in theirs))
    new_about = frozenset[str]().union(*(frame.about for frame in ours))
    found = {
        "beyond": bool((about - topic) & (new_about - new_topic)),
        "values both": bool((_list_kinds(theirs) & _list_kinds(ours)) - {"name"}),
        "ends old": any(not frame.ended.isdisjoint(about) for frame in ours),
        "asked kind both": any(kinds & before and kinds & after for kinds in asks),
    }
    said, said_new = _list_said(theirs), _list_said(ours)
    return found | {
        "linked": any(found.values()),
        "topic part": bool(topic.isdisjoint(new_topic) and new_topic & about - topic),
        "kinds both": not said.isdisjoint(said_new),
        "kinds apart": bool(said and said_new) and said.isdisjoint(said_new),
        "kinds old only": bool(said) and not said_new,
    }


def _list_stated(frames: Sequence[Frame]) -> frozenset[str]:
    """The kinds of all values; whoever is named anywhere may be who is asked for."""
    named = frozenset({"who"} if any(map(_names_somebody, frames)) else ())
    return _list_kinds(frames) | _list_said(frames) | named


def _names_somebody(frame: Frame) -> bool:
    """In German every noun has a capital."""
    german = matches("truths", "german", frame.text.casefold())
    return not german and any(word.kind == "name" for word in frame.words)


def _list_said(frames: Sequence[Frame]) -> frozenset[str]:
    """The kinds of what is said of the subjects."""
    return frozenset[str]().union(*(list_kinds(frame.text) for frame in frames))


def _join_topics(frames: Sequence[Frame]) -> frozenset[str]:
    return frozenset[str]().union(*(find_topic(frame)[0] for frame in frames))


def tells_change(features: Features) -> bool:
    """Whether the later one says that something changed of what the earlier one says.

    A hint does where both are of one thing, and near to the question. What happened stays so, and
    the same value in other words changes nothing.
    """
    never = features["happened"] or features["siblings"] or features["same value"]
    if never or not features["linked"]:
        return False
    near = min(features["old of best"], features["new of best"]) >= _HINTED_MIN
    hinted = features["hints"] and features["of one thing"] and near
    return bool(features["changes"] or hinted)


def weigh_answers(features: Features) -> float:
    """The logit of a later statement that answers anew, by the learnt figures."""
    return weigh(features, load_answers())


def weigh_most(features: Features) -> float:
    """The highest logit of these features with any of `describe_answers`."""
    figures = load_answers()
    others = (weight for name, weight in figures.items() if name and name not in features)
    return weigh(features, figures) + sum(max(weight, 0.0) for weight in others)


def load_answers() -> Any:
    """The learnt figures."""
    return load_figures("memory_mcp.text", "answers")


def _find_asked(question: str) -> frozenset[str]:
    return frozenset[str]().union(*(frame.about for frame in read_frames(question)))


def _list_kinds(frames: Sequence[Frame]) -> frozenset[str]:
    return frozenset(kind for frame in frames for kind in frame.values)


def _answers_anew(
    question: str,
    theirs: Sequence[Frame],
    ours: Sequence[Frame],
    hints: bool,  # noqa: FBT001
) -> bool:
    changed = {frame.supposed for frame in ours if frame.changes or hints}
    if not changed or _has_other_family(theirs, ours) or _state_same(theirs, ours):
        return False
    kinds = _find_kinds(question, _KINDS)
    before, after = _find_values(kinds, theirs), _find_values(kinds, ours)
    if kinds and not after - before:
        return False
    asked = _find_asked(question)
    return any(
        before or o.about & n.about or n.ended & (o.about | o.stated)
        for o in theirs
        for n in ours
        if o.supposed in changed and not _find_difference(o, n, asked)
    )


def _find_difference(old: Frame, new: Frame, asked: frozenset[str]) -> str:
    """Why they are about two things, whatever the question is; or ""."""
    if old.where - new.where - asked:
        return "the earlier one holds for one place"
    if limit := find_limit(old, new):
        return limit
    if has_other_head(old, new):
        return "another head"
    if apart := _find_apart(old, new):
        return apart
    said = (old.about - old.subject) & (new.about - new.subject)
    if said and old.subject and new.subject and not old.subject & new.about:
        return "the same of another subject"
    alike = compare_alike(old, new, "")
    return alike.reason if isinstance(alike, Independent) else ""


def _find_apart(old: Frame, new: Frame) -> str:
    """Why a change of the one leaves the other as it is; or ""."""
    if new.renamed and not states_name(old.text, new.renamed):
        return "only its name is another one"
    return find_other_kinds(old, new) or find_siblings(old, new)


def _find_kinds(question: str, forms: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The kinds of the first form of these that the question has."""
    low = question.casefold()
    named = (kinds for name, kinds in forms.items() if matches("truths", name, low))
    return next(named, frozenset[str]())


def _find_values(kinds: Collection[str], frames: Sequence[Frame]) -> frozenset[str]:
    """The values of these kinds."""
    return frozenset(key for f in frames for kind in kinds for key in f.values.get(kind, ()))


def _state_same(old: Sequence[Frame], new: Sequence[Frame]) -> bool:
    """Whether both have the same figures, and one of them has a unit: a bare one may be a name."""
    if any(frame.ended for frame in new):
        return False
    before, after = ({kind: found for kind in _FIGURES if (found := _find_values({kind}, frames))}
                     for frames in (old, new))  # fmt: skip
    return before == after and bool(before.keys() - {"count"})


def _has_other_family(old: Sequence[Frame], new: Sequence[Frame]) -> bool:
    """Whether each names tools of kinds that the other does not."""
    before, after = (
        frozenset[str]().union(*(frame.families for frame in frames)) for frames in (old, new)
    )
    return bool(before and after) and before.isdisjoint(after)
