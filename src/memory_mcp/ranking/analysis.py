"""Extract what of a memory is indexed: its words, its speaker, the days it names, its labels.

If a text begins with a day and a speaker ("[1:56 pm on 8 May, 2023] Caroline: …"), the day goes to
`dates` (and "yesterday" is counted from it) and the speaker to `names`, so that neither counts as a
word that was said.
"""

import re
from datetime import date
from typing import Final

from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Fields
from memory_mcp.ranking.dates import day_terms, find_dates, find_leading_date
from memory_mcp.ranking.terms import extract_terms, phase_term

ASKS: Final = "asks0"
"""A term in `extra` of what ends in a question: it tells less than what answers one."""

_DECISION: Final = extract_terms("decided decision chosen")
"""Terms in `extra` of a decision: it seldom says of itself that it is one."""

DECISION: Final = " ".join(_DECISION)
"""How `extra` says that it is a decision."""

_SPEAKER: Final = re.compile(r"([^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,3}):\s+(?=\S)")
_SPEAKER_DAY: Final = re.compile(
    r"([^\W\d_][\w.' -]{0,40}?) ?(\([^()]{6,40}\)|\[[^\[\]]{6,40}\]):\s*"
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
"""What stands before a colon and speaks to nobody."""


def extract_fields(record: Record) -> Fields:
    """What of a record the index holds."""
    day, text = _day_of(record.content)
    own = day or record.created_at.date()
    speaker = _SPEAKER.match(text)
    names: list[str] = []
    if speaker and _is_name(speaker[1]):
        names = extract_terms(speaker[1])
        text = text[speaker.end() :]
    titled = f"{record.title}\n{text}" if record.title else text
    days = dict.fromkeys(day_terms(day)) if day else {}
    for mention in find_dates(titled, own):
        days |= dict.fromkeys(mention.terms)
    extra = extract_terms(" ".join((record.category, *record.tags)))
    if record.phase is not None:
        extra.append(phase_term(record.phase))
    if record.kind == "decision":
        extra += _DECISION
    if text.rstrip().endswith(("?", "\uff1f")):
        extra.append(ASKS)
    return Fields(
        body=" ".join(extract_terms(titled)),
        names=" ".join(dict.fromkeys(names)),
        dates=" ".join(days),
        extra=" ".join(extra),
        day=day.isoformat() if day else "",
    )


def text_to_encode(record: Record) -> str:
    """What of a record is encoded: what it says, without the day that it begins with."""
    _, text = _day_of(record.content)
    return f"{record.title}: {text}" if record.title else text


def _day_of(content: str) -> tuple[date | None, str]:
    """The day that a text begins with, or that stands behind its speaker, and the text without."""
    day, start = find_leading_date(content)
    if day is None and (behind := _SPEAKER_DAY.match(content)):
        day, _ = find_leading_date(behind[2])
        return (day, f"{behind[1]}: {content[behind.end() :]}") if day else (None, content)
    return day, content[start:]


def _is_name(said: str) -> bool:
    """Capitals, or a script that has none; not a label such as "Decision"."""
    words = said.split()
    return words[0].casefold() not in _LABELS and all(
        word[0].isupper() or not word[0].islower() for word in words
    )
