"""Finding what holds."""

from dataclasses import dataclass, replace
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.normalise import normalised
from memory_mcp.domain.outcomes import SearchResults, Skipped
from memory_mcp.domain.record import Kind
from memory_mcp.domain.search import Filters, Hit, SelectionOptions, View
from memory_mcp.domain.sessions import ContextSettings
from memory_mcp.engine.head import current, view_of, view_on
from memory_mcp.engine.pending import kept_out, unseen
from memory_mcp.engine.reading import beside, hits_of, newest, require_records, together
from memory_mcp.engine.workspace import Workspace, reads_refused
from memory_mcp.errors import InvalidRequestError
from memory_mcp.profile.sync import standing_hits
from memory_mcp.ranking.order import fuse_ranks, select_diverse
from memory_mcp.search.find import find_here
from memory_mcp.search.recall import Recalled, recall
from memory_mcp.text.drafts import check_phase, check_text
from memory_mcp.text.secrets import redact
from memory_mcp.timeline.plans import require_branch
from memory_mcp.trust.strangers import (
    as_project,
    mention_strangers,
    present_strangers,
    view_on_strangers,
    with_strangers_hits,
)

_UNPLACED = (
    "{} matching memories of another machine are not shown: they, or the line they were written "
    "on, are not here yet. Repeat in a moment, or run `memory-mcp sync --pull`."
)
_UNTRUSTED = "{} matching memories of another machine are not shown. {}"

_NO_WORDS = (
    "The query holds no word to look for. Ask with words, or with none at all for the newest."
)

_NO_SUCH: Final = (
    "The filters alone leave nothing over, whatever is asked: check how they are spelt."
)

_USUAL: Final = SelectionOptions()

_LIKELY: Final = SelectionOptions(min_score=0.1)
"""What is hardly meant by a task must not take the room of what always matters."""


@dataclass(frozen=True)
class _Question:
    """One search: words, of which records, how many, and how they are chosen."""

    text: str
    filters: Filters
    limit: int
    wish: SelectionOptions
    ranked: int = limits.CANDIDATES_MAX


async def search_memories(
    workspace: Workspace, query: str, filters: Filters, limit: int, wish: SelectionOptions = _USUAL
) -> SearchResults | Skipped:
    """The visible memories that match best; without a query, the newest.

    Raises:
        InvalidRequestError: `limit` is out of range, or a filter is nothing a record can hold.
        UnknownTargetError: there is no such branch; the message names those there are.
        IndexBusyError: the index does not answer; that is no statement about the memories.
        StoreUnavailableError: nothing can be found because the records' folder is not there.
    """
    if skipped := reads_refused(workspace):
        return skipped
    query = _said(workspace, query)
    _check(query, filters, limit, wish)
    timeline = (await current(workspace)).timeline
    if filters.branch is not None:
        require_branch(timeline, filters.branch)
    view = view_on(workspace, timeline)
    if not query.strip():
        read = await newest(workspace, view, filters, limit)
        hits = [Hit(record, 1.0) for record in read.records]
        notes = await unseen(workspace)
        found = SearchResults(hits, mode="newest", notes=notes, unreadable=read.unreadable)
    else:
        found = await _asked(workspace, _Question(query, filters, limit, wish), view)
    found = await _with_strangers(workspace, found, _Question(query, filters, limit, wish))
    if filters.includes_profile:
        found = replace(found, hits=await standing_hits(workspace, found.hits, view))
    if not found.hits:
        await require_records(workspace, view)
    return found


async def recalled_for(
    workspace: Workspace, task: str, kinds: frozenset[Kind], opening: ContextSettings
) -> SearchResults:
    """What is known of these kinds that a task needs, best first.

    Of `topk` candidates that are ranked, `topn` at most.

    Raises:
        InvalidRequestError: the task is nothing that could be looked for.
    """
    task = _said(workspace, task)
    filters = Filters(kinds=kinds)
    check_text("task", task[: limits.QUERY_CHARS_MAX], limits.QUERY_CHARS_MAX, required=False)
    asked = _Question(task, filters, opening.topn, _LIKELY, ranked=opening.topk)
    return await _asked(workspace, asked, await view_of(workspace))


def _said(workspace: Workspace, query: str) -> str:
    """The question as others may see it, if it leaves this machine."""
    if workspace.asks_elsewhere and workspace.policy.secrets != "allow":
        return redact(normalised(query)).text
    return query


async def _asked(workspace: Workspace, asked: _Question, view: View) -> SearchResults:
    look = _here_and_there if workspace.mirrored else _here
    return await look(workspace, asked, view)


async def _with_strangers(
    workspace: Workspace, found: SearchResults, asked: _Question
) -> SearchResults:
    """What came with a repository that is not trusted is found too, and marked."""
    notes = await mention_strangers(workspace)
    strangers = await present_strangers(workspace)
    if strangers is None or not strangers.searchable or asked.filters.reach == "user":
        return replace(found, notes=(*found.notes, *notes))
    there = as_project(workspace, strangers)
    view = view_on_strangers(workspace, strangers)
    asked = replace(asked, filters=replace(asked.filters, reach="project", branch=None))
    if asked.text.strip():
        theirs = (await _here(there, asked, view)).hits
    else:
        read = await newest(there, view, asked.filters, asked.limit)
        theirs = [Hit(record, 1.0) for record in read.records]
    hits = with_strangers_hits(list(found.hits), list(theirs), asked.limit)
    return replace(found, hits=hits, notes=(*found.notes, *notes))


def _check(query: str, filters: Filters, limit: int, wish: SelectionOptions) -> None:
    """Refuse what no record can hold: the index would choke on it, or find nothing."""
    if not 1 <= limit <= limits.RESULTS_MAX:
        raise InvalidRequestError(f"limit is {limit}; choose 1 to {limits.RESULTS_MAX}.")
    if not 0 <= wish.min_score <= 1:
        raise InvalidRequestError(
            f"min_score is {wish.min_score}; choose 0 to 1 (0.5: more likely relevant than not)."
        )
    if filters.since and filters.until and filters.since >= filters.until:
        raise InvalidRequestError(
            f"since ({filters.since.isoformat()}) is not before until "
            f"({filters.until.isoformat()}): nothing can lie between."
        )
    asked = query[: limits.QUERY_CHARS_MAX]
    check_text("query", asked, limits.QUERY_CHARS_MAX, required=False)
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


async def _here(workspace: Workspace, asked: _Question, view: View) -> SearchResults:
    matches = await find_here(workspace, asked.text, view, asked.filters, asked.ranked)
    if not matches.terms:
        return SearchResults([], mode="lexical", notes=(_NO_WORDS,))
    ranked = [place for place in matches.ranked if place.score >= asked.wish.min_score]
    if asked.wish.diverse:
        ranked = select_diverse(ranked, matches.fields, asked.limit, matches.wholes)
    notes = matches.notes
    if matches.ranked and not ranked:
        best = matches.ranked[0].score
        notes += (
            f"The best of what was found scores {best}; min_score is {asked.wish.min_score}.",
        )
    if not ranked and await _nothing_passes(workspace, asked.filters, view):
        notes += (_NO_SUCH,)
    hits, unreadable = await hits_of(ranked, matches.home, view, asked.limit)
    return SearchResults(
        hits,
        mode=matches.mode,
        notes=notes,
        unreadable=unreadable,
        degraded=matches.degraded,
    )


async def _nothing_passes(workspace: Workspace, filters: Filters, view: View) -> bool:
    """Whether the filters alone leave nothing over: a mistyped one looks like that."""
    if filters == Filters():
        return False
    pools = workspace.pools_of(filters.reach)
    return not any(await together(pool.index.count(view, filters) for pool in pools))


async def _here_and_there(workspace: Workspace, asked: _Question, view: View) -> SearchResults:
    """Both start together. The cloud has its deadline; what is here never depends on it."""
    shortened = asked.text[: limits.REMOTE_QUERY_CHARS_MAX]
    more = replace(asked, limit=max(asked.limit, limits.RESULTS_MAX))
    async with beside(recall(workspace, shortened, asked.filters, asked.limit)) as asking:
        here = await _here(workspace, more, view)
        there = await asking
    if there.looked:  # another machine's moves may have come in
        here = await _here(workspace, more, await view_of(workspace))
    return _fused(here, there, asked, " ".join(kept_out(workspace)))


def _fused(here: SearchResults, there: Recalled, asked: _Question, shut: str) -> SearchResults:
    """One list by rank: scores of the two cannot be compared. Each hit keeps that of its source."""
    remote = [hit for hit in there.hits if hit.score >= asked.wish.min_score]
    hits = {hit.record.id: hit for hit in (*remote, *here.hits)}
    order = fuse_ranks([h.record.id for h in here.hits], [h.record.id for h in remote])
    places = {hit.record.id: hit.place for hit in remote}
    best = [replace(hits[id_], place=places.get(id_, "")) for id_ in order[: asked.limit]]
    notes = tuple(note for note in here.notes if note != _NO_WORDS or not there.ran)
    if there.unplaced:
        said = _UNTRUSTED if shut else _UNPLACED
        notes += (said.format(there.unplaced, shut),)
    return replace(
        here,
        hits=best,
        mode=f"{here.mode}+supermemory" if there.ran else here.mode,
        notes=notes,
        degraded=" ".join(filter(None, (here.degraded, there.degraded))),
    )
