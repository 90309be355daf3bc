"""Which memories were compared two by two, and which of them are outdated.

What is shown is rendered after each write, and differs by what was written: who knows what was
compared before compares what is new with the rest, and no more.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

__all__ = ["COMPARISONS_VERSION", "Compared", "Comparisons"]

COMPARISONS_VERSION: Final = 4
"""Raised when statements are compared in another way: what was found before counts no more."""

_KEPT: Final = 8
"""Sets of memories: one for each branch whose opening is rendered, mostly of the same memories."""


class Compared(NamedTuple):
    """Memories of which each two were compared; of those that are outdated, which, and by what.

    A memory stands here as the digest of what its comparisons depend on: no text is kept.
    """

    keys: frozenset[str]
    outdated: frozenset[tuple[str, str]]


class Comparisons:
    """The sets of memories that were compared last; those of an earlier process once `loaded`.

    `used` are those that what is shown now was found by.
    """

    def __init__(self) -> None:
        self._sets = deque([Compared(frozenset(), frozenset())], maxlen=_KEPT)
        self.used = deque[Compared](maxlen=_KEPT)
        self.loaded = False

    def load(self, sets: Iterable[Compared]) -> None:
        """Take over what another process compared."""
        self._sets.extend(sets)
        self.loaded = True

    def find_nearest(self, keys: frozenset[str]) -> Compared:
        """The set that has most of these."""
        return max(self._sets, key=lambda each: len(each.keys & keys))

    def note(self, compared: Compared) -> None:
        """Keep the set as the newest."""
        for kept in (self._sets, self.used):
            if compared in kept:
                kept.remove(compared)
            kept.append(compared)
