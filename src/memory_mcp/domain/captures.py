"""What is captured of the user's words, and what waits for the user's agreement."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from memory_mcp.domain.checked import FrozenModel
from memory_mcp.domain.fields import AwareTime
from memory_mcp.domain.limits import (
    SUGGESTION_DAYS_MAX,
    SUGGESTION_MEMORY_DAYS_MAX,
    SUGGESTIONS_MAX,
)
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.outcomes import AddOutcome, MemoryAdded
from memory_mcp.domain.record import Kind, Record
from memory_mcp.frozen import frozen

CaptureMode = Literal["off", "suggest", "auto"]
"""Capture nothing; name it and ask; keep it and say so."""

CaptureCategory = Literal["decision", "goal", "lesson", "convention", "preference", "fact"]

_KINDS: Final[dict[CaptureCategory, Kind]] = {
    "decision": "decision",
    "goal": "fact",
    "lesson": "lesson",
    "convention": "convention",
    "preference": "preference",
    "fact": "fact",
}
_IMPORTANCE: Final[dict[CaptureCategory, int]] = {
    "decision": 4, "goal": 4, "lesson": 4, "convention": 4, "preference": 3, "fact": 3,
}  # fmt: skip
"""What a later session must not act against comes before what is good to know."""


@frozen
class Capture:
    """A statement in the user's words. `everywhere`: it is the user's own, in each project.

    `sure`: it may be kept without being asked for; what is less sure is suggested.
    """

    statement: str
    category: CaptureCategory
    everywhere: bool = False
    sure: bool = True

    @property
    def kind(self) -> Kind:
        return _KINDS[self.category]

    @property
    def importance(self) -> int:
        return _IMPORTANCE[self.category]


SuggestionState = Literal["waiting", "listed", "named", "passed", "kept", "decided"]
"""Not shown yet; shown to the user alone, who may decide it; shown last, without an answer; passed
over, as others were shown since; kept and not said yet; nothing is left to do."""


class Suggestion(FrozenModel):
    """A captured statement, and where it was said. Once it is decided only its digest is left.

    `memory`: the id of the memory that it was kept as, until that is said.
    """

    digest: str
    statement: str = ""
    category: CaptureCategory = "fact"
    everywhere: bool = False
    state: SuggestionState
    at: AwareTime
    user: str
    branch: str
    segment: str
    session: str = ""
    memory: str = ""

    @property
    def is_open(self) -> bool:
        """Whether somebody must still be shown it, or answer."""
        return self.state != "decided"

    @property
    def capture(self) -> Capture:
        return Capture(self.statement, self.category, self.everywhere)

    def moved_to(self, state: SuggestionState) -> "Suggestion":
        """The suggestion in another state; the words of a decided one are not kept."""
        gone = {"statement": "", "memory": ""} if state == "decided" else {}
        return self.model_copy(update={"state": state, **gone})


Suggestions = tuple[Suggestion, ...]


def drop_expired(known: Iterable[Suggestion], now: datetime) -> Suggestions:
    """Those that may still be answered, and the newest of what was decided."""
    days = {True: SUGGESTION_DAYS_MAX, False: SUGGESTION_MEMORY_DAYS_MAX}
    fresh = [each for each in known if now - each.at <= timedelta(days=days[each.is_open])]
    return tuple(fresh[-SUGGESTIONS_MAX:])


def add_new(known: Suggestions, more: Sequence[Suggestion]) -> Suggestions:
    """Both; what was said before is not asked again, whatever the answer was."""
    there = {(each.user, each.digest) for each in known}
    return (*known, *(each for each in more if (each.user, each.digest) not in there))


def replace_states(
    known: Suggestions, states: dict[str, SuggestionState], user: str
) -> Suggestions:
    """The suggestions, those of these digests in their new states."""
    return tuple(
        each.moved_to(states[each.digest])
        if each.user == user and each.digest in states and each.is_open
        else each
        for each in known
    )


def ask_again(known: Suggestions, statement: str, user: str) -> Suggestions:
    """The suggestions, the decided one of this statement open again, in these words."""
    said = {"statement": statement, "state": "named"}
    return tuple(
        each.model_copy(update=said)
        if each.user == user and each.digest == digest_statement(statement) and not each.is_open
        else each
        for each in known
    )


def withdraw(known: Suggestions, digests: Collection[str], session: str, user: str) -> Suggestions:
    """Without these of the session: said again, they are new."""
    return tuple(
        each
        for each in known
        if not (each.digest in digests and each.session == session and each.user == user)
    )


def withdraw_since(known: Suggestions, session: str, since: datetime) -> Suggestions:
    """Without what the session said from that moment on and nobody has answered."""
    return tuple(
        each
        for each in known
        if not (each.is_open and each.session == session and each.at >= since)
    )


def digest_statement(statement: str) -> str:
    """By what a statement is recognised, however it is spelt."""
    return digest(statement)


@frozen
class CaptureReport:
    """What became of the turns: kept as memories, or suggested. `mode` says who decides.

    `retracted` is what the user took back of what was captured before.
    """

    mode: CaptureMode
    added: tuple[MemoryAdded, ...] = ()
    suggested: tuple[Capture, ...] = ()
    retracted: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[Record, ...]:
        """The memories that it was kept as."""
        return tuple(each.record for each in self.added)


@frozen
class SuggestionsDecided:
    """The user's word was carried out: what became of each, or how many were dropped."""

    kept: tuple[AddOutcome, ...] = ()
    dropped: int = 0
