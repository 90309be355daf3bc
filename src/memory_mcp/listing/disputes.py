"""Finds the visible memories that contradict some of them, without a question.

Each is compared with those of all visible ones that share its rarest words: a value that was stated
long ago is found beside a new one. Only what the outlines leave open is read. What does not stand
on this commit of git and what does say nothing of each other, as in a search.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from memory_mcp.domain.deduplication import rank_holding, states_truth
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Dispute
from memory_mcp.domain.record import MEMORY_KINDS, Reach, Record
from memory_mcp.domain.search import Candidate, CorpusStatistics, Filters, View
from memory_mcp.engine.git import list_elsewhere
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.text.truths import (
    mark_truths,
    may_bear,
    pack_outline,
)
from memory_mcp.words.terms import extract_terms

_FILTERS: Final = Filters(kinds=MEMORY_KINDS)
_RIVALS_MAX: Final = 12
"""Memories that each one is compared with in each bank: itself, and those most like it."""
_TERMS_MAX: Final = 8
"""The rarest terms of a memory, by which the others are looked up."""


async def list_disputes(
    workspace: Workspace, view: View, records: Sequence[Record]
) -> tuple[Dispute, ...]:
    """The pairs of one of these memories and a visible one, the newest first: each pair once."""
    pairs, known = await load_bearing(workspace, view, records)
    return await asyncio.to_thread(_list_disputes, pairs, known)


async def load_bearing(
    workspace: Workspace, view: View, records: Sequence[Record]
) -> tuple[list[frozenset[RecordId]], dict[RecordId, Record]]:
    """The pairs of one of these records and a visible memory of which one may bear on the other.

    And all records of these pairs. The given ones need not be stored.
    """
    stating = [record for record in records if states_truth(record)]
    outlines: dict[RecordId, bytes] = {}
    homes: dict[RecordId, MemoryBank] = {}
    rivals: dict[RecordId, set[RecordId]] = {record.id: set() for record in stating}
    for reach in workspace.reaches:
        bank = workspace.bank_of(reach)
        outlines |= await bank.index.outlines([r.id for r in stating if r.scope.reach == reach])
        for record_id, found in (await find_rivals(bank, reach, stating, view)).items():
            rivals[record_id].update(found)
            outlines |= {id_: each.fields.outline for id_, each in found.items()}
            homes |= dict.fromkeys(found, bank)
    # to read a text for its outline takes longer than all else
    outlines |= {r.id: pack_outline(r) for r in stating if r.id not in outlines}
    pairs = _select_bearing(rivals, outlines)
    known = {record.id: record for record in stating}
    bearing = frozenset[RecordId]().union(*pairs) - known.keys()
    for bank in workspace.banks:
        wanted = sorted(id_ for id_ in bearing if homes[id_] is bank)
        known |= {record.id: record for record in await load_records(bank, wanted)}
    away = list_elsewhere(workspace, known.values())
    pairs = [pair for pair in pairs if len(pair & away) in (0, len(pair))]
    paired = frozenset[RecordId]().union(*pairs, rivals)
    return pairs, {id_: record for id_, record in known.items() if id_ in paired}


async def find_outdated(
    workspace: Workspace, view: View, records: Sequence[Record]
) -> dict[RecordId, RecordId]:
    """For each of these memories that a later one brings up to date, the newest that does."""
    oldest_first = reversed(await list_disputes(workspace, view, records))
    return {each.older.id: each.newer.id for each in oldest_first if each.outdated}


async def find_rivals(
    bank: MemoryBank, reach: Reach, stating: Sequence[Record], view: View
) -> dict[RecordId, dict[RecordId, Candidate]]:
    """The memories of the bank that share the rarest terms of each, which may be it itself.

    A term that it alone has in its bank finds no other one.
    """
    terms = {each.id: frozenset(extract_terms(f"{each.title} {each.content}")) for each in stating}
    corpus = await bank.index.corpus(frozenset[str]().union(*terms.values()), view)
    found: dict[RecordId, dict[RecordId, Candidate]] = {}
    for each in stating:
        least = 1 + (each.scope.reach == reach)
        if rare := _select_rarest(terms[each.id], corpus, least):
            like = await bank.index.match(rare, corpus, view, _FILTERS, _RIVALS_MAX)
            found[each.id] = {rival.id: rival for rival in like}
    return found


def _select_rarest(terms: Collection[str], corpus: CorpusStatistics, least: int) -> list[str]:
    rising = sorted(
        (count, term) for term in terms if (count := corpus.counts.get(term, 0)) >= least
    )
    return [term for _, term in rising[:_TERMS_MAX]]


def _select_bearing(
    rivals: Mapping[RecordId, Collection[RecordId]], outlines: Mapping[RecordId, bytes]
) -> set[frozenset[RecordId]]:
    """Every two of which the outlines leave open that one bears on the other."""
    pairs = {frozenset((one, other)) for one in rivals for other in rivals[one] if one != other}
    return {pair for pair in pairs if may_bear(*(outlines[id_] for id_ in pair))}


def _list_disputes(
    pairs: Collection[frozenset[RecordId]], records: Mapping[RecordId, Record]
) -> tuple[Dispute, ...]:
    """What the texts say of each pair: compared two by two, because the pairs are few of all."""
    found: list[Dispute] = []
    for older, newer in (sorted(pair) for pair in pairs if pair <= records.keys()):
        marks = mark_truths([records[older], records[newer]])
        if marks.outdated or marks.disputed:
            old = next(iter(marks.outdated), older)
            new = marks.outdated.get(old, newer)
            found.append(Dispute(records[old], records[new], outdated=bool(marks.outdated)))
    return tuple(sorted(found, key=_rank_dispute, reverse=True))


def _rank_dispute(dispute: Dispute) -> tuple[object, ...]:
    return *rank_holding(dispute.newer), *rank_holding(dispute.older)
