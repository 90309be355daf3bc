"""What happened in a few turns, in their own words: the telling sentences, without a model.

What a user asked for, what was decided, what came of it. Small talk, moods and the output of
programs are left out by the gate; so is everything that came out of our own recall, wherever it
is repeated.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from memory_mcp.domain.cutting import cut
from memory_mcp.domain.episodes import Turn
from memory_mcp.domain.limits import SUMMARY_CHARS_MAX, TURN_CHARS_MAX
from memory_mcp.ingestion.gate import Chatter, Sort, should_create
from memory_mcp.ingestion.gate_shapes import CAPABILITY
from memory_mcp.ingestion.recalled import apart, echoes, not_echoed
from memory_mcp.ingestion.sentences import plain_quotes, sentences, without_code, words_alone

__all__ = ["Heard", "bounded", "hear", "spoken", "summary", "without_echoes"]

_LINE_CHARS_MAX: Final = 300
"""A longer sentence is cut: an episode points to what happened, it is no transcript."""

_LINES_MAX: Final = 16
"""More lines than this are a transcript again."""

_WORDS_MIN: Final = 3
"""Fewer words tell nothing by themselves ("Fixed it")."""

_OUTCOME: Final = re.compile(
    r"\b(?:fixed|works|passes|passed|done|added|implemented|created|renamed|removed|replaced|deployed|"
    r"released|merged|failed|fails|broken|error|cause|because|found|result|behoben|fertig|fehler|"
    r"weil|läuft|klappt|ergebnis)\b",
    re.IGNORECASE,
)
"""What came of it."""

_ABLE: Final = re.compile(
    r"(?:(?:yes|yeah|no|sure|of course|certainly|absolutely|ja|nein|natürlich)\b[,.!:]?\s*)?"
    r"(?:(?:and|but|und|aber)\s)?"
    r"(?:i(?:'m| am) (?:an?|not|able|afraid|happy|here|sorry|doing|glad)\b"
    r"|i (?:also |only )?(?:can|can't|cannot|could|speak|understand|know|support)\b"
    r"|ich (?:kann|spreche|verstehe|bin)\b"
    r"|(?:what|how) can i\b|let me know\b|feel free\b|just (?:ask|tell)\b|you can ask\b)"
)
"""What an assistant says of itself."""

_ASKED_FOR: Final = re.compile(
    r"\byou (?:please )?\w+ (?:the|this|that|it|my|our|your|all|these|those|us|me|a|an)\b"
    r"|\b(?:kannst|könntest) du (?:bitte )?(?:das|den|die|dies|mir|uns|es|ein|mein|unser)\w*\b"
)
"""A request in the form of a question: what it is about is named."""

_CHAT: Final = re.compile(
    r"(?:(?:oh|ah|well|lol|haha|hi|hey|hello)\b[\s,!.]*)*"
    r"(?:how (?:are|r) (?:you|u|things)\b|how(?:'s| is) (?:it going|life)\b|what's up\b|wie geht"
    r"|(?:i'm |i am )?(?:glad|happy|sorry) to hear\b|nice to (?:meet|see|hear)\b"
    r"|(?:that|this|it|you)(?:'s|'re| is| are| was)? (?:so |very |really |quite |too )?"
    r"(?:funny|hilarious|sweet|kind|awesome|nice)\b|(?:that|this|you) made me (?:laugh|smile)\b)"
)
_CHAT_WORDS_MAX: Final = 6
"""Whoever says more says something."""

_LEFT_OUT: Final[frozenset[Sort]] = frozenset(
    {"empty", "recalled", "output", "small talk", "passing"}
)
"""What an episode does without too. A request or a question is what a turn was about."""


@dataclass(frozen=True)
class Heard:
    """Turns in their own words, each bounded, and the sentences of what was recalled in them."""

    turns: tuple[Turn, ...]
    recalled: frozenset[str]


def hear(turns: Iterable[Turn]) -> Heard:
    """The turns without what was recalled in them. Call it with all there are, then choose."""
    own: list[Turn] = []
    recalled: frozenset[str] = frozenset()
    for turn in turns:
        parts = apart(turn.content)
        recalled |= parts.recalled
        own.append(Turn(turn.role, _bounded_turn(parts.own), turn.at))
    return Heard(tuple(own), recalled)


def summary(heard: Heard) -> str:
    """The telling sentences, a line each, in their order; empty if there are none.

    What the assistant can do, and that it can, is worth a line only beside something else.
    """
    lines: dict[str, str] = {}
    telling = False
    for turn in heard.turns:
        for said in _told_by(turn, heard.recalled):
            line = f"- {turn.role}: {cut(said, _LINE_CHARS_MAX)}"
            lines.setdefault(words_alone(line), line)
            telling = telling or not _about_itself(turn, said)
    return bounded(lines.values()) if telling else ""


def without_echoes(text: str, recalled: frozenset[str]) -> str:
    """The text of somebody else's summary without what was recalled, and no longer than may be."""
    lines = [line.strip() for line in apart(text).own.splitlines() if line.strip()]
    kept = [
        line
        for line in not_echoed(lines, recalled)
        if not any(echoes(said, recalled) for said in _said_in(line))
    ]
    return bounded(kept)


def spoken(text: str) -> str:
    """The lines of an episode without who said them."""
    return "\n".join(_said(line) for line in text.splitlines())


def bounded(lines: Iterable[str]) -> str:
    """As many of the lines as an episode may hold: the least telling go first, then the oldest."""
    kept = list(lines)
    first_to_go = sorted(range(len(kept)), key=lambda place: (_worth(kept[place]), place))
    chars = sum(len(line) + 1 for line in kept)
    gone: set[int] = set()
    for place in first_to_go:
        if len(kept) - len(gone) <= _LINES_MAX and chars <= SUMMARY_CHARS_MAX:
            break
        gone.add(place)
        chars -= len(kept[place]) + 1
    return "\n".join(line for place, line in enumerate(kept) if place not in gone)


def _told_by(turn: Turn, recalled: frozenset[str]) -> Iterable[str]:
    for said in not_echoed(sentences(without_code(turn.content)), recalled):
        if len(words_alone(said).split()) < _WORDS_MIN and len(said) < _LINE_CHARS_MAX // 10:
            continue
        if _by_the_way(turn, said, _sort(said)):
            continue
        yield said


def _about_itself(turn: Turn, said: str) -> bool:
    """Whether it asks for what the assistant can do, answers that, or only chats."""
    plain = plain_quotes(said).strip().lower()
    brief = len(plain.split()) <= _CHAT_WORDS_MAX
    if brief and _CHAT.match(plain):
        return True
    if turn.role == "assistant":
        return _ABLE.match(plain) is not None
    asked = _sort(said) == "question" and CAPABILITY.search(plain)
    return bool(asked) and brief and not _ASKED_FOR.search(plain)


def _by_the_way(turn: Turn, said: str, sort: Sort | None) -> bool:
    """What tells nothing, and what the assistant is about to do: what came of it is said later."""
    if sort in _LEFT_OUT or turn.role == "user":
        return sort in _LEFT_OUT
    about_to = sort in ("action", "question") and not _OUTCOME.search(said)
    return about_to or said.endswith(":")


def _worth(line: str) -> int:
    """How much a line tells: something that lasts, what was asked for or came of it, the rest."""
    said = _said(line)
    worth = should_create(said)
    if not isinstance(worth, Chatter) and worth.sure:
        return 3
    asked = line.startswith("- user: ") and isinstance(worth, Chatter)
    return 2 if asked or _OUTCOME.search(said) else 1


def _sort(said: str) -> Sort | None:
    worth = should_create(said)
    return worth.sort if isinstance(worth, Chatter) else None


def _said(line: str) -> str:
    return line.removeprefix("- ").removeprefix("user: ").removeprefix("assistant: ")


def _said_in(line: str) -> Sequence[str]:
    said = _said(line)
    return (said, *sentences(said))


def _bounded_turn(text: str) -> str:
    if len(text) <= TURN_CHARS_MAX:
        return text
    half = TURN_CHARS_MAX // 2
    return f"{text[:half].rstrip()}\n{text[-half:].lstrip()}"
