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
├── RemoteError                   the cloud could not be asked: local work goes on
│   ├── RemoteUnavailableError    try again later: network, timeout, 429, 5xx, no answer of its own
│   ├── RemoteBlockedError        nothing works until a person acts: key, credit, plan
│   └── RemoteRejectedError       this very request will never work
└── StoreError
    ├── StoreUnavailableError     try again, or mend the folder the message names
    ├── StoreDamagedError         never retried: `memory-mcp doctor` explains it
    ├── NewerSchemaError          written by a newer memory-mcp: update this one
    ├── IndexBusyError            the index is locked: the records are safe
    └── IndexDamagedError         the index is broken: it is rebuilt from the records

Anything else that escapes is a bug.
"""

from collections.abc import Iterable, Sequence
from typing import Final

_NAMED_MAX: Final = 12
"""Names listed in a message: it is to be read, not searched."""
_ECHO_CHARS_MAX: Final = 80
"""How much of a wrong value a message repeats."""


def _short(value: str) -> str:
    return value if len(value) <= _ECHO_CHARS_MAX else f"{value[:_ECHO_CHARS_MAX]}…"


class MemoryMcpError(Exception):
    """Base of every error raised on purpose."""


class InvalidRequestError(MemoryMcpError):
    """A better request would have worked, so the caller gets to read the message."""


class AmbiguousIdError(InvalidRequestError):
    """A part of an id that fits several of those that can be seen from here."""

    def __init__(self, what: str, part: str, candidates: Iterable[str]) -> None:
        names = list(candidates)
        more = ", …" if len(names) > _NAMED_MAX else ""
        super().__init__(
            f"{_short(part)!r} fits {'several' if more else len(names)} {what}: "
            f"{', '.join(names[:_NAMED_MAX])}{more}. Give more of the id."
        )


class UnknownMemoryError(InvalidRequestError):
    """No memory of that id can be seen from here; `why` says why, if that is known.

    `needed`: what a part of an id must have, where this one has too little to name what it fits.
    """

    def __init__(
        self, memory_id: str, *, nearest: Iterable[str] = (), why: str = "", needed: str = ""
    ) -> None:
        self.memory_id = memory_id
        if why:
            super().__init__(f"Memory {_short(memory_id)!r} {why}.")
            return
        choices = ", ".join(nearest) or "none yet"
        what = f"No memory {_short(memory_id)!r} here."
        if needed:
            what = f"{_short(memory_id)!r} is too little of an id: give {needed}."
        super().__init__(
            f"{what} Nearest known: {choices}. Take the memoryId from search_memories."
        )


class UnknownTargetError(InvalidRequestError):
    """No checkpoint, phase, line or branch of that name."""

    def __init__(self, what: str, name: str, *, known: Iterable[str], nearest: str = "") -> None:
        self.name = name
        names = list(known)
        more = f" and {len(names) - _NAMED_MAX} earlier ones" if len(names) > _NAMED_MAX else ""
        choices = ", ".join(names[-_NAMED_MAX:]) or "none yet"
        guess = f" Did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"No {what} {_short(name)!r}.{guess} Known: {choices}{more}.")


class SettingError(InvalidRequestError):
    """A setting holds a value that means nothing. A value of None is a secret: it is not shown."""

    def __init__(self, name: str, value: str | None, choices: str) -> None:
        self.name = name
        stands = "cannot be used (not shown here)" if value is None else f"is {value!r}"
        super().__init__(f"{name} {stands}; it must be {choices}. Correct it and start again.")


class DeadlineError(MemoryMcpError):
    """A call is not done within its time. What it was to write may still be written."""

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
    """A model gives no vectors or no answer now. Never fatal: the caller carries on without.

    `status` is what its server answered, if that was a refusal.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RemoteError(MemoryMcpError):
    """The cloud could not do what was asked. Never the end of a use case: the memories are here."""


class RemoteUnavailableError(RemoteError):
    """It did not answer, or with something that is no answer of its own.

    `retry_after` is the pause in seconds that it asked for, if it asked; `refused` says that it
    surely did nothing (a 429), where else the request may have been carried out.
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
    """The request is one that it never takes (400, 404, 422)."""


class StoreError(MemoryMcpError):
    """The files or the index could not do what was asked."""


class StoreUnavailableError(StoreError):
    """The file system refused. The message names the path and what to do."""


class StoreDamagedError(StoreError):
    """A file of ours cannot be read as what it should be. It is left as it is."""


class NewerSchemaError(StoreError):
    """A file was written by a newer version of memory-mcp. It is left as it is."""

    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(
            f"{path} has schema version {found}; this memory-mcp knows up to {known}. "
            "Update memory-mcp (pip install -U backtrack-memory); the file is left as it is."
        )


class IndexBusyError(StoreError):
    """Another process holds the index for longer than we wait. Records are not affected."""


class IndexDamagedError(StoreError):
    """The index cannot be read. It is a derivative and is rebuilt from the records."""
