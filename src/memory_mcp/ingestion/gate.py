"""What is worth a memory of its own: what still holds tomorrow, and who it is about.

Kept: stable facts, preferences, goals, decisions, lessons, and past events. Refused: what passes
(moods, states, one-off actions and requests), questions, small talk, output of programs, and what
came out of our own recall.

A sentence at a time, by rules for English and German (`gate_words`). One sentence worth keeping
keeps the text. What no rule knows, a text in another language above all, is kept, and the answer
says that nobody is sure: a fact lost is worse than chatter kept. A kind that the caller chose with
care (a decision, a preference, …) is refused only for what no such memory can be.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final, Literal

from memory_mcp.domain.record import Kind
from memory_mcp.ingestion import gate_acts as acts
from memory_mcp.ingestion import gate_shapes as shapes
from memory_mcp.ingestion import gate_words as words
from memory_mcp.ingestion.recalled import apart, not_echoed
from memory_mcp.ingestion.sentences import plain_quotes, sentences, without_code

__all__ = ["Chatter", "Keep", "Sort", "Worth", "should_create"]

Sort = Literal["empty", "recalled", "output", "small talk", "question", "passing", "action"]


@dataclass(frozen=True)
class Keep:
    """Worth a memory. `sure`: a rule said so; else no rule knew better."""

    sure: bool


@dataclass(frozen=True)
class Chatter:
    """Not worth one; `reason` is the rest of a sentence that begins with "It"."""

    reason: str
    sort: Sort


Worth = Keep | Chatter

Verdict = Sort | Literal["lasts"] | None
"""What a sentence is; None if no rule knows it."""

_CHOSEN: Final[frozenset[Kind]] = frozenset(
    {"preference", "convention", "pattern", "decision", "lesson", "identity"}
)
"""Kinds that nobody gives by the way."""
_NEVER: Final[frozenset[Sort]] = frozenset(
    {"empty", "recalled", "output", "small talk", "question"}
)
"""What no memory of any kind can be."""

_REASONS: Final[dict[Sort, str]] = {
    "empty": "holds no words.",
    "recalled": "came out of this memory's own recall.",
    "output": "is output, code or data, not a statement about it.",
    "small talk": "is small talk: a greeting, thanks or an acknowledgement.",
    "question": "is a question; what is worth keeping is the answer.",
    "passing": "holds for the moment only.",
    "action": "is about something done once; what is worth keeping is what it means from now on.",
}
_CAPABILITY: Final = "is a question about what the assistant can do."

_DATA: Final = re.compile(r"\s*(?:\{.*\}|\[[^\]\w]*[\"'{\[\d].*\])\s*", re.DOTALL)
_CLAUSE: Final = re.compile(r";\s+")
_WORD: Final = re.compile(r"[^\W\d_][\w']*|[👍🙏🎉😀😂👌]")
_GREETING: Final = re.compile(
    r"(?:hi|hello|hey|hallo|moin|servus|(?:good )?(?:morning|afternoon|evening)"
    r"|guten (?:morgen|tag|abend)),?"
    r"(?: \w+){1,2}[.!, ]*"
)
"""A greeting by name."""
_PROSE_WORDS_MIN: Final = 5
"""So many words, beside code or small talk, may say something that lasts."""
_OUTPUT_SHARE: Final = 0.5
"""So much of the lines must be a program's for the whole to be its output."""
_SMALL_TALK_WORDS_MAX: Final = 12
_REQUEST_WORDS_MAX: Final = 7
"""A longer one may be a rule in the same mood: "Report to Dana, not to Miro, when …"."""
_MOOD_WORDS_MAX: Final = 8
"""Longer than this a chosen kind is given the benefit of the doubt."""


def should_create(text: str, kind: Kind = "fact") -> Worth:
    """Whether a new memory of this text is worth having, and why not."""
    if whole := _sort_of_whole(text):
        return _chatter(whole)
    found: list[tuple[Verdict, str]] = [
        (_sort_of(said, kind), said) for said in _own_sentences(text)
    ]
    if any(sort == "lasts" for sort, _ in found):
        return Keep(sure=True)
    passing: Counter[Sort] = Counter()
    unknown = [0]
    for sort, said in found:
        if sort is None:
            unknown.append(len(said.split()))
        elif sort != "lasts":
            passing[sort] += len(said.split())
    if max(unknown) >= _PROSE_WORDS_MIN or sum(unknown) >= sum(passing.values()):
        return Keep(sure=False)
    most = max(passing, key=lambda each: passing[each])
    if most == "question" and any(shapes.CAPABILITY.search(_plain(said)) for _, said in found):
        return Chatter(_CAPABILITY, most)
    return _chatter(most)


def _chatter(sort: Sort) -> Chatter:
    return Chatter(_REASONS[sort], sort)


def _plain(said: str) -> str:
    return plain_quotes(said).strip().lower()


def _sort_of_whole(text: str) -> Sort | None:
    """What can be told of the text without reading its sentences."""
    if not _WORD.search(text):
        return "output" if any(c.isdigit() for c in text) else "empty"
    own = apart(text)
    left = " ".join(_own_sentences(text)) if own.recalled else ""
    if own.recalled and len(_WORD.findall(left)) < _PROSE_WORDS_MIN:
        return "recalled"
    prose = _prose(text)
    if len(_WORD.findall(prose)) < _PROSE_WORDS_MIN and len(prose) < len(own.own):
        return "output"
    return "output" if _is_output(prose) else None


def _prose(text: str) -> str:
    """The text without what is fenced as code, or as recalled."""
    return without_code(apart(text).own)


def _own_sentences(text: str) -> list[str]:
    """Its sentences without those that say again what was recalled in it."""
    return not_echoed(sentences(_prose(text)), apart(text).recalled)


def _is_output(text: str) -> bool:
    if _DATA.fullmatch(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return False
    written = sum(1 for line in lines if shapes.OUTPUT.match(line))
    if len(lines) == 1:
        return written == 1 or _is_code(lines[0])
    shaped = sum(
        1 for line in lines if shapes.STRUCTURE.fullmatch(line) or shapes.OUTPUT.match(line)
    )
    telling = written + sum(1 for line in lines if _is_code(line))
    return bool(telling) and shaped >= _OUTPUT_SHARE * len(lines)


def _is_code(line: str) -> bool:
    """Whether a line is code by itself, not only among other lines of it."""
    return bool(shapes.CODE.fullmatch(line))


def _sort_of(said: str, kind: Kind) -> Verdict:
    """What one sentence is. A chosen kind is harder to refuse."""
    sort = _of_clauses([_rule(_plain(clause)) for clause in _CLAUSE.split(said)])
    if kind not in _CHOSEN or sort is None or sort == "lasts" or sort in _NEVER:
        return sort
    brief = len(said.split()) <= _MOOD_WORDS_MAX
    return "passing" if brief and words.MOOD.search(_plain(said)) else None


def _of_clauses(
    sorts: list[Verdict],
) -> Verdict:
    """One clause that lasts, or that no rule knows, is worth the sentence."""
    if "lasts" in sorts:
        return "lasts"
    return None if None in sorts else sorts[0]


def _rule(said: str) -> Verdict:
    """The first rule that knows a sentence."""
    if _is_small_talk(said):
        return "small talk"
    if words.STANDING_REQUEST.search(said) and acts.REQUEST.search(said):
        return "lasts"
    if not shapes.ASKS.search(said):
        return _statement(said)
    polite = acts.REQUEST.search(said) and not shapes.CAPABILITY.search(said)
    return "action" if polite else "question"


def _statement(said: str) -> Verdict:
    if words.LASTS.search(said):
        return "lasts"
    if words.MOOD.search(said):
        return "passing"
    if words.REASON.search(said):
        return None
    if words.STATE.search(said):
        return "passing"
    return "action" if _is_once(said) else None


def _is_once(said: str) -> bool:
    """Whether something is to be done once, is being done, or was."""
    done = acts.DONE.search(said)
    if not done and not acts.REQUEST.search(said):
        return False
    brief = done or len(said.split()) <= _REQUEST_WORDS_MAX
    return acts.HERE.search(said) or (brief and not acts.STANDS.search(said))


def _is_small_talk(said: str) -> bool:
    heard = _WORD.findall(said)
    return _GREETING.fullmatch(said) is not None or (
        0 < len(heard) <= _SMALL_TALK_WORDS_MAX
        and any(word in shapes.SMALL_TALK for word in heard)
        and all(word in shapes.SMALL_TALK or word in shapes.SMALL_TALK_BESIDE for word in heard)
    )
