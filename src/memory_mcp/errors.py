"""Everything this package raises on purpose.

MemoryMcpError
├── InvalidRequestError           the caller can fix it; the message says how
│   ├── AmbiguousIdError          a part of an id that fits several
│   ├── UnknownMemoryError
│   ├── UnknownTargetError        no such checkpoint, phase, line or branch
│   └── SettingError              a setting or an option has a value we do not know
├── DeadlineError                 a call took too long; the message says what it waited for
├── ConflictError                 somebody else moved the head in between: look again
├── ModelUnavailableError         a model cannot help now: words and rules do, and it is said
├── GitSilentError                git could not be asked: memories stand as they stood
├── RemoteError                   the cloud could not be asked: local work goes on
│   ├── RemoteUnavailableError    try again later: network, timeout, 429, 5xx, no answer of its own
│   ├── RemoteBlockedError        nothing works until a person acts: key, credit, plan
│   └── RemoteRejectedError       this very request will never work
└── StoreError
    ├── StoreUnavailableError     try again, or repair the folder that the message names
    │   ├── DatabaseAwayError     the database does not answer now: a new memory may wait for it
    │   └── StoreReadOnlyError    the index may be read and not written: what is in it is answered
    ├── StoreDamagedError         never retried: `memory-mcp doctor` explains it
    ├── NewerSchemaError          written by a newer memory-mcp: update this one
    ├── IndexBusyError            the index is locked: the records are safe
    └── IndexDamagedError         the index is broken: it is rebuilt from the records

Anything else that escapes is a bug.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from memory_mcp.hints import name_id, name_step

_NAMED_MAX: Final = 12
"""Names listed in a message: it is to be read, not searched."""
_NEAR_MIN: Final = 0.8
"""So much of an id is the same in one that may be meant: beginnings are times, and alike."""
_ECHO_CHARS_MAX: Final = 80
"""How much of a wrong value a message repeats."""


def quote(value: str) -> str:
    """A wrong value as a message repeats it: in quotes, and not all of a long one."""
    return repr(value if len(value) <= _ECHO_CHARS_MAX else f"{value[:_ECHO_CHARS_MAX]}…")


class MemoryMcpError(Exception):
    """Base of every error raised on purpose."""


class GitSilentError(MemoryMcpError):
    """Git could not say something: it is not installed, too slow, or an object is missing."""


class InvalidRequestError(MemoryMcpError):
    """A better request would have worked; the caller reads the message."""


class AmbiguousIdError(InvalidRequestError):
    """A part of an id fits several that are visible from here."""

    def __init__(self, what: str, part: str, candidates: Iterable[str]) -> None:
        names = list(candidates)
        more = ", …" if len(names) > _NAMED_MAX else ""
        super().__init__(
            f"{quote(part)} fits {'several' if more else len(names)} {what}: "
            f"{', '.join(names[:_NAMED_MAX])}{more}. Give more of the id."
        )


def describe_unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`No prompt 'clos'. Did you mean 'close'? Known: close, start.`."""
    from difflib import get_close_matches  # noqa: PLC0415  # few calls end so

    choices = list(known)
    near = get_close_matches(name, choices, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    return f"{what} {name!r}.{guess} Known: {', '.join(choices) or 'none'}."


class UnknownMemoryError(InvalidRequestError):
    """No memory of that id is visible from here; `why` says why, if that is known.

    `needed` says how long a part of an id must be, where this one is too short.
    """

    def __init__(
        self, memory_id: str, *, nearest: Iterable[str] = (), why: str = "", needed: str = ""
    ) -> None:
        self.memory_id = memory_id
        if why:
            super().__init__(f"Memory {quote(memory_id)} {why}.")
            return
        known = [*nearest]
        part = memory_id.lower()
        near = [id_ for id_ in known if part and (id_.startswith(part) or id_.endswith(part))][:3]
        if not near:
            from difflib import get_close_matches  # noqa: PLC0415  # few calls end so

            near = get_close_matches(part, known, n=3, cutoff=_NEAR_MIN)
        meant = f" Nearest: {', '.join(map(name_id, near))}." if near else ""
        what = f"No memory {quote(memory_id)} here."
        if needed:
            what = f"{quote(memory_id)} is too little of an id: give {needed}."
        super().__init__(f"{what}{meant} Take the id from {name_step('search_memories')}.")


class UnknownTargetError(InvalidRequestError):
    """No checkpoint, phase, line or branch of that name. `step` is what would begin one."""

    def __init__(
        self, what: str, name: str, *, known: Iterable[str], nearest: str = "", step: str = ""
    ) -> None:
        self.name = name
        names = list(known)
        more = f" and {len(names) - _NAMED_MAX} others" if len(names) > _NAMED_MAX else ""
        choices = ", ".join(names[-_NAMED_MAX:]) or "none yet"
        guess = f" Did you mean {nearest!r}?" if nearest else ""
        after = f" {step}" if step else ""
        super().__init__(f"No {what} {quote(name)}.{guess} Known: {choices}{more}.{after}")


class SettingError(InvalidRequestError):
    """A setting has an unknown value. A value of None is a secret, and not shown."""

    def __init__(self, name: str, value: str | None, choices: str) -> None:
        self.name = name
        stands = "cannot be used (not shown here)"
        if value is not None:
            number = value.removeprefix("-").replace(".", "", 1)  # which is no text in quotes
            stands = f"is {value if number.isdecimal() else repr(value)}"
        super().__init__(f"{name} {stands}; it must be {choices}. Correct it and start again.")


class DeadlineError(MemoryMcpError):
    """A call exceeded its time. What it was to write may still be written."""

    def __init__(self, name: str, seconds: float, waits: Sequence[str], *, writes: bool) -> None:
        held = waits[-1] if waits else "the disk or another call"
        after = (
            "It was not stopped and may have been stored, or will be in a moment: look with "
            "search_memories or memory_head before you repeat it."
            if writes
            else "Nothing was changed; try again in a moment."
        )
        super().__init__(
            f"{name} took longer than {seconds:g} s, because it waits for {held}. {after} If this "
            "goes on, the user can run `memory-mcp doctor`; work goes on without the memory."
        )


class ConflictError(MemoryMcpError):
    """The head moved between looking and moving; nothing was changed."""


class ModelUnavailableError(MemoryMcpError):
    """A model gives no vectors or no answer now. Never fatal: the caller goes on without.

    `status` is the HTTP status, if its server refused.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RemoteError(MemoryMcpError):
    """The cloud could not do what was asked. Never fatal: the memories are on this machine."""


class RemoteUnavailableError(RemoteError):
    """The cloud did not answer, or not in its own form.

    `retry_after` is the pause in seconds that it asked for. `refused`: it surely did nothing (429);
    otherwise the request may have been carried out.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, refused: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.refused = refused


class RemoteBlockedError(RemoteError):
    """The key, the credit or the plan does not allow it (401, 402, 403)."""


class RemoteRejectedError(RemoteError):
    """The cloud will never accept this request (400, 404, 422)."""


class StoreError(MemoryMcpError):
    """The files or the index could not do what was asked.

    The message is `what` happened and the `remedy`, the next step, which may be a part of `what`.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what} {remedy}".rstrip())
        self.what = what
        self.remedy = remedy


class StoreUnavailableError(StoreError):
    """The file system refused. The message names the path and what to do."""


class DatabaseAwayError(StoreUnavailableError):
    """The database cannot be reached, or takes no writes now. It may have done what was asked."""


class StoreReadOnlyError(StoreUnavailableError):
    """The file may be read and not written."""


class StoreDamagedError(StoreError):
    """A file of ours does not hold what it should. It is left as it is."""


class NewerSchemaError(StoreError):
    """A file was written by a newer version of memory-mcp. It is left as it is."""

    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(
            f"{path} has schema version {found}; this memory-mcp knows up to {known}.",
            "Update memory-mcp (pip install -U backtrack-memory); the file is left as it is.",
        )


class IndexBusyError(StoreError):
    """Another process holds the index for too long. Records are not affected."""


class IndexDamagedError(StoreError):
    """The index cannot be read. It is rebuilt from the records."""
