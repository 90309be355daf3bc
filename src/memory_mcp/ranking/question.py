"""Parse a question into terms, each with its place in the text, and the times that it means.

Stop words are dropped unless there is nothing else. Relative times ("last week") are counted from
now. `passes` applies the filters of a question to a record that did not come from the index.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from memory_mcp.domain import limits
from memory_mcp.domain.profile import field_of
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters
from memory_mcp.ranking.dates import find_dates
from memory_mcp.ranking.terms import find_pieces, fold, phase_term, split_terms

_YEAR_DIGITS: Final = 4


@dataclass(frozen=True)
class Term:
    """A term that a question asks for.

    `spans` are the characters it came from; a `part` belongs to an identifier that is asked for
    whole as well; `exact` is what only its own letters can find: a name, a number, a day, an
    identifier; `instead` are terms of the store that count for it, though less.
    """

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    kind: Literal["word", "part", "date", "phase"] = "word"
    exact: bool = False
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What is asked for: distinct terms, in order; `decides` asks what was decided, or why."""

    terms: tuple[Term, ...]
    only_stop_words: bool = False
    decides: bool = False

    @property
    def every(self) -> tuple[str, ...]:
        """All terms, with those that stand in for others: what the index is asked for."""
        own = [term.text for term in self.terms]
        return tuple(dict.fromkeys((*own, *(t for term in self.terms for t in term.instead))))


_CODED: Final = re.compile(r"\d|[\w][_./\\:@][\w]|[a-z][A-Z]")
"""What is written like a number or an identifier."""
_PHASE: Final = re.compile(r"\bphase[\s_-]{0,3}(\d{1,4})\b", re.IGNORECASE)
"""A phase that is asked for by its number: what was written in it is meant as well."""
_DECIDES: Final = re.compile(
    r"\b(?:(?:did|have|had|was|were|been|we)\b[^.?!]{0,40}\b(?:decided|chosen|chose)"
    r"|did\b[^.?!]{0,40}\b(?:decide|choose)|decisions?"
    r"|(?:why|how come) (?:did|do|are|were|have|had) we|entschieden|entscheidung(?:en)?"
    r"|beschlossen)\b",
    re.IGNORECASE,
)
"""How a decision, or its reason, is asked for."""
_STOP_WORDS: Final = frozenset(
    # a text that wraps reads better than a list of quotes
    """
    a about after again all also am an and any are as at be because been before being but by
    can could did do does doing don down during each few for from further had has have
    having he her here hers him his how i if in into is it its itself just let me more most
    my no nor not now of off on once only or other our ours out over own please re s same
    she should so some such t tell than that the their theirs them then there these they
    this those through to too under until up us very was we were what when where which while
    who whom whose why will with would you your yours myself yourself himself herself
    themselves ourselves shall may might must im ive id ill youre youve hes shes theyre weve
    were lets dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt wont wouldnt cant
    couldnt shouldnt thats whats theres heres ever upon
    """.split()  # noqa: SIM905
)


def parse_question(text: str, now: datetime) -> Question:
    """The terms of a question, as the index knows them."""
    text = text[: limits.QUERY_CHARS_MAX]
    named = find_dates(text, now.date())
    telling: dict[str, Term] = {}
    every: dict[str, Term] = {}
    for piece, start, end in find_pieces(text):
        if any(start < mention.end and mention.start < end for mention in named):
            kept = [
                term for term in split_terms(piece) if term.isdigit() and len(term) == _YEAR_DIGITS
            ]
        else:
            kept = list(split_terms(piece))
        whole = _whole(piece, kept)
        stop = fold(piece).replace("'", "").replace("\u2019", "") in _STOP_WORDS
        exact = _is_exact(piece, text[:start])
        for term in kept:
            kind = "word" if term == whole or len(kept) == 1 else "part"
            for table in (every,) if stop else (every, telling):
                old = table.get(term, Term(term, kind=kind))
                spans = (*old.spans, (start, end))
                table[term] = replace(old, spans=spans, exact=old.exact or exact)
    chosen = telling or (every if not named else {})
    dates: dict[str, Term] = {}
    for mention in named:
        for term in mention.finest:
            dates[term] = Term(term, ((mention.start, mention.end),), "date", exact=True)
    phases = {
        term: Term(term, (phase.span(),), "phase", exact=True)
        for phase in _PHASE.finditer(text)
        for term in (phase_term(int(phase[1])),)
    }
    return Question(
        terms=tuple((chosen | dates | phases).values()),
        only_stop_words=not telling and not dates,
        decides=_DECIDES.search(text) is not None,
    )


def _is_exact(piece: str, before: str) -> bool:
    """Whether it is written like a name, a number or an identifier."""
    if _CODED.search(piece):
        return True
    begins = not before.strip() or before.rstrip()[-1] in ".?!:"
    return piece[0].isupper() and not begins


def _whole(piece: str, found: Sequence[str]) -> str:
    """The term that stands for all of an identifier: the longest."""
    return max(found, key=len) if found else piece


def keep_rarest(question: Question, counts: Mapping[str, int]) -> Question:
    """At most QUERY_TERMS_MAX terms, the rarest, in their order; what occurs nowhere goes first."""
    if len(question.terms) <= limits.QUERY_TERMS_MAX:
        return question
    order = sorted(question.terms, key=lambda term: counts.get(term.text, 0) or float("inf"))
    kept = set(order[: limits.QUERY_TERMS_MAX])
    return replace(question, terms=tuple(term for term in question.terms if term in kept))


def expand(question: Question, instead: Mapping[str, Sequence[str]]) -> Question:
    """The question with other terms of the store that may be meant (by `spelling.alternatives`)."""
    return replace(
        question,
        terms=tuple(
            replace(term, instead=tuple(instead[term.text])) if instead.get(term.text) else term
            for term in question.terms
        ),
    )


def matches_filters(record: Record, filters: Filters) -> bool:
    """Whether a record is wanted, as the docstring of `Filters` says it."""
    tags = {tag.casefold() for tag in record.tags}
    return (
        (filters.with_profile or field_of(record) is None)
        and (not filters.category or record.category.casefold() == filters.category.casefold())
        and (not filters.key or _has_key(record, filters.key))
        and tags.issuperset(tag.casefold() for tag in filters.tags)
        and (not filters.kinds or record.kind in filters.kinds)
        and (filters.phase is None or record.phase == filters.phase)
        and (filters.segments is None or record.segment in filters.segments)
        and (filters.branch is None or record.branch == filters.branch)
        and (filters.durable is None or record.durable is filters.durable)
        and (filters.reach is None or (filters.reach == "user") is (record.scope.project is None))
        and (filters.since is None or record.created_at >= filters.since)
        and (filters.until is None or record.created_at < filters.until)
        and (filters.session is None or record.origin.session == filters.session)
        and (not filters.statement or record.statement == filters.statement)
        and (not filters.statements or record.statement in filters.statements)
    )


def _has_key(record: Record, wanted: str) -> bool:
    beginning = wanted.removesuffix("*")
    if beginning == wanted:
        return record.key == wanted
    return bool(record.key) and record.key.startswith(beginning)
