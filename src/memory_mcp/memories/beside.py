"""Decides how an update stands to the other memories: newer than some, and beside others.

What an update states anew is newer than all. What it only keeps of the older text was said when
that was, and brings nothing up to date that was said since. Who updates a memory that another one
had outdated, and gives it no new value, says that both hold: the record names the other one.
"""

from collections.abc import Sequence

from memory_mcp.deduplication import SIMILAR_MAX
from memory_mcp.domain.deduplication import is_comparable
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import SimilarMemory
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import View
from memory_mcp.engine.workspace import Workspace
from memory_mcp.text.merge import Statement, find_replaced_value, score_similarity
from memory_mcp.text.sentences import split_lines
from memory_mcp.text.truths import (
    Disputes,
    Outdates,
    Truth,
    compare_statements,
    find_contradicted,
    join_title,
)
from memory_mcp.words.terms import extract_terms


async def place_update(
    workspace: Workspace, view: View, old: Record, new: Record
) -> tuple[Record, tuple[SimilarMemory, ...]]:
    """The update of a memory with its moment and what it holds beside; and what it contradicts.

    It also takes the place of each memory that it repeats sentence for sentence.
    """
    pairs, known = await _load_bearing(workspace, view, [old, new])
    there = [each for id_, each in known.items() if id_ not in {new.id, *new.supersedes}]
    repeated = [each.id for each in there if is_comparable(each, old) and _repeats(new, each)]
    new = new.model_copy(update={"supersedes": tuple(sorted({*new.supersedes, *repeated}))})
    others = [each for each in there if each.id not in repeated]
    anew = _states_anew(old, new)
    fresh = " ".join(each for each in split_lines(new.content) if each not in old.content)
    kept = (old.content, new.content), (new.content, old.content)
    if not anew and any(find_replaced_value(*texts) == "" for texts in kept):  # nothing is missing
        new = new.model_copy(update={"stated_at": old.moment})
        fresh = ""
    beside = [
        each
        for each in others
        if _keeps_beside(old, new, fresh, each)
        or (not anew and _is_later(each, old) and isinstance(_compare(old, each), Outdates))
    ]
    new = _name_beside(new, [old], beside)
    bearing = [each for each in others if frozenset((each.id, new.id)) in pairs]
    return new, _describe_rivals(new, bearing)


async def find_rivals(
    workspace: Workspace, view: View, record: Record
) -> tuple[SimilarMemory, ...]:
    """The visible memories that a stored one contradicts by its words, as a receipt names them."""
    _, known = await _load_bearing(workspace, view, [record])
    return _describe_rivals(record, [each for each in known.values() if each.id != record.id])


async def place_copy(workspace: Workspace, view: View, old: Record, new: Record) -> Record:
    """The record that says again what an older one said, at the moment and the place of that."""
    _, known = await _load_bearing(workspace, view, [old])
    beside = [each for each in known.values() if old.holds_with(each)]
    return _name_beside(new.model_copy(update={"stated_at": old.moment}), [old], beside)


async def place_merge(
    workspace: Workspace, view: View, olds: Sequence[Record], whole: Record, fresh: str
) -> Record:
    """The memory composed of old ones and of a `fresh` text, with what it holds beside."""
    _, known = await _load_bearing(workspace, view, [whole])
    others = [each for id_, each in known.items() if id_ not in {whole.id, *whole.supersedes}]
    beside = [each for each in others if any(_keeps_beside(o, whole, fresh, each) for o in olds)]
    return _name_beside(whole, olds, beside)


def _keeps_beside(old: Record, new: Record, fresh: str, other: Record) -> bool:
    """Whether both hold already, or the new one contradicts a later one by what it keeps alone."""
    if old.holds_with(other):
        return True
    contradicts = _is_later(other, old) and isinstance(_compare(new, other), Outdates)
    return contradicts and not isinstance(compare_statements(other.content, fresh), Outdates)


def _name_beside(new: Record, olds: Sequence[Record], beside: Sequence[Record]) -> Record:
    named = (*(id_ for old in olds for id_ in old.holds_beside), *(each.id for each in beside))
    return new.model_copy(update={"holds_beside": tuple(dict.fromkeys(named))})


def _repeats(new: Record, other: Record) -> bool:
    same_writer = new.scope == other.scope
    return same_writer and set(split_lines(other.content)) <= set(split_lines(new.content))


def _states_anew(old: Record, new: Record) -> bool:
    """Whether the new text has another value for something that the old one states."""
    truth = compare_statements(join_title(old, new), join_title(new, old))
    changed = isinstance(truth, Outdates | Disputes)
    return changed or find_contradicted(old.content, new.content) is not None


def _is_later(one: Record, other: Record) -> bool:
    return (one.moment, one.id) > (other.moment, other.id)


def _compare(one: Record, other: Record) -> Truth:
    """What the later of the two makes of the earlier one."""
    older, newer = (other, one) if _is_later(one, other) else (one, other)
    return compare_statements(join_title(older, newer), join_title(newer, older))


def _describe_rivals(new: Record, others: Sequence[Record]) -> tuple[SimilarMemory, ...]:
    """Those that the update contradicts by its words, the likest first."""
    found: list[SimilarMemory] = []
    for each in others:
        truth, together = _compare(each, new), new.holds_with(each)
        match truth:
            case Outdates(reason) if together:
                found.append(SimilarMemory(each, _score(each, new), "beside", reason))
            case Outdates(reason) if _is_later(new, each):
                found.append(SimilarMemory(each, _score(each, new), "outdated", reason))
            case Disputes(reason) if not together:
                found.append(SimilarMemory(each, _score(each, new), "disputed", reason))
            case _:
                pass
    found.sort(key=lambda each: -each.score)
    return tuple(found[:SIMILAR_MAX])


def _score(one: Record, other: Record) -> float:
    ours, theirs = (
        Statement(each.content, tuple(extract_terms(each.content))) for each in (other, one)
    )
    return score_similarity(ours, theirs, None)


async def _load_bearing(
    workspace: Workspace, view: View, records: Sequence[Record]
) -> tuple[list[frozenset[RecordId]], dict[RecordId, Record]]:
    from memory_mcp.listing import load_bearing  # noqa: PLC0415  # most adds compose nothing

    return await load_bearing(workspace, view, records)
