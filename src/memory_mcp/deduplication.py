"""Decides whether a new memory is known already, and what becomes of the two if it is.

Candidates are found by words, by words of the same topics and, with a model of our own, by meaning.
Only an embedder on this machine is asked: a write waits for no network. The likeliest to be brought
up to date are read by the rules, and named to whoever wrote the new memory: a language model that
reads them can tell what no rule here can. What does not stand on this commit of git is named and no
more: it may never come here, and holds where it stands.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from math import log
from typing import Final, NamedTuple

from memory_mcp.domain.deduplication import (
    Different,
    DuplicateDecision,
    Extended,
    Insert,
    Merge,
    MergePolicy,
    Refuse,
    Restated,
    Skip,
    Unsure,
    Updated,
    Verdict,
    choose_band,
    find_rejection,
    is_comparable,
    makes_superfluous,
    rank_holding,
    states_truth,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import SimilarMemory
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Filters,
    QueryVectors,
    SearchFields,
    Stated,
    View,
)
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.git import find_mark, select_here
from memory_mcp.engine.records import gather_all, load_records
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import ModelUnavailableError, StoreError
from memory_mcp.frozen import frozen
from memory_mcp.hints import name_step
from memory_mcp.learnt import Features
from memory_mcp.ranking.analysis import make_encoder_text
from memory_mcp.ranking.query import select_rarest
from memory_mcp.text.merge import (
    Statement,
    compare_facts,
    compose,
    find_replaced_value,
    keeps_content,
    score_similarity,
)
from memory_mcp.text.merge.reading import words
from memory_mcp.text.merge.spelling import corrects_case
from memory_mcp.text.sentences import split_lines
from memory_mcp.text.truths import (
    Disputes,
    Independent,
    Outdates,
    Related,
    Truth,
    compare_records,
    compare_statements,
    find_contradicted,
    join_title,
    list_other_values,
    mark_truths,
    may_exclude,
    may_relate,
    says_change,
)
from memory_mcp.text.truths.updates import (
    WORDS,
    describe_new,
    describe_updates,
    estimate_updates,
    list_readers,
    list_topic_terms,
)
from memory_mcp.words.table import TELLING_MIN, load_word_table
from memory_mcp.words.terms import extract_terms

_EXACT_MATCHES_MAX: Final = 10
_ODDS_MIN: Final = 0.03
"""From these odds on that the new memory brings it up to date one is named, whatever the rules say
of it: a newer value in silence is never found, and one named in vain is a line to read."""
_ODDS_SHARE_MIN: Final = 0.03
"""And from this share of the best odds on: where one fits well, no others are guessed."""
_NAMED_TERMS_MIN: Final = 2
"""Of fewer terms the figures know nothing: they were learnt from sentences."""
SIMILAR_MAX: Final = 3
"""How many memories the caller is asked to compare: more is work, fewer misses some."""
_UNKNOWN_CHANGE: Final = (
    "It says that something changed, and no memory was recognised as what held before. Search for "
    "one with the older value. If there is one, call {} with this and all else that one says; "
    "otherwise nothing is to do."
)
_BY_MODEL: Final = "the language model says so"

_TERMS_MAX: Final = 10
"""Of a longer statement the longest words: the same fact has them as well, and they are rare."""
_TERMS_MIN: Final = 2
_MATCHES_MAX: Final = 200
"""Terms are searched, the rarest first, until together they are in so many memories."""
_CANDIDATES_FACTOR: Final = 4
"""How many are looked up for each that is wanted, which are the likeliest of them: what the new one
brings up to date may share no word with it."""
_SHARED_WEIGHT_MIN: Final = 0.25
"""Share of the new statement's terms, weighed by how rare they are."""
_SHARED_TERMS_MIN: Final = 0.5
"""Share of the old statement's terms."""
_COSINE_MIN: Final = 0.6


_NOTHING: Final = Independent("they were not compared")


@frozen
class DuplicateCandidate:
    """A visible memory that may be the same fact, with its score (0-1) and both as statements.

    `comparable`: one may take the place of the other. `truth` is what the new one makes of it.
    `likelihood` (0-1) says how likely the new one brings it up to date; None: not worth naming.
    """

    record: Record
    score: float
    old: Statement
    new: Statement
    comparable: bool = True
    truth: Truth = _NOTHING
    likelihood: float | None = None

    @property
    def overlap(self) -> bool:
        """Whether they share a word or a number."""
        return not set(self.old.terms).isdisjoint(self.new.terms)


class ExactMatches(NamedTuple):
    """The records that say a statement; and what its bank has of it, unless that is unknown.

    The latter is needed to store the statement once.
    """

    records: list[Record]
    stated: Stated | None


async def find_exact_matches(
    workspace: Workspace, bank: MemoryBank, new: Record, view: View
) -> ExactMatches:
    """The visible memories that say exactly this statement, and the tombstones of any bank.

    What the user keeps for themselves no other member of a team has rejected. A bank that cannot be
    read adds nothing: it must not keep a memory from being stored.
    """
    found = await gather_all(_find_exact(each, new, view) for each in workspace.banks)
    records = [
        record
        for each, matches in zip(workspace.banks, found, strict=True)
        for record in matches.records
        if each is bank or (record.kind == "tombstone" and _may_reject(record, new))
    ]
    return ExactMatches(records, found[workspace.banks.index(bank)].stated)


def _may_reject(tombstone: Record, new: Record) -> bool:
    return new.scope.reach != "user" or tombstone.scope.user == new.scope.user


async def _find_exact(bank: MemoryBank, new: Record, view: View) -> ExactMatches:
    try:
        stated = await bank.index.find_stated(view, new.statement, _EXACT_MATCHES_MAX)
    except StoreError:
        return ExactMatches([], None)
    return ExactMatches(await load_records(bank, stated.ids), stated)


async def decide_duplicate(
    workspace: Workspace,
    bank: MemoryBank,
    new: Record,
    matches: Sequence[Record],
    *,
    view: View,
    until: float,
) -> DuplicateDecision:
    """What becomes of a memory that is not stored yet; `matches` are its exact matches.

    A language model, if there is one, has `until` then to answer (the event loop's time).
    """
    tombstone = find_rejection(select_here(workspace, matches))
    if tombstone is not None and tombstone.id not in new.supersedes:
        return Refuse(tombstone)
    same = [r for r in matches if r.id not in new.supersedes and makes_superfluous(r, new)]
    same = [record for record in same if not corrects_case(record.content, new.content)]
    known = select_here(workspace, same)[:1]
    tombstones = {record.id for record in matches if record.kind == "tombstone"}
    decision: Skip | Insert | Merge = Skip(known[0]) if known else Insert()
    found: list[DuplicateCandidate] = []
    compared = False
    if not set(new.supersedes) - tombstones:  # else the caller has judged already
        try:
            found = await find_candidates(bank, new, view, workspace.policy.merging)
            candidates = [each for each in found if find_mark(workspace, each.record) is None]
            if not known or _is_contradicted(known[0], candidates):
                decision = await _compare(workspace, new, candidates, view, until)
                compared = True
        except StoreError as error:  # what cannot be compared is stored
            if not known:
                decision = Insert(notes=(f"It was not compared with what is known: {error}",))
    elif known:  # both, it and what the caller names, give way to it
        decision = Merge(tuple(known), new.content)
    if isinstance(decision, Skip):
        return decision
    elsewhere = _name_elsewhere(workspace, same, found)
    other = await _name_of_other_scope(workspace, bank, new, view)
    if compared and isinstance(decision, Insert) and not (decision.similar or other):
        decision = replace(decision, notes=_note_unknown_change(new))
    return replace(decision, similar=(*decision.similar, *elsewhere, *other))


async def _compare(
    workspace: Workspace,
    new: Record,
    candidates: Sequence[DuplicateCandidate],
    view: View,
    until: float,
) -> Skip | Insert | Merge:
    """What becomes of a memory by the candidates that stand on this commit.

    What is known and was contradicted since is renewed: said again, it is the newest word. What it
    spells otherwise gives way.
    """
    spelt = [
        each.record
        for each in candidates
        if each.comparable and corrects_case(each.record.content, new.content)
    ]
    if spelt and all(record.scope.user == new.scope.user for record in spelt):
        return Merge(tuple(spelt), new.content, contradicts=True)
    judged = await _judge_candidates(workspace, candidates, view, until)
    for candidate, verdict in judged:
        if isinstance(verdict, Restated) and not _is_contradicted(candidate.record, candidates):
            return Skip(candidate.record)
    return await _merge_same_facts(workspace, new, candidates, judged, until)


def _is_contradicted(known: Record, candidates: Iterable[DuplicateCandidate]) -> bool:
    """Whether a later one of these brings it up to date, or disputes it, or may do so.

    Where no rule can tell, that the older one is said again after it does.
    """
    for record in (each.record for each in candidates):
        if (record.moment, record.id) > (known.moment, known.id):
            marks = mark_truths([known, record])
            if marks.outdated or marks.disputed or _may_exclude(known, record):
                return True
    return False


def _may_exclude(known: Record, later: Record) -> bool:
    if not (states_truth(known) and states_truth(later)) or known.holds_with(later):
        return False
    return may_exclude(join_title(known, later), join_title(later, known))


def _name_elsewhere(
    workspace: Workspace, same: Iterable[Record], found: Iterable[DuplicateCandidate]
) -> list[SimilarMemory]:
    """The nearest that do not stand on this commit, each with the word for that."""
    near = [(each.record, max(each.score, each.likelihood or 0.0)) for each in found]
    named = {
        record.id: SimilarMemory(record, score, "elsewhere", str(mark))
        for record, score in [*near, *((each, 1.0) for each in same)]
        if (mark := find_mark(workspace, record))
    }
    return sorted(named.values(), key=lambda each: -each.score)[:SIMILAR_MAX]


def _note_unknown_change(new: Record) -> tuple[str, ...]:
    """The sentence about what says that something changed, where nobody knows of what."""
    if not (states_truth(new) and says_change(new.content)):
        return ()
    step = name_step("update_memory", memory_id=..., content=...)
    return (_UNKNOWN_CHANGE.format(step),)


async def _name_of_other_scope(
    workspace: Workspace, bank: MemoryBank, new: Record, view: View
) -> list[SimilarMemory]:
    """What is kept for every project and contradicts what is said of this one.

    A bank that cannot be read names nothing: it must not keep a memory from being stored.
    """
    named: list[SimilarMemory] = []
    for each in (other for other in workspace.banks if other is not bank):
        try:
            found = await find_candidates(each, new, view, workspace.policy.merging)
        except StoreError:
            continue
        for old in (old for old in found if find_mark(workspace, old.record) is None):
            if new.scope.reach == old.record.scope.reach or old.record.id in new.supersedes:
                continue
            own = "user" in (new.scope.reach, old.record.scope.reach)
            match compare_records(*sorted((old.record, new), key=rank_holding)):
                case Outdates(reason):
                    relation = "scope" if own else "outdated"
                    named.append(SimilarMemory(old.record, old.score, relation, reason))
                case Disputes(reason):
                    named.append(SimilarMemory(old.record, old.score, "disputed", reason))
                case _:
                    pass
    return named[:SIMILAR_MAX]


async def _merge_same_facts(
    workspace: Workspace,
    new: Record,
    candidates: Sequence[DuplicateCandidate],
    judged: Sequence[tuple[DuplicateCandidate, Verdict]],
    until: float,
) -> Skip | Insert | Merge:
    """All memories that are the same fact become one with the new one; rivals are named."""
    merged: list[Record] = []
    text, contradicts = new.content, False
    # the newest first: where two old ones differ, the newer one of them counts
    for candidate, verdict in sorted(judged, key=lambda pair: pair[0].record.id, reverse=True):
        old = candidate.record
        composed = None
        if isinstance(verdict, Different):
            continue
        if not (
            isinstance(verdict, Unsure) and candidate.score < workspace.policy.merging.auto_update
        ):
            composed = await _compose(workspace, candidate, text, verdict, until)
        if merged and composed and not _holds_all(composed, compose(old.content, new.content)):
            continue  # they differ in something else, and which of them is newer is lost
        if composed != text and old.scope.user != new.scope.user:
            continue  # a member's words would pass for another's own
        if composed is not None:
            merged.append(old)
            text, contradicts = composed, contradicts or isinstance(verdict, Updated)
    says_all = [text] == [old.content for old in merged]
    if says_all and not _is_contradicted(merged[0], candidates):
        return Skip(merged[0])
    left = [each for each in candidates if each.record not in merged]
    verdicts = {candidate.record.id: verdict for candidate, verdict in judged}
    similar = await _describe_rivals(workspace, left, verdicts, until)
    if contradicts or any(each.relation != "similar" for each in similar):
        similar = _drop_unrelated(similar, left)
    if merged:
        return Merge(tuple(merged), text, contradicts, similar)
    return Insert(similar)


async def _describe_rivals(
    workspace: Workspace,
    candidates: Sequence[DuplicateCandidate],
    judged: Mapping[RecordId, Verdict],
    until: float,
) -> tuple[SimilarMemory, ...]:
    """The memories that stay beside the new one and may not hold any more, the surest first."""
    found: list[SimilarMemory] = []
    for each in candidates:
        truth, verdict = each.truth, judged.get(each.record.id)
        named = each.likelihood is not None
        if named and verdict is None and isinstance(truth, Related | Independent):
            verdict = await _ask_model(workspace, each, until)
        match verdict:
            case Updated(reason) if not isinstance(truth, Disputes):
                truth = Outdates(reason)
            case Unsure() | Extended():
                named = True
            case Different():
                continue
            case _:
                pass
        match truth:
            case Outdates(reason):
                found.append(SimilarMemory(each.record, each.score, "outdated", reason))
            case Disputes(reason):
                found.append(SimilarMemory(each.record, each.score, "disputed", reason))
            case Related() | Independent() if named:
                found.append(SimilarMemory(each.record, each.likelihood or each.score))
            case Related() | Independent():
                pass
    found.sort(key=lambda each: (each.relation == "similar", -each.score))
    return tuple(found[:SIMILAR_MAX])


def _drop_unrelated(
    similar: Iterable[SimilarMemory], candidates: Iterable[DuplicateCandidate]
) -> tuple[SimilarMemory, ...]:
    """Without those that share no telling word: what changed is known, so nothing is guessed."""
    table = load_word_table()
    sharing = {
        each.record.id
        for each in candidates
        if any(
            table.get_rarity(term) >= TELLING_MIN
            for term in {*each.new.terms} & {*each.old.terms} - words("dropped")
        )
    }
    return tuple(s for s in similar if s.relation != "similar" or s.record.id in sharing)


def _holds_all(whole: str, text: str | None) -> bool:
    """Whether each sentence of a text is in the whole."""
    return text is not None and set(split_lines(text)) <= set(split_lines(whole))


async def _judge_candidates(
    workspace: Workspace, candidates: Sequence[DuplicateCandidate], view: View, until: float
) -> list[tuple[DuplicateCandidate, Verdict]]:
    """The candidates that may be the same fact, the most similar first, each with its verdict.

    What the rule calls another fact is one, whatever the language model says.
    """
    merging = workspace.policy.merging
    judged: list[tuple[DuplicateCandidate, Verdict]] = []
    for place, each in enumerate(each for each in candidates if each.comparable):
        band = choose_band(
            each.score, place, each.record, overlap=each.overlap, merging=merging, now=view.now
        )
        verdict = compare_facts(each.new, each.old)
        if band == "apart" or isinstance(verdict, Different):
            continue
        if band == "judge":
            verdict = await _ask_model(workspace, each, until) or verdict
        judged.append((each, verdict))
    return judged


async def _ask_model(
    workspace: Workspace, candidate: DuplicateCandidate, until: float
) -> Verdict | None:
    """The language model's verdict, if there is one that answers in time."""
    if workspace.language is None:
        return None
    try:
        async with asyncio.timeout_at(until):
            answer = await workspace.language.same_fact(candidate.old.text, candidate.new.text)
    except (ModelUnavailableError, TimeoutError):
        return None
    match answer:
        case "same":
            return Extended(_BY_MODEL)
        case "contradicts":
            return Updated(_BY_MODEL)
        case "different":
            return Different(_BY_MODEL)


async def _compose(
    workspace: Workspace, candidate: DuplicateCandidate, new: str, verdict: Verdict, until: float
) -> str | None:
    """The two as one text; None if they do not fit into one.

    Rules compose what the rule has called the same. Where only the model has, the contradicted
    statement gives way, and what stands beside it in the old text stays. A text of the model is
    taken if it loses nothing but the one value that differs.
    """
    old = candidate.record.content
    if workspace.policy.merging.mode == "update":
        return new
    by_rule = candidate.score >= workspace.policy.merging.auto_update or isinstance(
        compare_facts(candidate.new, candidate.old), Updated | Extended
    )
    if not by_rule and isinstance(verdict, Updated):
        if found := find_contradicted(old, new):
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


class Nearby(NamedTuple):
    """The memories that a new one is compared with, and what the index and a model say of them.

    `weights` says how rare each of its own terms is in the store, which holds so many `records`.
    """

    fields: SearchFields
    olds: Mapping[RecordId, Candidate]
    weights: Mapping[str, float]
    cosines: Mapping[RecordId, float]
    records: int


def _count_wanted(merging: MergePolicy) -> int:
    return max(merging.topk, merging.fallback_topk if merging.fallback_enabled else 0)


async def look_up_nearby(
    bank: MemoryBank, new: Record, view: View, merging: MergePolicy
) -> Nearby | None:
    """The visible memories that share most with a new one; None if none are wanted."""
    wanted = _count_wanted(merging)
    if not wanted:
        return None
    limit = wanted * _CANDIDATES_FACTOR
    half = -(-limit // 2)
    fields = make_fields(new)
    new_terms = fields.body.split()
    rarest = sorted(set(new_terms), key=lambda term: (-len(term), term))[:_TERMS_MAX]
    others = list_other_values(new.content)
    others_terms = extract_terms(" ".join((new.title, *others)))
    related = {*others_terms, *list_topic_terms(new_terms)}.difference(rarest)
    corpus = await bank.index.corpus({*rarest, *related}, view)
    weights = {term: log(1 + corpus.records / (1 + corpus.counts.get(term, 0))) for term in rarest}
    # apart, for of many memories the related terms would take all places
    by_words = await _search_words(bank, rarest, corpus, view, half)
    by_topics = await _search_words(bank, related, corpus, view, half)
    by_terms = {one.id: one for one in (*by_words, *by_topics)}.values()
    question = await _encode(bank, new)
    by_meaning = await _search_meaning(bank, question, view, limit)
    olds = {one.id: one for pair in zip_longest(by_terms, by_meaning) for one in pair if one}
    if corpus.records <= limit:  # so few that any of them may be meant
        olds |= {one.id: one for one in await bank.index.newest(view, Filters(), limit)}
    cosines = await _measure_cosines(bank, question, list(olds))
    return Nearby(fields, olds, weights, cosines, corpus.records)


async def find_candidates(
    bank: MemoryBank, new: Record, view: View, merging: MergePolicy
) -> list[DuplicateCandidate]:
    """The visible memories that may be the same fact, the most similar first."""
    nearby = await look_up_nearby(bank, new, view, merging)
    if nearby is None:
        return []
    fields, olds, weights, cosines, _ = nearby
    # the index has the terms already, and to find them anew takes longer than to read the file
    new_terms = tuple(fields.body.split())
    terms = {id_: tuple(one.fields.body.split()) for id_, one in olds.items()}
    odds = _estimate_odds(nearby, _get_reader(bank), changes=says_change(new.content))
    nearest = sorted(olds, key=lambda id_: -odds.get(id_, 0.0))
    least = max(_ODDS_MIN, _ODDS_SHARE_MIN * max(odds.values(), default=0.0))
    named = {id_ for id_ in nearest[:SIMILAR_MAX] if odds.get(id_, 0.0) >= least}
    said = frozenset(new_terms)
    if len(said) < _NAMED_TERMS_MIN:  # too little to be about what it does not name
        named = {id_ for id_ in named if not said.isdisjoint(terms[id_])}
    wanted = nearest[: _count_wanted(merging)]
    alike = {id_ for id_ in wanted if _is_related(weights, terms[id_], cosines.get(id_))}
    bearing = {id_ for id_ in wanted if may_relate(olds[id_].fields.outline, fields.outline)}
    compared = alike | bearing
    found: list[DuplicateCandidate] = []
    for old in await load_records(bank, [id_ for id_ in olds if id_ in compared | named]):
        theirs = Statement(_choose_text(old, new), terms[old.id])
        ours = Statement(_choose_text(new, old), new_terms)
        comparable = old.id in alike and is_comparable(new, old)
        score, truth = 0.0, _NOTHING
        if old.id in compared:
            score = score_similarity(ours, theirs, cosines.get(old.id))
            truth = _judge_truth(new, old, ours, theirs)
        if comparable or old.id in named or not isinstance(truth, Independent):
            told = odds[old.id] / (1 + odds[old.id]) if old.id in named else None
            found.append(DuplicateCandidate(old, score, theirs, ours, comparable, truth, told))
    return sorted(found, key=lambda each: (each.score, each.record.id), reverse=True)


def _judge_truth(new: Record, old: Record, ours: Statement, theirs: Statement) -> Truth:
    """What the new memory makes of the old one."""
    if not (states_truth(new) and states_truth(old)):
        return _NOTHING
    return compare_statements(theirs.text, ours.text)


def _get_reader(bank: MemoryBank) -> str:
    """The kind of the model that reads, if figures were learnt of it."""
    kind = bank.meaning.embedder.identity.partition("/")[0] if bank.meaning else WORDS
    return kind if kind in list_readers() else WORDS


def describe_nearby(
    nearby: Nearby, *, changes: bool
) -> tuple[dict[RecordId, Features], Features] | None:
    """What speaks for each that states something, and for none; None if the new one does not.

    `changes`: it says that something changed.
    """
    if not nearby.fields.outline:
        return None
    olds = {id_: one.fields for id_, one in nearby.olds.items() if one.fields.outline}
    cosines = {id_: cosine for id_, cosine in nearby.cosines.items() if id_ in olds}
    described = describe_updates(nearby.fields, olds, cosines)
    return described, describe_new(nearby.fields, changes=changes)


def _estimate_odds(nearby: Nearby, reader: str, *, changes: bool) -> dict[RecordId, float]:
    """The odds that the new memory brings each of them up to date that states something."""
    described = describe_nearby(nearby, changes=changes)
    if described is None:
        return {}
    candidates, new = described
    if not all("cosine" in each for each in candidates.values()):
        reader = WORDS  # of what was written just now no vector is there yet
    return estimate_updates(candidates, new, reader, nearby.records)


def _is_related(weights: Mapping[str, float], theirs: Sequence[str], cosine: float | None) -> bool:
    """Whether it is worth scoring: a few common words of many reach no band."""
    shared = weights.keys() & set(theirs)
    shared_weight = sum(weights[term] for term in shared)
    return (
        shared_weight >= _SHARED_WEIGHT_MIN * sum(weights.values())
        or len(shared) >= _SHARED_TERMS_MIN * len(set(theirs))
        or (cosine is not None and cosine >= _COSINE_MIN)
    )


def _choose_text(record: Record, other: Record) -> str:
    """The text to compare: with its title if both have one, because it may name what is meant."""
    return make_encoder_text(record) if record.title and other.title else record.content


async def _search_words(
    bank: MemoryBank, terms: Iterable[str], corpus: CorpusStatistics, view: View, limit: int
) -> Sequence[Candidate]:
    """The memories with the rarest of these terms: the same fact has most of them."""
    counts = {term: corpus.counts[term] for term in terms}
    rarest = select_rarest(counts, _MATCHES_MAX, least=_TERMS_MIN)
    return await bank.index.match(rarest, corpus, view, Filters(), limit)


async def _encode(bank: MemoryBank, new: Record) -> QueryVectors | None:
    """The vectors of the new memory, if a model on this machine can make them."""
    if bank.meaning is None or not bank.meaning.embedder.here:
        return None
    try:
        return await bank.meaning.embedder.question(make_encoder_text(new))
    except ModelUnavailableError:  # words do without
        return None


async def _search_meaning(
    bank: MemoryBank, question: QueryVectors | None, view: View, limit: int
) -> Sequence[Candidate]:
    if question is None or bank.meaning is None:
        return ()
    vectors, identity = bank.meaning.vectors, bank.meaning.embedder.identity
    return await bank.index.run(
        partial(vectors.near, identity, question.pooled, view, Filters(), limit)
    )


async def _measure_cosines(
    bank: MemoryBank, question: QueryVectors | None, ids: Sequence[RecordId]
) -> Mapping[RecordId, float]:
    """The cosine of each whole text; texts that are not encoded yet are left out."""
    if question is None or bank.meaning is None or not ids:
        return {}
    from memory_mcp.ranking.late_interaction import measure_nearness  # noqa: PLC0415  # numpy

    read = await bank.meaning.vectors.vectors(bank.meaning.embedder.identity, ids)
    return measure_nearness(replace(question, tokens=b"", spans=()), read.passages).pooled
