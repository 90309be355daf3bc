"""Decides what is worth a memory: what still holds tomorrow.

Kept: stable facts, preferences, goals, decisions, lessons and past events. Refused: moods, states,
one-off actions and requests, questions, small talk, output of programs, and recalled text.

The rules of `data/gate.toml` judge sentence by sentence, in English and German. One sentence worth
keeping keeps the text. A text that no rule knows is kept, and the answer says that nobody is sure:
a lost fact is worse than kept chatter. A kind that the caller chose with care (a decision, a
preference, …) is refused only for what no such memory can be.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from memory_mcp.domain.record import Kind
from memory_mcp.text.recalled import drop_repeated, separate_recalled
from memory_mcp.text.sentences import drop_code, split_sentences, straighten_quotes
from memory_mcp.text.tables import fill, fill_parts, load_table

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
    if whole := _judge_text(text):
        return _refuse(whole)
    found: list[tuple[Verdict, str]] = [
        (_judge_sentence(said, kind), said) for said in _own_sentences(text)
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
    if most == "question" and any(asks_for_capability(said) for _, said in found):
        return Chatter(_CAPABILITY, most)
    return _refuse(most)


def _refuse(sort: Sort) -> Chatter:
    return Chatter(_REASONS[sort], sort)


def _normalise(said: str) -> str:
    return straighten_quotes(said).strip().lower()


def _judge_text(text: str) -> Sort | None:
    """What can be told of the text without reading its sentences."""
    if not _WORD.search(text):
        return "output" if any(c.isdigit() for c in text) else "empty"
    own = separate_recalled(text)
    left = " ".join(_own_sentences(text)) if own.recalled else ""
    if own.recalled and len(_WORD.findall(left)) < _PROSE_WORDS_MIN:
        return "recalled"
    prose = _find_prose(text)
    if len(_WORD.findall(prose)) < _PROSE_WORDS_MIN and len(prose) < len(own.own):
        return "output"
    return "output" if _is_output(prose) else None


def _find_prose(text: str) -> str:
    """The text without what is fenced as code, or as recalled."""
    return drop_code(separate_recalled(text).own)


def _own_sentences(text: str) -> list[str]:
    """Its sentences without those that say again what was recalled in it."""
    return drop_repeated(split_sentences(_find_prose(text)), separate_recalled(text).recalled)


def _is_output(text: str) -> bool:
    if _DATA.fullmatch(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return False
    written = sum(1 for line in lines if _output_line().match(line))
    if len(lines) == 1:
        return written == 1 or _is_code(lines[0])
    shaped = sum(
        1 for line in lines if _code_among_code().fullmatch(line) or _output_line().match(line)
    )
    telling = written + sum(1 for line in lines if _is_code(line))
    return bool(telling) and shaped >= _OUTPUT_SHARE * len(lines)


def _is_code(line: str) -> bool:
    """Whether a line is code by itself, not only among other lines of it."""
    return bool(_code_line().fullmatch(line))


def _judge_sentence(said: str, kind: Kind) -> Verdict:
    """What one sentence is. A chosen kind is harder to refuse."""
    sort = _combine_clauses([_judge_clause(_normalise(clause)) for clause in _CLAUSE.split(said)])
    if kind not in _CHOSEN or sort is None or sort == "lasts" or sort in _NEVER:
        return sort
    brief = len(said.split()) <= _MOOD_WORDS_MAX
    return "passing" if brief and _matches("mood", _normalise(said)) else None


def _combine_clauses(
    sorts: list[Verdict],
) -> Verdict:
    """One clause that lasts, or that no rule knows, is worth the sentence."""
    if "lasts" in sorts:
        return "lasts"
    return None if None in sorts else sorts[0]


def _judge_clause(said: str) -> Verdict:
    """The first rule that knows a sentence."""
    if _is_small_talk(said):
        return "small talk"
    if _matches("standing_request", said) and _matches("request", said):
        return "lasts"
    if not _matches("asks", said):
        return _judge_statement(said)
    polite = _matches("request", said) and not _matches("capability", said)
    return "action" if polite else "question"


def _judge_statement(said: str) -> Verdict:
    if _matches("lasts", said):
        return "lasts"
    if _matches("mood", said):
        return "passing"
    if _matches("reason", said):
        return None
    if _matches("state", said):
        return "passing"
    return "action" if _is_once(said) else None


def _is_once(said: str) -> bool:
    """Whether something is to be done once, is being done, or was."""
    done = _matches("done", said)
    if not done and not _matches("request", said):
        return False
    brief = done or len(said.split()) <= _REQUEST_WORDS_MAX
    return _matches("here", said) or (brief and not _matches("stands", said))


def _is_small_talk(said: str) -> bool:
    heard, (talk, beside) = _WORD.findall(said), _small_talk_words()
    return _GREETING.fullmatch(said) is not None or (
        0 < len(heard) <= _SMALL_TALK_WORDS_MAX
        and any(word in talk for word in heard)
        and all(word in talk or word in beside for word in heard)
    )


def asks_for_capability(said: str) -> bool:
    """Whether a sentence asks what the assistant can do."""
    return _matches("capability", _normalise(said))


_Rule = Literal[
    "asks", "capability", "done", "here", "lasts", "mood", "reason", "request", "standing_request",
    "stands", "state",
]  # fmt: skip


def _matches(rule: _Rule, said: str) -> bool:
    return _pattern(rule).search(said) is not None


@cache
def _pattern(rule: _Rule) -> re.Pattern[str]:
    parts, patterns = fill_parts(load_table("gate")["parts"]), load_table("gate")["rules"][rule]
    return re.compile("|".join(f"(?:{fill(pattern, parts)})" for pattern in patterns))


@cache
def _small_talk_words() -> tuple[frozenset[str], frozenset[str]]:
    """Words of which one must be there, and words that may stand beside them."""
    table = load_table("gate")["small_talk"]
    return frozenset(table["words"].split()), frozenset(table["beside"].split())


@cache
def _output_line() -> re.Pattern[str]:
    """A line that a program wrote."""
    return re.compile("|".join(load_table("gate")["lines"]["output"]))


@cache
def _code_line() -> re.Pattern[str]:
    """A line of code, known as such by itself."""
    return re.compile(rf"\s*(?:{'|'.join(load_table('gate')['lines']['code'])})\s*")


@cache
def _code_among_code() -> re.Pattern[str]:
    """A line of code, of a diff or of data, if it stands among others."""
    return re.compile("|".join(load_table("gate")["lines"]["structure"]))
