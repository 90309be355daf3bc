"""A language model that tests own: what it answers is scripted, or follows from simple rules.

`FakeLanguage` stands in for the port; the rules are also what the server of `chat_server` answers.
"""

import re
from collections.abc import Sequence
from typing import Final

from memory_mcp.domain.deduplication import Classification, Judgement, StatementClass
from memory_mcp.domain.limits import SUMMARY_CHARS_MAX
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.text.faithful import find_merge_flaw, find_summary_flaw

__all__ = ["FakeLanguage", "composed_of", "judged", "short_of", "sort_of", "sum_of"]

_NUMBER: Final = re.compile(r"\d+")
_OPENINGS: Final[dict[str, StatementClass]] = {
    "hello": "chatter",
    "thanks": "chatter",
    "we decided": "decision",
    "i prefer": "preference",
    "i want to": "goal",
    "lesson": "lesson",
    "right now": "passing",
    "please": "action",
}


def judged(old: str, new: str) -> Judgement:
    """One fact if the words are the same; a changed one if only numbers differ."""
    one, other = old.casefold().strip(" ."), new.casefold().strip(" .")
    if one == other:
        return "same"
    return "contradicts" if _NUMBER.sub("0", one) == _NUMBER.sub("0", other) else "different"


def composed_of(old: str, new: str) -> str:
    """The newer text, and the older one behind it if they are two."""
    return f"{new} {old}" if judged(old, new) == "different" else new


def sort_of(text: str) -> StatementClass:
    """By how it begins, or by its question mark."""
    if text.rstrip().endswith("?"):
        return "question"
    begins = text.strip().casefold()
    for opening, sort in _OPENINGS.items():
        if begins.startswith(opening):
            return sort
    return "fact"


def sum_of(turns: Sequence[str]) -> str:
    """The turns themselves, as far as there is room."""
    return " ".join(" ".join(turns)[:SUMMARY_CHARS_MAX].split())


def short_of(text: str) -> str:
    """Its first sentence."""
    return text.partition(". ")[0].rstrip(".") + "."


class FakeLanguage:
    """Implements `ports.LanguageModel`.

    What stands in `judgements`, `compositions` (by older and newer text), `sorts` (by text),
    `summaries` and `shortened` (one after the other) is answered; else the rules above do. While
    `failing` holds a sentence it fails with it. `asked` lists each call with its texts.
    """

    def __init__(self) -> None:
        self.judgements: dict[tuple[str, str], Judgement] = {}
        self.compositions: dict[tuple[str, str], str] = {}
        self.sorts: dict[str, StatementClass] = {}
        self.summaries: list[str] = []
        self.shortened: list[str] = []
        self.asked: list[tuple[str, ...]] = []
        self.failing = ""
        self.closed = False

    async def same_fact(self, old: str, new: str) -> Judgement:
        self._heard("same_fact", old, new)
        return self.judgements.get((old, new)) or judged(old, new)

    async def compose(self, old: str, new: str) -> str:
        self._heard("compose", old, new)
        text = self.compositions.get((old, new), composed_of(old, new))
        return _sound(text, find_merge_flaw(text, old, new))

    async def classify(self, text: str) -> Classification:
        self._heard("classify", text)
        return Classification(self.sorts.get(text) or sort_of(text))

    async def summarise(self, turns: Sequence[str]) -> str:
        self._heard("summarise", *turns)
        if not any(turn.strip() for turn in turns):
            raise ModelUnavailableError("There is nothing to sum up.")
        text = self.summaries.pop(0) if self.summaries else sum_of(turns)
        return _sound(" ".join(text.split()), find_summary_flaw(text, turns))

    @property
    def identity(self) -> str:
        return "fake"

    async def shorten(self, text: str, chars: int, about: str = "", instructions: str = "") -> str:
        self._heard("shorten", text, str(chars), about, instructions)
        answer = self.shortened.pop(0) if self.shortened else short_of(text)
        return _sound(answer, find_summary_flaw(answer, (text, about), len(text) - 1))

    async def aclose(self) -> None:
        self.closed = True

    def _heard(self, *call: str) -> None:
        self.asked.append(call)
        if self.failing:
            raise ModelUnavailableError(self.failing)


def _sound(text: str, flaw: str) -> str:
    if flaw:
        raise ModelUnavailableError(f"What the model wrote is not used: {flaw}.")
    return text.strip()
