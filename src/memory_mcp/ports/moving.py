"""What an import is about to write, noted whole before the first record is written."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from memory_mcp.domain.record import Record

__all__ = ["ImportJournal"]


class ImportJournal(Protocol):
    """The records of one import, until all of them are where they belong.

    - `alone` is held by whoever imports or completes an import; it yields whether it could be: of
      several, in any process, one can at a time. It ends with the process. Only who holds it may
      call the others.
    - `note` is durable when it returns; a cut leaves the whole of it or nothing.
    - `noted` returns what was noted and not cleared, or nothing. A note that cannot be read raises
      `StoreDamagedError` or `NewerSchemaError`, and stays.
    - `clear` is durable when it returns; clearing nothing is no error.
    - `waiting` tells without waiting whether there may be something.
    - What the file system refuses raises `StoreUnavailableError`.
    """

    def alone(self) -> AbstractContextManager[bool]: ...

    def waiting(self) -> bool: ...

    async def note(self, records: Sequence[Record]) -> None: ...

    async def noted(self) -> list[Record]: ...

    async def clear(self) -> None: ...
