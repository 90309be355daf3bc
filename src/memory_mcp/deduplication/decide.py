"""Whether a new memory is known already, and what becomes of the two if it is."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from memory_mcp.deduplication.candidates import Alike, alike
from memory_mcp.domain.deduplication import Different, Extended, Restated, Unsure, Updated, Verdict
from memory_mcp.domain.outcomes import SimilarMemory
from memory_mcp.domain.record import REASON_PREFIX, REJECTED_PREFIX, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import ModelUnavailableError, StoreError
from memory_mcp.text.merge import (
    Decision,
    Insert,
    Merge,
    Refuse,
    Skip,
    choose_band,
    compare_facts,
    compose,
    find_conflict,
    find_contradicted,
    find_replaced_value,
    keeps_content,
    makes_superfluous,
)
from memory_mcp.text.sentences import split_lines

_TWINS_MAX: Final = 10
_SAID: Final = "the language model says so"
_SIMILAR_MAX: Final = 3
"""How many memories the caller is asked to compare: more is work, fewer misses some."""


async def twins(workspace: Workspace, pool: Pool, new: Record, view: View) -> list[Record]:
    """The visible memories that name exactly this statement, and the tombstones of any pool.

    A pool that cannot be asked has nothing to say: it must not keep a memory from being stored.
    """
    found: list[Record] = []
    for each in workspace.pools:
        try:
            ids = await each.index.find(view, Filters(statement=new.statement), _TWINS_MAX)
        except StoreError:
            continue
        records = await load_records(each, ids)
        found += [r for r in records if each is pool or r.kind == "tombstone"]
    return found


def rejection(there: Sequence[Record]) -> Record | None:
    """The newest of these `twins` that says that the user rejected the statement.

    It tells why as far as that was said on a road that can be seen from here.
    """
    said = [record for record in there if record.kind == "tombstone"]
    rejected = next((record for record in said if record.key.startswith(REJECTED_PREFIX)), None)
    reason = next((record for record in said if record.key.startswith(REASON_PREFIX)), None)
    if rejected is None or reason is None:
        return rejected
    return rejected.model_copy(update={"content": reason.content})


async def decided(
    workspace: Workspace,
    pool: Pool,
    new: Record,
    there: Sequence[Record],
    *,
    view: View,
    until: float,
) -> Decision:
    """What becomes of a memory that nobody has stored yet; `there` are its `twins`.

    A language model, if there is one, is asked `until` then (the event loop's time).
    """
    tombstone = rejection(there)
    if tombstone is not None and tombstone.id not in new.supersedes:
        return Refuse(tombstone)
    for known in there:
        if known.id not in new.supersedes and makes_superfluous(known, new):
            return Skip(known)
    tombstones = {record.id for record in there if record.kind == "tombstone"}
    if set(new.supersedes) - tombstones:  # the caller has judged already
        return Insert()
    return await _compared(workspace, pool, new, view=view, until=until)


async def _compared(
    workspace: Workspace, pool: Pool, new: Record, *, view: View, until: float
) -> Skip | Insert | Merge:
    """The new memory beside those that are most like it: all that are the same fact become one."""
    try:
        near = await alike(pool, new, view, workspace.policy.merging)
        judged = await _judged(workspace, near, view, until)
    except StoreError as error:  # what cannot be compared is stored
        return Insert(notes=(f"It was not compared with what is known: {error}",))
    if known := next((one for one, verdict in judged if isinstance(verdict, Restated)), None):
        return Skip(known.record)
    olds: list[Record] = []
    similar: list[SimilarMemory] = []
    text, contradicts = new.content, False
    # the newest first: where two old ones differ, the newer one of them counts
    for one, verdict in sorted(judged, key=lambda pair: pair[0].record.id, reverse=True):
        match verdict:
            case Unsure() if one.score < workspace.policy.merging.auto_update:
                whole = None
            case _:
                whole = await _composed(workspace, one, text, verdict, until)
                if olds and whole and not _all_in(compose(one.record.content, new.content), whole):
                    continue  # they differ in something else, and which of them is newer is lost
        if whole is None:
            similar.append(SimilarMemory(one.record, one.score))
        else:
            olds.append(one.record)
            text, contradicts = whole, contradicts or isinstance(verdict, Updated)
    if not olds:
        best = sorted(similar, key=lambda each: each.score, reverse=True)
        return Insert(tuple(best[:_SIMILAR_MAX]), notes=tuple(_contradictions(new, near)))
    if [text] == [old.content for old in olds]:
        return Skip(olds[0])
    return Merge(tuple(olds), text, contradicts)


def _contradictions(new: Record, near: Sequence[Alike]) -> Iterator[str]:
    """A sentence for each memory of which the new one contradicts a part: both stay as they are."""
    for one in near:
        found = find_conflict(new.content, one.record.content)
        if found and not isinstance(compare_facts(one.new, one.old), Different):
            yield (
                f"It contradicts {found!r} in {one.record.id}, which stays as it is: correct "
                "that memory with update_memory, or add both as one with supersedes."
            )


def _all_in(text: str | None, whole: str) -> bool:
    """Whether each sentence of a text is in another one."""
    return text is not None and set(split_lines(text)) <= set(split_lines(whole))


async def _judged(
    workspace: Workspace, near: Sequence[Alike], view: View, until: float
) -> list[tuple[Alike, Verdict]]:
    """Those that may be the same fact, the most alike first, each with the word on it.

    Whoever decides, what the rule calls another thing is one.
    """
    merging = workspace.policy.merging
    found: list[tuple[Alike, Verdict]] = []
    for place, one in enumerate(near):
        share = choose_band(
            one.score, place, one.record, overlap=one.overlap, merging=merging, now=view.now
        )
        verdict = compare_facts(one.new, one.old)
        if share == "apart" or isinstance(verdict, Different):
            continue
        if share == "judge":
            verdict = await _asked(workspace, one, until) or verdict
        if not isinstance(verdict, Different):
            found.append((one, verdict))
    return found


async def _asked(workspace: Workspace, one: Alike, until: float) -> Verdict | None:
    """The language model's word, if there is one that answers in time."""
    if workspace.language is None:
        return None
    try:
        async with asyncio.timeout_at(until):
            said = await workspace.language.same_fact(one.old.text, one.new.text)
    except (ModelUnavailableError, TimeoutError):
        return None
    match said:
        case "same":
            return Extended(_SAID)
        case "contradicts":
            return Updated(_SAID)
        case "different":
            return Different(_SAID)


async def _composed(
    workspace: Workspace, one: Alike, new: str, verdict: Verdict, until: float
) -> str | None:
    """The two as one text; None if they do not fit into one.

    What the language model writes is taken if nothing is lost in it that is not contradicted.
    Without it rules compose what the rule has called the same; of what only the model has, the
    statement that is contradicted gives way, and what stands beside it in the old text stays. No
    word of a model's costs more than the one value that differs.
    """
    old = one.record.content
    if workspace.policy.merging.mode == "update":
        return new
    plainly = one.score >= workspace.policy.merging.auto_update
    by_rule = plainly or isinstance(compare_facts(one.new, one.old), Updated | Extended)
    if not by_rule and isinstance(verdict, Updated):
        if found := find_contradicted(new, old):
            return " ".join((new, *found[1]))
        if find_replaced_value(old, new) is not None:
            return new
    plain = compose(old, new) if by_rule else None
    if workspace.language is not None:
        try:
            async with asyncio.timeout_at(until):
                text = await workspace.language.compose(old, new)
            if keeps_content(plain, text) if plain else find_replaced_value(old, text):
                return text
        except (ModelUnavailableError, TimeoutError):
            pass
    return plain
