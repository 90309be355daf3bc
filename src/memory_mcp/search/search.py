"""Searches memories: locally, in the cloud, and among untrusted records of the repository."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.code import mark_standing
from memory_mcp.domain import limits
from memory_mcp.domain.normalise import normalise
from memory_mcp.domain.outcomes import SearchResults, Skipped
from memory_mcp.domain.record import Kind
from memory_mcp.domain.search import Filters, Hit, SelectionOptions, View, Wanted
from memory_mcp.domain.sessions import ContextSettings
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.cloud import describe_unpulled, describe_untrusted_cloud, describe_waiting
from memory_mcp.engine.git import list_elsewhere
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.index_sync import takes_partial_answers
from memory_mcp.engine.members import find_author
from memory_mcp.engine.records import (
    describe_unindexed,
    gather_all,
    load_here_first,
    load_hits,
    load_newest,
    require_records_folder,
    run_beside,
)
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.hints import address, name_explanation, name_field, name_id
from memory_mcp.profile import drop_unsupported_hits
from memory_mcp.ranking.order import fuse_ranks, select_diverse
from memory_mcp.search.cloud import CloudResults, search_cloud
from memory_mcp.search.local import find_local, put_elsewhere_behind
from memory_mcp.search.truths import asks_for_former, load_by_truth, mark_hits, order_by_truth
from memory_mcp.text.drafts import check_phase, check_text
from memory_mcp.text.secrets import redact
from memory_mcp.timeline.plans import require_branch
from memory_mcp.trust.strangers import (
    describe_strangers_once,
    find_strangers,
    make_strangers_view,
    mix_strangers_hits,
)

_UNPLACED = (
    "{} matching memories of another machine are not shown: they, or the line they were written "
    "on, are not here yet. Repeat in a moment, or run `memory-mcp cloud sync --pull`."
)
_UNTRUSTED = "{} matching memories of another machine are not shown. {}"

_REPLACED: Final = "What a memory replaced is recalled no more; {} shows what {} took the place of."

_NO_WORDS = (
    "The query holds no word to look for. Ask with words, or with none at all for the newest."
)

_NO_SUCH: Final = (
    "The filters alone leave nothing over, whatever is asked: check how they are spelt."
)

_NOT_HERE: Final = "Nothing that was written on branch {!r} holds here, on {!r}. {}"

_USUAL: Final = SelectionOptions()

_LIKELY: Final = SelectionOptions(min_score=0.2)
"""Weak matches of a task must not displace what always matters."""


@frozen
class _Query:
    """The words of a search, which records it is about, how many, and how they are chosen."""

    text: str
    filters: Filters
    limit: int
    wish: SelectionOptions
    ranked: int = limits.CANDIDATES_MAX


@takes_partial_answers
async def search_memories(
    workspace: Workspace,
    query: str,
    filters: Filters,
    limit: int,
    wish: SelectionOptions = _USUAL,
    *,
    limit_max: int = limits.RESULTS_MAX,
) -> SearchResults | Skipped:
    """The visible memories that match best; without a query, the newest.

    A program may ask for more than a model is shown, up to its own `limit_max`.

    Raises:
        InvalidRequestError: `limit` is out of range, or a filter is nothing a record can hold.
        UnknownTargetError: there is no such branch; the message names the known ones.
        IndexBusyError: the index does not answer; this says nothing about the memories.
        StoreUnavailableError: nothing was found because the records' folder is gone.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    ranked = max(limit, limits.CANDIDATES_MAX)
    asked = _Query(_redact_query(workspace, query), filters, limit, wish, ranked)
    _check_request(asked, limit_max)
    head = await load_head(workspace)
    if filters.branch is not None:
        require_branch(head.timeline, filters.branch)
    view = make_view(workspace, head.timeline)
    unindexed = describe_unindexed(workspace)  # the index may be whole before the search has ended
    if not asked.text.strip():
        (read,) = await load_here_first(workspace, view, [Wanted(filters, limit)])
        away = list_elsewhere(workspace, read.records)
        hits = mark_hits([Hit(record) for record in read.records], away=away)
        notes = await describe_unpulled(workspace)
        if not hits:
            notes += await _explain_filters(workspace, filters, view)
        found = SearchResults(hits, mode="newest", notes=notes, unreadable=read.unreadable)
    else:
        found = await _find(workspace, asked, head)
        found = replace(found, notes=(*found.notes, *await describe_waiting(workspace)))
        if asks_for_former(asked.text):
            found = replace(found, notes=(*found.notes, *_describe_replaced(found.hits)))
    found = replace(found, hits=mark_standing(workspace, found.hits))
    found = await _add_strangers(workspace, found, asked)
    if unindexed := unindexed or describe_unindexed(workspace):
        found = replace(found, degraded=f"{found.degraded} {unindexed}".strip())
    if filters.includes_profile:
        found = replace(found, hits=await drop_unsupported_hits(workspace, found.hits, view))
    if not found.hits:
        await require_records_folder(workspace, view)
    authors = [find_author(workspace, hit.record) for hit in found.hits]
    if not any(authors):
        return found
    hits = [replace(hit, by=by) for hit, by in zip(found.hits, authors, strict=True)]
    return replace(found, hits=hits)


def _describe_replaced(hits: Sequence[Hit]) -> tuple[str, ...]:
    """How to see what the best of the hits took the place of, which no search finds."""
    best = next((hit.record.id for hit in hits if hit.record.supersedes), None)
    return (_REPLACED.format(name_explanation(best), name_id(best)),) if best else ()


async def search_at(
    workspace: Workspace, view: View, query: str, filters: Filters, limit: int
) -> SearchResults | Skipped:
    """What matched best when only this view was known; what contradicts it now does not count.

    Raises:
        InvalidRequestError: the query holds no words, or a filter is nothing a record can hold.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    asked = _Query(_redact_query(workspace, query), filters, limit, _USUAL)
    _check_request(asked, limit)
    matches = await find_local(workspace, asked.text, view, filters)
    hits, lost = await load_hits(matches.ranked, matches.home, view, limit)
    return SearchResults(
        mark_hits(hits), matches.mode, matches.notes, lost, degraded=matches.degraded
    )


async def search_for_task(
    workspace: Workspace, head: Head, task: str, kinds: frozenset[Kind], opening: ContextSettings
) -> SearchResults:
    """The memories of these kinds that a task needs, best first: `topn` of `topk` candidates.

    Raises:
        InvalidRequestError: the task cannot be searched for.
    """
    task = _redact_query(workspace, task)
    filters = Filters(kinds=kinds)
    check_text("task", task[: limits.QUERY_CHARS_MAX], limits.QUERY_CHARS_MAX, required=False)
    asked = _Query(task, filters, opening.topn, _LIKELY, ranked=opening.topk)
    return await _find(workspace, asked, head)


def _redact_query(workspace: Workspace, query: str) -> str:
    """The query, without its secrets if it leaves this machine."""
    if workspace.asks_elsewhere and workspace.policy.secrets != "allow":
        return redact(normalise(query)).text
    return query


async def _add_strangers(
    workspace: Workspace, found: SearchResults, asked: _Query
) -> SearchResults:
    """Add untrusted records that came with the repository, marked as such."""
    notes = await describe_strangers_once(workspace)
    strangers = await find_strangers(workspace)
    if strangers is None or not strangers.searchable or asked.filters.reach == "user":
        return replace(found, notes=(*found.notes, *notes))
    view = make_strangers_view(workspace, strangers)
    workspace = replace(workspace, project=strangers.bank)
    asked = replace(asked, filters=replace(asked.filters, reach="project", branch=None))
    if asked.text.strip():
        theirs = (await _find_local(workspace, asked, view)).hits
    else:
        read = await load_newest(workspace, view, asked.filters, asked.limit)
        theirs = [Hit(record) for record in read.records]
    hits = mix_strangers_hits(list(found.hits), list(theirs), asked.limit)
    return replace(found, hits=hits, notes=(*found.notes, *notes))


def _check_request(asked: _Query, limit_max: int) -> None:
    """Refuse what no record can hold: the index would fail on it, or find nothing."""
    filters, limit, wish = asked.filters, asked.limit, asked.wish
    if not 1 <= limit <= limit_max:
        raise InvalidRequestError(f"limit is {limit}; choose 1 to {limit_max:,}.")
    if not 0 <= wish.min_score <= 1:
        raise InvalidRequestError(
            f"min_score is {wish.min_score}; choose 0 to 1 (0.5: more likely relevant than not)."
        )
    if filters.since and filters.until and filters.since >= filters.until:
        raise InvalidRequestError(
            f"{name_field('since')} ({filters.since.isoformat()}) is not before "
            f"{name_field('until')} ({filters.until.isoformat()}): nothing can lie between."
        )
    query = asked.text[: limits.QUERY_CHARS_MAX]
    check_text("query", query, limits.QUERY_CHARS_MAX, required=False)
    check_text("category", filters.category, limits.CATEGORY_CHARS_MAX, required=False)
    check_text("key", filters.key, limits.KEY_CHARS_MAX, required=False)
    if "*" in filters.key.removesuffix("*"):
        raise InvalidRequestError(
            f"key is {filters.key!r}; a * stands at its end alone, for all that begin so."
        )
    check_text("branch", filters.branch or "", limits.BRANCH_CHARS_MAX, required=False)
    if len(filters.tags) > limits.TAGS_MAX:
        raise InvalidRequestError(
            f"{len(filters.tags)} tags; the limit is {limits.TAGS_MAX}. Keep the telling ones."
        )
    for tag in filters.tags:
        check_text("a tag", tag, limits.TAG_CHARS_MAX)
    check_phase(filters.phase)


async def _find_local(workspace: Workspace, asked: _Query, view: View) -> SearchResults:
    matches = await find_local(workspace, asked.text, view, asked.filters, asked.ranked)
    matches = await put_elsewhere_behind(matches, view)
    if not matches.question.every:
        return SearchResults([], mode="words+table", notes=(_NO_WORDS,))
    ranked = [place for place in matches.ranked if place.score >= asked.wish.min_score]
    if asked.wish.diverse:
        ranked = select_diverse(
            ranked, matches.fields, asked.limit, matches.wholes, last=matches.away
        )
    notes = matches.notes
    if matches.ranked and not ranked:
        best = max(place.score for place in matches.ranked)
        notes += (
            f"The best of what was found scores {best}; min_score is {asked.wish.min_score}.",
        )
    if not ranked:
        notes += await _explain_filters(workspace, asked.filters, view)
    hits, unreadable = await load_by_truth(
        workspace, matches, ranked, asked.text, view, filters=asked.filters, limit=asked.limit
    )
    mode, degraded = matches.mode, matches.degraded
    return SearchResults(hits, mode=mode, notes=notes, unreadable=unreadable, degraded=degraded)


async def _explain_filters(workspace: Workspace, filters: Filters, view: View) -> tuple[str, ...]:
    """Why the filters alone leave nothing over; nothing if they do not."""
    if filters == Filters() or not await _match_nothing(workspace, filters, view):
        return ()
    rest = replace(filters, branch=None)
    if filters.branch is None or await _match_nothing(workspace, rest, view):
        return (_NO_SUCH,)
    there = address(
        "A session on that branch sees it.",
        f"`memory-mcp --branch {shlex.quote(filters.branch)} search` looks there.",
    )
    here = workspace.caller.branch
    return (
        _NOT_HERE.format(filters.branch, here, there if filters.branch != here else "").strip(),
    )


async def _match_nothing(workspace: Workspace, filters: Filters, view: View) -> bool:
    banks = workspace.banks_of(filters.reach)
    return not any(await gather_all(bank.index.find(view, filters, 1) for bank in banks))


async def _find(workspace: Workspace, asked: _Query, head: Head) -> SearchResults:
    """Search here and, if there is one, in the cloud at once; the cloud has a deadline."""
    view = make_view(workspace, head.timeline)
    if not workspace.mirrored:
        return await _find_local(workspace, asked, view)
    query = asked.text[: limits.REMOTE_QUERY_CHARS_MAX]
    more = replace(asked, limit=max(asked.limit, limits.RESULTS_MAX))
    searching = search_cloud(workspace, head, query, asked.filters, asked.limit)
    async with run_beside(searching) as task:
        local = await _find_local(workspace, more, view)
        cloud = await task
    if cloud.head:  # records were pulled, so what was read before may not hold any more
        local = await _find_local(workspace, more, make_view(workspace, cloud.head.timeline))
    return _fuse(workspace, local, cloud, asked)


def _fuse(
    workspace: Workspace, local: SearchResults, cloud: CloudResults, asked: _Query
) -> SearchResults:
    """Merge the two lists by rank: their scores cannot be compared, and each hit keeps its own."""
    untrusted = " ".join(describe_untrusted_cloud(workspace))
    remote = [hit for hit in cloud.hits if (hit.score or 0) >= asked.wish.min_score]
    hits = {hit.record.id: hit for hit in (*remote, *local.hits)}
    order = fuse_ranks([h.record.id for h in local.hits], [h.record.id for h in remote])
    places = {hit.record.id: hit.place for hit in remote}
    away = list_elsewhere(workspace, (hit.record for hit in hits.values()))
    order.sort(key=lambda id_: id_ in away)
    fused = [replace(hits[id_], place=places.get(id_, "")) for id_ in order]
    best = order_by_truth(asked.text, fused, (), asked.limit, away=away)
    notes = tuple(note for note in local.notes if note != _NO_WORDS or not cloud.ran)
    if cloud.unplaced:
        note = _UNTRUSTED if untrusted else _UNPLACED
        notes += (note.format(cloud.unplaced, untrusted),)
    return replace(
        local,
        hits=best,
        mode=f"{local.mode}+supermemory" if cloud.ran else local.mode,
        notes=notes,
        degraded=" ".join(filter(None, (local.degraded, cloud.degraded))),
    )
