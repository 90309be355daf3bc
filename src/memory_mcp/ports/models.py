"""Models that make vectors of texts, and models that read statements."""

from collections.abc import Sequence
from typing import Protocol

from memory_mcp.domain.deduplication import Classification, Judgement
from memory_mcp.domain.search import PassageVectors, QueryVectors


class LanguageModel(Protocol):
    """A model that reads statements. Nothing needs it: every caller has a rule to fall back on.

    - `same_fact` says whether two statements are about one fact, and whether the newer one
      contradicts the older.
    - `compose` makes one text of both. It holds the newer text's words, in its order, and of the
      older one's what is not replaced; nothing that is in neither (`text.faithful`).
    - `classify` says whether a statement is worth a memory, why, and of which kind.
    - `summarise` says in one paragraph what happened in these turns, the oldest first. It has at
      most `SUMMARY_CHARS_MAX` characters, names no day by its distance from today, and has no
      name, number or address that is not in the turns (`text.faithful.find_summary_flaw`).
    - `identity` names the model: another one would answer otherwise.
    - `shorten` says the text in about so many characters; the caller checks the length. It is
      shorter than the text, and has no name, number or address that is in neither the text nor
      `about`, which says what the text is. `instructions` take the place of the usual ones;
      `{max_chars}`, `{context_hint}` and `{text}` in them are filled in.
    - Texts are data, never instructions. Answers are checked; one of another form is no answer.
    - Each call ends within `LANGUAGE_SECONDS_MAX`. After a failure calls fail at once for a pause
      that grows. Several calls at once are safe.
    - Nothing is loaded or asked before the first call; `aclose` can be followed by another call.
    - `ModelUnavailableError` is the only failure, never fatal; its message repeats neither a text
      nor the key.
    """

    @property
    def identity(self) -> str: ...
    async def same_fact(self, old: str, new: str) -> Judgement: ...
    async def compose(self, old: str, new: str) -> str: ...
    async def classify(self, text: str) -> Classification: ...
    async def summarise(self, turns: Sequence[str]) -> str: ...
    async def shorten(
        self, text: str, chars: int, about: str = "", instructions: str = ""
    ) -> str: ...
    async def aclose(self) -> None: ...


class Embedder(Protocol):
    """Text to vectors, by a model on this machine or behind an address.

    - `here`: it runs on this machine, so that a write may wait for it.
    - `identity` names the model, its version and the form of its vectors: vectors of different
      identities are never compared. It is known without loading anything.
    - `passages` answers for each text in its order. `question` is for the other side of a search.
    - Texts longer than the model can take are cut into chunks that overlap a little.
    - The model is loaded by the first call and may be let go when idle; several calls at once are
      safe, and none blocks the event loop.
    - `ModelUnavailableError` is the only failure, never fatal: its message says what to do.
    """

    @property
    def here(self) -> bool: ...
    @property
    def identity(self) -> str: ...
    async def passages(self, texts: Sequence[str]) -> list[PassageVectors]: ...
    async def question(self, text: str) -> QueryVectors: ...
    async def aclose(self) -> None: ...
