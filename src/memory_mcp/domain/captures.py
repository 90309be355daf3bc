"""What is captured of the user's words, and what waits for the user's agreement."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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


SuggestionState = Literal["waiting", "listed", "named", "passed", "kept", "decided", "dropped"]
"""Not shown yet; shown to the user alone, who may decide it; shown last, without an answer; passed
over, as others were shown since; kept and not said yet; nothing is left to do; nothing either, as
the user does not want it."""

_DONE: Final = ("decided", "dropped")

SuggestionKey = tuple[str, str, str]
"""The digest of a statement, and the branch and the segment where it was said."""


class Suggestion(FrozenModel):
    """A captured statement, and where it was said. Once it is decided only its digest is left.

    `memory`: the id of the memory that it was kept as, until that is said. `latest`: the session
    has said nothing since, so that it is what "forget that" is about.
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
    latest: bool = False

    @property
    def key(self) -> SuggestionKey:
        """By what it is told from another one: the same words said elsewhere are another."""
        return self.digest, self.branch, self.segment

    @property
    def is_open(self) -> bool:
        """Whether somebody must still be shown it, or answer."""
        return self.state not in _DONE

    @property
    def capture(self) -> Capture:
        return Capture(self.statement, self.category, self.everywhere)

    def moved_to(self, state: SuggestionState) -> "Suggestion":
        """The suggestion in another state; the words of a decided one are not kept."""
        gone = {"statement": "", "memory": ""} if state in _DONE else {}
        return self.model_copy(update={"state": state, **gone})


Suggestions = tuple[Suggestion, ...]


def drop_expired(known: Iterable[Suggestion], now: datetime) -> Suggestions:
    """Those that may still be answered, and the newest of what was decided."""
    days = {True: SUGGESTION_DAYS_MAX, False: SUGGESTION_MEMORY_DAYS_MAX}
    fresh = [each for each in known if now - each.at <= timedelta(days=days[each.is_open])]
    return tuple(fresh[-SUGGESTIONS_MAX:])


def add_new(known: Suggestions, more: Sequence[Suggestion]) -> Suggestions:
    """Both; what was said at the same place before is not asked again, whatever the answer was."""
    there = {(each.user, each.key) for each in known}
    return (*known, *(each for each in more if (each.user, each.key) not in there))


def add_latest(
    known: Suggestions, more: Sequence[Suggestion], session: str, user: str
) -> Suggestions:
    """Both, as the session has just said something else than what was its latest before."""
    earlier = _replace(
        known,
        lambda each: each.latest and each.session == session and each.user == user,
        lambda each: each.model_copy(update={"latest": False}),
    )
    return add_new(earlier, more)


def replace_states(
    known: Suggestions, states: Mapping[SuggestionKey, SuggestionState], user: str
) -> Suggestions:
    """The suggestions, those of these keys in their new states."""
    return _replace(
        known,
        lambda each: each.user == user and each.key in states and each.is_open,
        lambda each: each.moved_to(states[each.key]),
    )


def ask_again(known: Suggestions, key: SuggestionKey, statement: str, user: str) -> Suggestions:
    """The suggestions, the decided one of this key open again, in these words."""
    return _replace(
        known,
        lambda each: each.user == user and each.key == key and not each.is_open,
        lambda each: each.model_copy(update={"statement": statement, "state": "named"}),
    )


def _replace(
    known: Suggestions,
    matches: Callable[[Suggestion], bool],
    change: Callable[[Suggestion], Suggestion],
) -> Suggestions:
    """The suggestions in their order, those that match as `change` makes them."""
    return tuple(change(each) if matches(each) else each for each in known)


def withdraw(known: Suggestions, gone: Collection[SuggestionKey], user: str) -> Suggestions:
    """Without these: said again, they are new."""
    return tuple(each for each in known if each.key not in gone or each.user != user)


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
