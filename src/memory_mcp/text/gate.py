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
from functools import cache
from typing import Final, Literal

from memory_mcp.domain.record import Kind
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.text.recalled import drop_repeated, separate_recalled
from memory_mcp.text.sentences import drop_code, split_sentences, straighten_quotes
from memory_mcp.text.tables import load_pattern, load_table, matches

ChatterClass = Literal["empty", "recalled", "output", "small talk", "question", "passing", "action"]


@frozen
class Keep:
    """Worth a memory. `sure`: a rule sentence so; else no rule knew better."""

    sure: bool


@frozen
class Chatter:
    """Not worth one; `reason` is the rest of a sentence that begins with "It"."""

    reason: str
    sort: ChatterClass


Worth = Keep | Chatter

SentenceClass = ChatterClass | Literal["lasts"] | None
"""What a sentence is; None if no rule knows it."""

_CHOSEN: Final[frozenset[Kind]] = frozenset(
    {"preference", "convention", "pattern", "decision", "lesson", "identity"}
)
"""Kinds that a caller chooses with care."""
_NEVER: Final[frozenset[ChatterClass]] = frozenset(
    {"empty", "recalled", "output", "small talk", "question"}
)
"""What no memory of any kind may be."""

_REASONS: Final[dict[ChatterClass, str]] = {
    "empty": "holds no words.",
    "recalled": "came out of this memory's own recall.",
    "output": "is output, code or data, not a statement about it.",
    "small talk": "is small talk: a greeting, thanks or an acknowledgement.",
    "question": "is a question; what is worth keeping is the answer.",
    "passing": "holds for the moment only.",
    "action": "is about something done once; what is worth keeping is what it means from now on.",
}
_CAPABILITY: Final = "is a question about what the assistant can do."

_DATA: Final = compile_later(r"\s*(?:\{.*\}|\[[^\]\w]*[\"'{\[\d].*\])\s*", re.DOTALL)
_CLAUSE: Final = compile_later(r";\s+")
_WORD: Final = compile_later(r"[^\W\d_][\w']*|[👍🙏🎉😀😂👌]")
_PROSE_WORDS_MIN: Final = 5
"""So many words, beside code or small talk, may say something that lasts."""
_OUTPUT_SHARE: Final = 0.5
"""So much of the lines must be a program's for the whole to be its output."""
_SMALL_TALK_WORDS_MAX: Final = 12
_REQUEST_WORDS_MAX: Final = 7
"""A longer one may be a rule in the same mood: "Report to Dana, not to Miro, when …"."""
_MOOD_WORDS_MAX: Final = 8
"""Longer than this a chosen kind is given the benefit of the doubt."""


def judge_worth(text: str, kind: Kind = "fact") -> Worth:
    """Whether a new memory of this text is worth having, and why not."""
    if whole := _judge_text(text):
        return _refuse(whole)
    found: list[tuple[SentenceClass, str]] = [
        (_judge_sentence(sentence, kind), sentence) for sentence in _split_own_sentences(text)
    ]
    if any(sort == "lasts" for sort, _ in found):
        return Keep(sure=True)
    passing: Counter[ChatterClass] = Counter()
    unknown = [0]
    for sort, sentence in found:
        if sort is None:
            unknown.append(len(sentence.split()))
        elif sort != "lasts":
            passing[sort] += len(sentence.split())
    if max(unknown) >= _PROSE_WORDS_MIN or sum(unknown) >= sum(passing.values()):
        return Keep(sure=False)
    most = max(passing, key=lambda each: passing[each])
    if most == "question" and any(asks_for_capability(sentence) for _, sentence in found):
        return Chatter(_CAPABILITY, most)
    return _refuse(most)


def _refuse(sort: ChatterClass) -> Chatter:
    return Chatter(_REASONS[sort], sort)


def lower_text(text: str) -> str:
    """The text in lower case with straight quotes, as the rules are written."""
    return straighten_quotes(text).strip().lower()


def _judge_text(text: str) -> ChatterClass | None:
    """The class of the text, as far as it shows without reading its sentences."""
    if not _WORD.search(text):
        return "output" if any(c.isdigit() for c in text) else "empty"
    own = separate_recalled(text)
    left = " ".join(_split_own_sentences(text)) if own.recalled else ""
    if own.recalled and len(_WORD.findall(left)) < _PROSE_WORDS_MIN:
        return "recalled"
    prose = _find_prose(text)
    if len(_WORD.findall(prose)) < _PROSE_WORDS_MIN and len(prose) < len(own.own):
        return "output"
    return "output" if _is_output(prose) else None


def _find_prose(text: str) -> str:
    """The text without what is fenced as code, or as recalled."""
    return drop_code(separate_recalled(text).own)


def _split_own_sentences(text: str) -> list[str]:
    """Its sentences without those that repeat what was recalled in it."""
    return drop_repeated(split_sentences(_find_prose(text)), separate_recalled(text).recalled)


def _is_output(text: str) -> bool:
    """Whether a program wrote it: data, or lines of which half are output or code."""
    if _DATA.fullmatch(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    output, among_code = load_pattern("gate", "output"), load_pattern("gate", "structure")
    certain = [is_program_line(line) for line in lines]
    if len(lines) <= 1:
        return any(certain)
    shaped = sum(1 for line in lines if among_code.fullmatch(line) or output.match(line))
    return any(certain) and shaped >= _OUTPUT_SHARE * len(lines)


def is_program_line(line: str) -> bool:
    """Whether a program wrote the line, as far as it shows by itself."""
    output = load_pattern("gate", "output").match(line)
    return output is not None or _code_line().fullmatch(line) is not None


def _judge_sentence(sentence: str, kind: Kind) -> SentenceClass:
    """The class of one sentence. A chosen kind is harder to refuse."""
    clauses: list[SentenceClass] = [
        _judge_clause(lower_text(clause)) for clause in _CLAUSE.split(sentence)
    ]
    # one clause that lasts, or that no rule knows, is worth the sentence
    sort: SentenceClass = None if None in clauses else clauses[0]
    if "lasts" in clauses:
        sort = "lasts"
    if kind not in _CHOSEN or sort is None or sort == "lasts" or sort in _NEVER:
        return sort
    brief = len(sentence.split()) <= _MOOD_WORDS_MAX
    return "passing" if brief and _matches("mood", lower_text(sentence)) else None


def _judge_clause(sentence: str) -> SentenceClass:
    """The class that the first matching rule gives."""
    if _is_small_talk(sentence):
        return "small talk"
    if _matches("standing_request", sentence) and _matches("request", sentence):
        return "lasts"
    if not _matches("asks", sentence):
        return _judge_statement(sentence)
    polite = _matches("request", sentence) and not _matches("capability", sentence)
    return "action" if polite else "question"


def _judge_statement(sentence: str) -> SentenceClass:
    if _matches("lasts", sentence):
        return "lasts"
    if _matches("mood", sentence):
        return "passing"
    if _matches("reason", sentence):
        return None
    if _matches("state", sentence):
        return "passing"
    return "action" if _is_once(sentence) else None


def _is_once(sentence: str) -> bool:
    """Whether something is to be done once, is being done, or was."""
    done = _matches("done", sentence)
    if not done and not _matches("request", sentence):
        return False
    brief = done or len(sentence.split()) <= _REQUEST_WORDS_MAX
    return _matches("here", sentence) or (brief and not _matches("stands", sentence))


def _is_small_talk(sentence: str) -> bool:
    found, (talk, beside) = _WORD.findall(sentence), _small_talk_words()
    return load_pattern("gate", "greeting").fullmatch(sentence) is not None or (
        0 < len(found) <= _SMALL_TALK_WORDS_MAX
        and any(word in talk for word in found)
        and all(word in talk or word in beside for word in found)
    )


def asks_for_capability(sentence: str) -> bool:
    """Whether a sentence asks what the assistant can do."""
    return _matches("capability", lower_text(sentence))


def _matches(rule: str, sentence: str) -> bool:
    return matches("gate", rule, sentence)


@cache
def _small_talk_words() -> tuple[frozenset[str], frozenset[str]]:
    """Words of which one must be there, and words that may stand beside them."""
    table = load_table("gate")["small_talk"]
    return frozenset(table["words"].split()), frozenset(table["beside"].split())


@cache
def _code_line() -> re.Pattern[str]:
    """Matches a line of code that is known as such by itself."""
    return re.compile(rf"\s*(?:{load_pattern('gate', 'code').pattern})\s*")
