"""Extract what of a record is indexed: its words, its speaker, the days it names, its labels.

If a text begins with a day and a speaker ("[1:56 pm on 8 May, 2023] Caroline: …"), the day goes to
`dates` (and "yesterday" is counted from it) and the speaker to `names`: neither counts as a word.
"""

from datetime import date
from functools import lru_cache
from typing import Final

from memory_mcp.domain.record import Kind, Record
from memory_mcp.domain.search import SearchFields
from memory_mcp.patterns import compile_later
from memory_mcp.words.dates import find_dates, make_day_terms, split_day
from memory_mcp.words.table import load_word_table, pack_meaning
from memory_mcp.words.terms import extract_terms, make_phase_term

QUESTION_TERM: Final = "asks0"
"""Stands in `extra` of a text that ends in a question: it tells less than one that answers."""
ASKED_MARK: Final = "?"
"""Stands in `extra` before each term of what an episode asks: it is found by them, but they say
little for it. The index reads the term without the mark."""
TURN_TERM: Final = "turn0"
"""Stands in `extra` of a turn of a talk: it is read with the turns beside it."""
LABEL_TERM: Final = "label0"
"""Stands in `extra` of the summary of a checkpoint or a session that is a word or three: it names
what was worked on, and says nothing of it."""
DECISION_TERMS: Final = " ".join(extract_terms("decided decision chosen"))
"""Stand in `extra` of a decision, whose text seldom says that it is one."""

_SUMS_UP: Final[frozenset[Kind]] = frozenset({"checkpoint", "closeout", "episode", "summary"})
_LABEL_TERMS_MAX: Final = 3
_MARKS: Final = ("?", "\uff1f")

_RECORDS_KEPT: Final = 4
"""A new record is read twice: to compare it with what is known, and to index it."""

_SPEAKER: Final = compile_later(
    r"([^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,3}):\s+(?=\S)"
)
_LABELS: Final = frozenset(
    # a text that wraps reads better than a list of quotes
    """
    action answer background bug cause caution context constraint convention date decision
    description done error example fact fix goal hint idea info insight issue lesson link log
    milestone name next note outcome plan preference problem question reason result root rule
    solution status step summary tip title todo topic update warning what when where why
    """.split()  # noqa: SIM905
)
"""Words that stand before a colon and name no speaker."""


def extract_fields(record: Record) -> SearchFields:
    """The searched fields of a record."""
    return _extract_fields(
        record.content,
        title=record.title,
        labels=(record.category, *record.tags),
        phase=record.phase,
        kind=record.kind,
        written=record.created_at.date(),
    )


def analyse_text(text: str) -> SearchFields:
    """The searched fields of a text that is no record."""
    body = extract_terms(text)
    return SearchFields(" ".join(body), meaning=pack_meaning(body, load_word_table()))


@lru_cache(maxsize=_RECORDS_KEPT)
def _extract_fields(
    content: str,
    *,
    title: str,
    labels: tuple[str, ...],
    phase: int | None,
    kind: Kind,
    written: date,
) -> SearchFields:
    day, timed, text = split_day(content)
    own = day or written
    speaker = _SPEAKER.match(text)
    names: list[str] = []
    if speaker and _is_name(speaker[1]):
        names = extract_terms(speaker[1])
        text = text[speaker.end() :]
    asked = ""
    if kind == "episode":
        text, asked = _split_questions(text)
    titled = f"{title}\n{text}" if title else text
    days = dict.fromkeys(make_day_terms(day)) if day else {}
    for mention in find_dates(titled, own):
        days |= dict.fromkeys(mention.terms)
    extra = extract_terms(" ".join(labels))
    extra += [f"{ASKED_MARK}{term}" for term in dict.fromkeys(extract_terms(asked))]
    if phase is not None:
        extra.append(make_phase_term(phase))
    if kind == "decision":
        extra.append(DECISION_TERMS)
    if names or timed or kind == "episode":
        extra.append(TURN_TERM)
    if (text or asked).rstrip().endswith(_MARKS):
        extra.append(QUESTION_TERM)
    body = extract_terms(titled)
    if kind in _SUMS_UP and len(body) <= _LABEL_TERMS_MAX:
        extra.append(LABEL_TERM)
    return SearchFields(
        body=" ".join(body),
        names=" ".join(dict.fromkeys(names)),
        dates=" ".join(days),
        extra=" ".join(extra),
        day=day.isoformat() if day else "",
        meaning=pack_meaning(body, load_word_table()),
    )


def make_encoder_text(record: Record) -> str:
    """The text that an embedder encodes: title and content without the leading day."""
    text = split_day(record.content).text
    if record.kind == "episode":
        told, asked = _split_questions(text)
        text = told if told or record.title else asked
    return f"{record.title}: {text}" if record.title else text


def _split_questions(text: str) -> tuple[str, str]:
    """The lines that tell something, and those that ask."""
    lines = text.splitlines()
    asked = [line for line in lines if line.rstrip().endswith(_MARKS)]
    return "\n".join(line for line in lines if line not in asked), "\n".join(asked)


def _is_name(text: str) -> bool:
    """Whether it has capitals, or a script without them, and is no label such as "Decision"."""
    words = text.split()
    return words[0].casefold() not in _LABELS and all(
        word[0].isupper() or not word[0].islower() for word in words
    )
