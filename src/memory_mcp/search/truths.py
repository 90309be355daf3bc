"""Orders hits by what holds: a newer statement goes before the one that it brings up to date.

What was decided goes before the talk in which it was. An outdated statement carries the id of its
successor and gives up its place; it is last, unless the question asks for what was or quotes it.
Where the question alone tells that it is outdated, it stays right behind its successor. A rival may
rank too low to be a hit, so the candidates that share words with a hit are read, too.
What does not stand on this commit of git says nothing of what does, nor the other way round.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final

from memory_mcp.domain.deduplication import states_truth
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import CANDIDATES_MAX
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import (
    Candidate,
    Filters,
    Hit,
    RankedCandidate,
    SearchFields,
    View,
)
from memory_mcp.engine.git import list_elsewhere
from memory_mcp.engine.records import load_hits
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.ranking.evidence import QUOTED_MIN
from memory_mcp.ranking.query import list_same_words, matches_filters
from memory_mcp.search.local import Matches
from memory_mcp.search.passages import add_passages
from memory_mcp.text.tables import matches
from memory_mcp.text.truths import (
    Marks,
    answers_anew,
    describe_answers,
    hints_change,
    join_title,
    list_renames,
    mark_truths,
    may_bear,
    mentions_name,
    split_outdated,
    tells_change,
    tells_changes,
    weigh_answers,
    weigh_most,
)
from memory_mcp.words.table import TELLING_MIN, load_word_table
from memory_mcp.words.terms import extract_terms

_SPARE_MAX: Final = 5
"""Hits read beyond the wanted ones where some are outdated: they take their places."""
_COMPARED_MAX: Final = 40
"""Candidates of the question whose terms are compared with those of its hits."""
_RIVALS_MAX: Final = 5
"""Memories read for the sake of the hits alone."""
_SHARE_MIN: Final = 0.3
"""Share of what the terms of the shorter one tell, by which both may speak of the same thing."""
_SAID_MIN: Final = 0.66
"""Share of the terms of a statement that the talk holds in which it was made."""
_CLOSE_MIN: Final = 0.5
"""Share of the best score from which on a hit may answer the same question."""
_ANSWERS_MAX: Final = 8
"""Of the ranked so many may answer the question, though they are not shown."""
_ANSWER_MIN: Final = 0.1
"""Share of the best score below which nothing answers the same question."""
_ANSWERS_FROM: Final = 0.3
"""The logit from which on a later statement answers a question anew."""
_NEAR_SCORE: Final = 0.7
"""What a memory scores that holds the words of a question."""
_ASKED_RARITY: Final = 10.0
_ASKED_MORE_MAX: Final = 0.5
"""So much more of what is asked, by rarity, an older one may hold than what replaces it."""
_RARE_MAX: Final = 20
"""A term that more memories hold does not say of what a statement is."""
_TERMS_MAX: Final = 40
_BODIES_KEPT: Final = 256
"""Those of one search: the words of a hit are asked for with each other hit."""
_RARITIES_KEPT: Final = 8_192
"""A search weighs hundreds of terms, most of which the one before it weighed, too."""
_NONE: Final[Mapping[RecordId, bytes]] = MappingProxyType({})
_NO_FIELDS: Final[Mapping[RecordId, SearchFields]] = MappingProxyType({})


async def load_by_truth(
    workspace: Workspace,
    matches: Matches,
    ranked: Sequence[RankedCandidate],
    query: str,
    view: View,
    *,
    filters: Filters,
    limit: int,
) -> tuple[list[Hit], frozenset[RecordId]]:
    """The best hits with their marks and passages, outdated ones last, and the unreadable ids."""
    hits, unreadable = await load_hits(ranked, matches.home, view, limit)
    if not hits:
        return [], unreadable
    own = {hit.record.id for hit in hits}
    beside = [
        place
        for place in matches.every[:_ANSWERS_MAX]
        if place.id not in own and tells_changes(matches.fields[place.id].outline)
    ]
    rivals = await _find_rivals(matches, [hit.record.id for hit in hits], view)
    home = {**matches.home, **{id_: bank for id_, (_, bank) in rivals.items()}}
    outlines = {id_: each.outline for id_, each in matches.fields.items()}
    outlines |= {id_: each.outline for id_, (each, _) in rivals.items()}

    async def order(hits: Sequence[Hit]) -> list[Hit]:
        bearing = _select_bearing(rivals, [hit.record.id for hit in hits], outlines)
        others = [*(RankedCandidate(id_, 0.0) for id_ in bearing), *beside]
        more, _ = await load_hits(others, home, view, len(others))
        taking = {hit.record.id for hit in more if matches_filters(hit.record, filters)}
        return order_by_truth(
            query, hits, more, limit,
            taking=taking, outlines=outlines, fields=matches.fields,
            away=list_elsewhere(workspace, [hit.record for hit in (*hits, *more)]),
        )  # fmt: skip

    found = await order(hits)
    if any(hit.outdated_by and not hit.by_question for hit in found):  # their places are free
        rest = [place for place in ranked if place.id not in own]
        spare, lost = await load_hits(rest, home, view, _SPARE_MAX)
        found, unreadable = await order([*hits, *spare]), unreadable | lost
    found = [replace(hit, same_words=_list_same_words(query, hit, matches)) for hit in found]
    return add_passages(found, matches, view), unreadable


def _list_same_words(query: str, hit: Hit, matches: Matches) -> tuple[str, ...]:
    fields = matches.fields.get(hit.record.id)
    return list_same_words(query, matches.question, fields) if fields else ()


async def _find_rivals(
    matches: Matches, hits: Sequence[RecordId], view: View
) -> Mapping[RecordId, tuple[SearchFields, MemoryBank]]:
    """The memories that share most terms with one of these hits, and where they rest.

    They are candidates of the question, too, unless it found few: then it may have named the value
    alone, and the other words of the hits are looked up.
    """
    stating = [id_ for id_ in hits if matches.fields[id_].outline]
    if not stating:  # nothing bears on what states nothing
        return {}
    tell = _Telling([matches.fields[id_] for id_ in stating])
    found = {place.id: (matches.fields[place.id], matches.home[place.id])
             for place in matches.ranked[:_COMPARED_MAX]}  # fmt: skip
    if len(matches.ranked) < CANDIDATES_MAX:
        for bank in dict.fromkeys(matches.home[id_] for id_ in stating):
            near = await _look_up(bank, tell.words, view)
            found.update((each.id, (each.fields, bank)) for each in near)
    for id_ in hits:
        found.pop(id_, None)
    shares = {id_: tell.share(its) for id_, (its, _) in found.items() if its.outline}
    likely = sorted((id_ for id_ in shares if shares[id_] >= _SHARE_MIN), key=shares.__getitem__)
    return {id_: found[id_] for id_ in reversed(likely[-_RIVALS_MAX:])}


def _select_bearing(
    rivals: Collection[RecordId], hits: Sequence[RecordId], outlines: Mapping[RecordId, bytes]
) -> list[RecordId]:
    """The rivals whose outlines leave open that they bear on a hit, or on a rival that does."""
    reached, bearing = [*hits], list[RecordId]()
    for one in reached:  # it grows meanwhile
        more = [id_ for id_ in rivals if id_ not in reached]
        more = [id_ for id_ in more if may_bear(outlines[one], outlines[id_])]
        reached += more
        bearing += more
    return bearing


async def _look_up(bank: MemoryBank, terms: Collection[str], view: View) -> Sequence[Candidate]:
    corpus = await bank.index.corpus(terms, view)
    rising = sorted((n, term) for term, n in corpus.counts.items() if 1 < n <= _RARE_MAX)
    rare = [term for _, term in rising[:_TERMS_MAX]]
    return await bank.index.match(rare, corpus, view, Filters(), _COMPARED_MAX) if rare else ()


class _Telling:
    """What each telling word of some hits tells in each of them, and what they tell together."""

    def __init__(self, hits: Sequence[SearchFields]) -> None:
        bodies = [_split(each) for each in hits]
        self._wholes = [_weigh(body) or 1.0 for body in bodies]
        self._rows: dict[str, list[float]] = {}
        for place, body in enumerate(bodies):
            for word in body:
                if rarity := _tell_rarity(word):
                    self._rows.setdefault(word, [0.0] * len(bodies))[place] = rarity

    @property
    def words(self) -> Collection[str]:
        return self._rows.keys()

    def share(self, fields: SearchFields) -> float:
        """The most that a text shares with a hit, of what the shorter of the two tells."""
        words = _split(fields)
        rows = [self._rows[word] for word in words if word in self._rows]
        if not rows:
            return 0.0
        shared = [*map(sum, zip(*rows, strict=True))]
        pairs = zip(shared, self._wholes, strict=True)
        return max([max(shared) / _weigh(words), *[told / whole for told, whole in pairs]])


def _weigh(words: Iterable[str]) -> float:
    """What these words tell together."""
    return sum(map(_tell_rarity, words))


@lru_cache(maxsize=_RARITIES_KEPT)
def _tell_rarity(term: str) -> float:
    """How telling a term is; 0 if most texts hold it."""
    rarity = load_word_table().get_rarity(term)
    return rarity if rarity >= TELLING_MIN else 0.0


def _split(fields: SearchFields) -> frozenset[str]:
    return _split_body(fields.body)


@lru_cache(maxsize=_BODIES_KEPT)
def _split_body(body: str) -> frozenset[str]:
    return frozenset(body.split())


def mark_hits(
    hits: Sequence[Hit],
    query: str = "",
    outlines: Mapping[RecordId, bytes] = _NONE,
    fields: Mapping[RecordId, SearchFields] = _NO_FIELDS,
    away: Collection[RecordId] = (),
) -> list[Hit]:
    """The hits in their order, with what the others of them say of each.

    Those that are `away` and the others say nothing of each other.
    """
    scores: dict[RecordId, float] = {}
    for hit in hits if query else ():  # one of the cloud's has only a score
        if agreed := hit.score if hit.agreement is None else hit.agreement:
            scores[hit.record.id] = agreed
    best = max(scores.values(), default=0.0)
    asked = frozenset(extract_terms(query))
    hints = cache(hints_change)  # of each with every older one

    def replaces(older: Record, newer: Record) -> bool:
        if min(scores.get(each.id, 0.0) for each in (older, newer)) < _ANSWER_MIN * best:
            return False
        old, new = join_title(older, newer), join_title(newer, older)
        pair = scores[older.id], scores[newer.id], best
        if not (older.id in fields and newer.id in fields):
            anew = min(pair) >= _CLOSE_MIN * best and answers_anew(query, old, new)
        elif tells_changes(fields[newer.id].outline) or hints(new):
            near = describe_nearness(asked, fields[older.id], fields[newer.id], pair)
            if weigh_most(near) < _ANSWERS_FROM:  # mostly, and it spares to read them
                return False
            told = describe_answers(query, old, new) | near
            anew = tells_change(told) and weigh_answers(told) >= _ANSWERS_FROM
        else:
            return False
        return anew and not _asks_for_the_old(asked, old, new)

    here = [hit.record for hit in hits if hit.record.id not in away]
    others = [hit.record for hit in hits if hit.record.id in away]
    marks = [mark_truths(each, replaces if scores else None, outlines) for each in (here, others)]
    return [_mark(hit, marks[hit.record.id in away]) for hit in hits]


def may_replace(older: Record, newer: Record, old: SearchFields, new: SearchFields) -> bool:
    """Whether a search marks the older one if it asks for what both speak of, as near to both."""
    scores = _NEAR_SCORE, _NEAR_SCORE, _NEAR_SCORE
    near = describe_nearness(_split(old) & _split(new), old, new, scores)
    told = describe_answers("", join_title(older, newer), join_title(newer, older)) | near
    return tells_change(told) and weigh_answers(told) >= _ANSWERS_FROM


def _asks_for_the_old(asked: frozenset[str], old: str, new: str) -> bool:
    """Whether the older one is what is asked for, though the newer one may change some of it.

    It alone holds more of what is asked, or a part of it still holds: then the whole is not over.
    """
    if split_outdated(old, new) is not None:
        return True
    return _compare_asked(asked, old, new) > _ASKED_MORE_MAX


def _compare_asked(asked: frozenset[str], one: str, other: str) -> float:
    """How much more of what is asked one text holds than another, by how rare that is."""
    ours, theirs = (asked & frozenset(extract_terms(text)) for text in (one, other))
    return _tell(ours - theirs) - _tell(theirs - ours)


def _tell(terms: Collection[str]) -> float:
    table = load_word_table()
    return sum(table.get_rarity(term) for term in sorted(terms)) / _ASKED_RARITY


def describe_nearness(
    asked: frozenset[str],
    old: SearchFields,
    new: SearchFields,
    scores: tuple[float, float, float],
) -> dict[str, float]:
    """How near two answers are to the terms of the query and to each other.

    `scores` are those of the earlier and of the later one, and the best of all.
    """
    earlier, later, best = scores
    theirs, ours = _split(old), _split(new)
    less = min(_weigh(theirs), _weigh(ours)) or 1.0
    every = _tell(asked) or 1.0
    of_new, of_old = _tell(asked & ours - theirs), _tell(asked & theirs - ours)
    return {
        "old of best": earlier / (best or 1.0),
        "new of best": later / (best or 1.0),
        "old score": earlier,
        "new score": later,
        "shared": _weigh(theirs & ours) / less,
        "asked of the new": of_new,
        "asked of the old": of_old,
        "asked both": _tell(asked & theirs & ours) / every,
        "asked none": _tell(asked - theirs - ours) / every,
        "asked new share": of_new / every,
        "asked old share": of_old / every,
        "new told": _tell(asked & ours) / (_tell(ours) or 1.0),
        "new rest": _tell(ours - asked - theirs),
        "old rest": _tell(theirs - asked - ours),
    }


def order_by_truth(
    query: str,
    hits: Sequence[Hit],
    others: Sequence[Hit],
    limit: int,
    *,
    taking: Collection[RecordId] = (),
    outlines: Mapping[RecordId, bytes] = _NONE,
    fields: Mapping[RecordId, SearchFields] = _NO_FIELDS,
    away: Collection[RecordId] = (),
) -> list[Hit]:
    """The best hits with their marks, outdated ones last but for one that the query quotes.

    What is outdated by the question alone keeps its place, behind what brings it up to date.
    Those of the others that are in `taking` may take the place of one that they bring up to date.
    """
    own = {hit.record.id: hit for hit in hits}
    together = {**{hit.record.id: hit for hit in others}, **own}
    every = mark_hits(list(together.values()), query, outlines, fields, away)
    marked = {hit.record.id: hit for hit in every}
    found = [marked[id_] for id_ in own]
    if matches("truths", "asks_past", query.casefold()):
        there = [hit for hit in every if hit.record.id in own or hit.record.id in taking]
        found = _put_former_first(found, there) if asks_for_former(query) else found
        return _put_talk_last(found)[:limit]
    given_up = {
        hit.record.id: newest
        for hit in found
        if (newest := hit.outdated_by) and not _is_quoted(query, hit, marked.get(newest))
    }
    holding: dict[RecordId, Hit] = {}
    for hit in found:
        holder = given_up.get(hit.record.id, hit.record.id)
        if holder in own or holder in taking:
            holding.setdefault(holder, _take_score(marked[holder], hit))
        if hit.by_question:
            holding.setdefault(hit.record.id, hit)
    outdated = [hit for hit in found if hit.record.id in given_up and not hit.by_question]
    beside = [hit for hit in every if hit.record.id in taking and not hit.outdated_by]
    told = _put_renames_beside(_put_talk_last(list(holding.values())), beside)
    return [*told, *outdated][:limit]


def _put_renames_beside(found: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    """The hits, behind each of them what says that something in it is called otherwise now."""
    renames = {hit.record.id: list_renames(hit.record.content) for hit in others}
    known = {hit.record.id for hit in found}
    placed: list[Hit] = []
    for hit in found:
        placed.append(hit)
        for other in others:
            told = (mentions_name(hit.record.content, each) for each in renames[other.record.id])
            if other.record.id not in known and any(told):
                known.add(other.record.id)
                placed.append(replace(other, score=hit.score))
    return placed


def asks_for_former(query: str) -> bool:
    """Whether a question asks for what was in the place of what is."""
    return matches("truths", "asks_former", query.casefold())


def _put_former_first(found: Sequence[Hit], every: Sequence[Hit]) -> list[Hit]:
    """The hits, each behind all that it brings up to date, the last of them first."""
    placed: dict[RecordId, Hit] = {}
    for hit in found:
        holding = hit.outdated_by or hit.record.id
        older = [each for each in every if each.outdated_by == holding]
        for each in sorted(older, key=lambda each: each.record.created_at, reverse=True):
            score = max(each.score or 0.0, hit.score or 0.0)
            placed.setdefault(each.record.id, replace(each, score=score))
        placed.setdefault(hit.record.id, hit)
    return list(placed.values())


def _take_score(newer: Hit, hit: Hit) -> Hit:
    """The newer one with the score of the hit that it stands for, and what that adds to its own."""
    if (hit.score or 0.0) <= (newer.score or 0.0):
        return newer
    gain = sum(hit.parts.values()) - sum(newer.parts.values())
    parts = {**newer.parts, "newer": gain} if hit.parts else newer.parts
    return replace(newer, score=hit.score, parts=parts)


def _is_quoted(query: str, old: Hit, new: Hit | None) -> bool:
    """Whether the query has its terms in a row from the old statement, and not from the new one."""
    row = extract_terms(query)

    def holds(hit: Hit) -> bool:
        return f" {' '.join(row)} " in f" {' '.join(extract_terms(hit.record.content))} "

    return len(row) >= QUOTED_MIN and holds(old) and not (new and holds(new))


def _put_talk_last(hits: list[Hit]) -> list[Hit]:
    """The hits, each episode behind the statements that its session made of it."""
    for talk in [hit for hit in hits if hit.record.kind == "episode"]:
        at = hits.index(talk)
        made = [hit for hit in hits[at + 1 :] if _is_made_of(hit.record, talk.record)]
        rest = [hit for hit in hits[at + 1 :] if hit not in made]
        raised = [replace(hit, score=talk.score) for hit in made]
        hits = [*hits[:at], *raised, talk, *rest]
    return hits


def _is_made_of(record: Record, talk: Record) -> bool:
    """Whether the session of an episode also stated this, in words of the episode."""
    if record.origin.session != talk.origin.session or not states_truth(record):
        return False
    terms, said = set(extract_terms(record.content)), set(extract_terms(talk.content))
    return len(terms & said) >= _SAID_MIN * len(terms) > 0


def _mark(hit: Hit, marks: Marks) -> Hit:
    if hit.record.id not in marks.outdated and hit.record.id not in marks.disputed:
        return hit
    return replace(
        hit,
        outdated_by=marks.outdated.get(hit.record.id, hit.outdated_by),
        by_question=hit.record.id in marks.by_question,
        disputed_with=marks.disputed.get(hit.record.id, hit.disputed_with),
    )
