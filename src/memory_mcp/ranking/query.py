"""Parse a query into terms, each with its place in the text, and the times that it means.

Stop words are dropped unless there is nothing else. Relative times ("last week") are counted from
now. A term that the store does not hold may be misspelt: `suggest_terms` guesses carefully, for a
search that finds nothing is better than one that finds something else.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from typing import Final, Literal

from memory_mcp.domain import limits
from memory_mcp.domain.profile import find_profile_field
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, SearchFields
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.words.dates import find_dates
from memory_mcp.words.table import WordTable
from memory_mcp.words.terms import extract_terms, find_pieces, fold, make_phase_term, split_terms

_YEAR_DIGITS: Final = 4


@frozen
class QueryTerm:
    """A term that a query asks for.

    `spans` are the characters it came from. A `part` belongs to an identifier that is asked for
    whole as well; a `frame` says that something is asked, not what. An `exact` term is found by its
    own letters only: a name, a number, a day, an identifier. `alternatives` are terms of the store
    that count for it, though less.
    """

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    kind: Literal["word", "part", "frame", "date", "phase"] = "word"
    exact: bool = False
    alternatives: tuple[str, ...] = ()


@frozen
class Query:
    """What is asked for: distinct terms, in order.

    `row` are the terms of the whole text, one after the other, as a memory has them that says the
    same. `asks_decision`: it asks what was decided, or why.
    """

    terms: tuple[QueryTerm, ...]
    row: tuple[str, ...] = ()
    only_stop_words: bool = False
    asks_decision: bool = False

    @property
    def every(self) -> tuple[str, ...]:
        """All terms with their alternatives: what the index is asked for."""
        own = [term.text for term in self.terms]
        return tuple(dict.fromkeys((*own, *(t for term in self.terms for t in term.alternatives))))


_CODED: Final = compile_later(r"\d|[\w][_./\\:@][\w]|[a-z][A-Z]")
"""What is written like a number or an identifier."""
_PHASE: Final = compile_later(r"\bphase[\s_-]{0,3}(\d{1,4})\b", re.IGNORECASE)
_ASKS_DECISION: Final = compile_later(
    r"\b(?:(?:did|have|had|was|were|been|we)\b[^.?!]{0,40}\b(?:decided|chosen|chose)"
    r"|did\b[^.?!]{0,40}\b(?:decide|choose)|decisions?"
    r"|(?:why|how come) (?:did|do|are|were|have|had) we|entschieden|entscheidung(?:en)?"
    r"|beschlossen)\b",
    re.IGNORECASE,
)
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


_FRAMES: Final = frozenset(
    # English: politeness, asking, and verbs that go with any subject
    """
    actually anybody anyone around ask asked asking asks currently deal exactly exist exists
    explain explained generally get gets getting give given glad go goes going got handle
    handled handles handling happen happened happens hello help hey hi kind know known knows
    like little made make makes making maybe mean means mind need needed needs normally one
    please possible question quick quickly really remember remind right said say says
    somebody someone something sorry suppose supposed sure thank thanks thing things think
    told understand us use used uses using usually want wanted wants way ways whether wonder
    wondering work working works
    """.split()  # noqa: SIM905
    # German: the same, and the words that English drops
    + """
    aber alle alles als also am an auch auf aus bei bin bist bitte da danke dann das dass
    dein dem den der des die dies diese diesem dieser dieses doch du ein eine einem einen
    einer eines er erkläre es etwas euch für gab gehen geht gemacht genau gerne gibt hab
    habe haben hallo hast hat hatte hatten ich ihr im in ist ja jemand jetzt kann kannst
    kein keine können könnt könnte könntest läuft machen macht mal man mein mir mit
    müssen muss nach nicht noch nun nur ob oder ohne sag sagen sein sich sie sind soll
    sollen sollte tun über um und uns unser unsere verwenden verwendet vom von war waren
    warum was welche welchem welchen welcher welches wenn wer werden wie wieso wir wird wo
    womit worüber wozu würde zu zum zur
    """.split()  # noqa: SIM905
)
"""Words that people put around what they ask. They count, but little: only the store's words say
what is meant by "how do deployments work?"."""


def list_same_words(text: str, query: Query, fields: SearchFields) -> tuple[str, ...]:
    """The words of a query that a memory holds, as the query spells them."""
    every = f" {fields.body} {fields.names} {fields.dates} {fields.extra} "
    return tuple(
        dict.fromkeys(
            text[slice(*term.spans[0])] if term.spans else term.text
            for term in query.terms
            if any(f" {each} " in every for each in (term.text, *term.alternatives))
        )
    )


def parse_query(text: str, now: datetime) -> Query:
    """The terms of a query, as the index knows them."""
    text = text[: limits.QUERY_CHARS_MAX]
    mentions = find_dates(text, now.date())
    content: dict[str, QueryTerm] = {}
    every: dict[str, QueryTerm] = {}
    for piece, start, end in find_pieces(text):
        found: Sequence[str] = split_terms(piece)
        if any(start < mention.end and mention.start < end for mention in mentions):
            found = [term for term in found if term.isdigit() and len(term) == _YEAR_DIGITS]
        whole = max(found, key=len) if found else piece
        is_stop_word = fold(piece).replace("'", "").replace("\u2019", "") in _STOP_WORDS
        exact = _is_exact(piece, text[:start])
        own = "frame" if fold(piece) in _FRAMES else "word"
        for term in found:
            kind = own if term == whole or len(found) == 1 else "part"
            for table in (every,) if is_stop_word else (every, content):
                old = table.get(term, QueryTerm(term, kind=kind))
                spans = (*old.spans, (start, end))
                table[term] = replace(old, spans=spans, exact=old.exact or exact)
    words = content or (every if not mentions else {})
    dates = {
        term: QueryTerm(term, ((mention.start, mention.end),), "date", exact=True)
        for mention in mentions
        for term in mention.precise
    }
    phases = {
        term: QueryTerm(term, (phase.span(),), "phase", exact=True)
        for phase in _PHASE.finditer(text)
        for term in (make_phase_term(int(phase[1])),)
    }
    return Query(
        terms=tuple((words | dates | phases).values()),
        row=tuple(extract_terms(text)),
        only_stop_words=not content and not dates,
        asks_decision=_ASKS_DECISION.search(text) is not None,
    )


def _is_exact(piece: str, before: str) -> bool:
    """Whether it is written like a name, a number or an identifier."""
    if _CODED.search(piece):
        return True
    begins_sentence = not before.strip() or before.rstrip()[-1] in ".?!:"
    return piece[0].isupper() and not begins_sentence


def keep_rarest_terms(query: Query, counts: Mapping[str, int]) -> Query:
    """At most QUERY_TERMS_MAX terms, the rarest, in their order; what occurs nowhere goes first."""
    if len(query.terms) <= limits.QUERY_TERMS_MAX:
        return query
    order = sorted(query.terms, key=lambda term: counts.get(term.text, 0) or float("inf"))
    rarest = set(order[: limits.QUERY_TERMS_MAX])
    return replace(query, terms=tuple(term for term in query.terms if term in rarest))


def select_rarest(counts: Mapping[str, int], most: int, *, least: int = 0) -> list[str]:
    """The rarest terms that occur, until together they are in `most` records; `least` of them."""
    rising = sorted((n, term) for term, n in counts.items() if n)
    running = accumulate(n for n, _ in rising)
    few = [term for (_, term), n in zip(rising, running, strict=True) if n <= most]
    return few if len(few) >= least else [term for _, term in rising[:least]]


def expand_query(query: Query, alternatives: Mapping[str, Sequence[str]]) -> Query:
    """The query with alternatives for its terms."""
    return replace(
        query,
        terms=tuple(
            replace(term, alternatives=tuple(alternatives.get(term.text, term.alternatives)))
            for term in query.terms
        ),
    )


def matches_filters(record: Record, filters: Filters) -> bool:
    """Whether a record that did not come from the index passes the filters."""
    tags = {tag.casefold() for tag in record.tags}
    return (
        (filters.includes_profile or find_profile_field(record) is None)
        and (not filters.category or record.category.casefold() == filters.category.casefold())
        and (not filters.key or _has_key(record, filters.key))
        and tags.issuperset(tag.casefold() for tag in filters.tags)
        and (not filters.kinds or record.kind in filters.kinds)
        and (filters.phase is None or record.phase == filters.phase)
        and (filters.segments is None or record.segment in filters.segments)
        and record.segment not in filters.away
        and (filters.branch is None or record.branch == filters.branch)
        and (filters.durable is None or record.durable is filters.durable)
        and filters.reach in (None, record.scope.reach)
        and (filters.since is None or record.created_at >= filters.since)
        and (filters.until is None or record.created_at < filters.until)
        and (filters.session is None or record.origin.session == filters.session)
        and (not filters.statement or record.statement == filters.statement)
        and (not filters.statements or record.statement in filters.statements)
        and (filters.layer is None or record.layer == filters.layer)
        and (not filters.citing or bool(record.cites))
    )


def _has_key(record: Record, wanted: str) -> bool:
    prefix = wanted.removesuffix("*")
    if prefix == wanted:
        return record.key == wanted
    return bool(record.key) and record.key.startswith(prefix)


_ALTERNATIVES_MAX: Final = 3
_GUESSED_LENGTH_MIN: Final = 4
"""Shorter words have too many neighbours: "cat" is not "car"."""
_CONTAINED_LENGTH_MIN: Final = 5
_CONTAINED_SHARE_MIN: Final = 0.6
"""How much of the longer term the shorter must be, to be meant by it."""
_TWO_ERRORS_LENGTH_MIN: Final = 8
_ENDINGS: Final = compile_later(r"(?:ung|ungen|en|e|er|es|em|t|et|te|ten|end)$")
_PARTICIPLE: Final = compile_later(
    r"^un(?=.{4})|^((?:ab|an|auf|aus|bei|durch|ein|fest|frei|her|hin|hoch|los|mit|nach|nieder|um|unter|vor|weg"
    r"|weiter|wieder|zu|zuruck|zusammen|uber)?)ge(?=.{3})"
)


def suggest_terms(
    term: str, similar: Sequence[tuple[str, int]], table: WordTable
) -> tuple[str, ...]:
    """Those of the similar terms that may be meant, best first; each comes with its records.

    Meant may be a term with a slip or two in it, one that contains the other, as identifiers
    contain their parts, or, if the table does not know it, a compound or another form of the word,
    as German makes them: a common word of English is neither because of some letters.
    """
    # scripts that write words with pairs of characters have no slips
    spelled = all(letter < "\u0e00" or "\u1e00" <= letter < "\u2000" for letter in term)
    if len(term) < _GUESSED_LENGTH_MIN or any(map(str.isdigit, term)) or not spelled:
        return ()
    allowed = 2 if len(term) >= _TWO_ERRORS_LENGTH_MIN else 1
    guesses: list[tuple[float, int, str]] = []
    for other, records in similar:
        if other == term or any(map(str.isdigit, other)):
            continue
        errors = count_edits(term, other, allowed)
        if errors <= allowed and (other[0] == term[0] or len(term) > _CONTAINED_LENGTH_MIN):
            guesses.append((errors + 0.5 * (other[0] != term[0]), -records, other))
        elif _contains(term, other):
            guesses.append((allowed + 1.0, -records, other))
        elif table.find_signs(other) is None and _is_form(term, other):
            guesses.append((allowed + 1.5, -records, other))
    guesses.sort()
    fewest = guesses[0][0] if guesses else 0
    return tuple(other for errors, _, other in guesses if errors < fewest + 1)[:_ALTERNATIVES_MAX]


def count_edits(one: str, other: str, most: int) -> int:
    """How many letters are wrong, missing, too many or swapped; counts up to `most` + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        current = [row]
        for column, against in enumerate(other, start=1):
            cost = min(
                last[column] + 1,
                current[column - 1] + 1,
                last[column - 1] + (letter != against),
            )
            swapped = row > 1 and column > 1 and letter == other[column - 2]
            if swapped and one[row - 2] == against:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return most + 1
        before, last = last, current
    return last[-1]


def _is_form(term: str, other: str) -> bool:
    """Whether the other is a compound of it, or the same verb or noun with another ending."""
    if other.startswith(term) or term.startswith(other):
        return min(len(term), len(other)) >= _GUESSED_LENGTH_MIN
    if other.endswith(term) or term.endswith(other):
        return min(len(term), len(other)) >= _CONTAINED_LENGTH_MIN
    root = _find_root(term)
    return len(root) >= _GUESSED_LENGTH_MIN and root == _find_root(other)


def _find_root(term: str) -> str:
    """What German forms have in common: "einruck" of "einruckung" and "eingeruckt"."""
    bare = _ENDINGS.sub("", term)
    return _PARTICIPLE.sub(lambda found: found[1] or "", bare) if bare != term else bare


def _contains(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return (
        len(shorter) >= _CONTAINED_LENGTH_MIN
        and len(shorter) >= _CONTAINED_SHARE_MIN * len(longer)
        and shorter in longer
    )
