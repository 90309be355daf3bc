"""Pieces of text whose own vectors are not kept: nobody's question is nearest to an "of".

They are half of all pieces. Without them vectors take half the room and time, and on the sets of
benchmarks/ as much is found. What they do to the vectors of their neighbours is in those.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["little"]

_WORDS: Final = frozenset(
    # a text that wraps reads better than a list of quotes
    """
    a an the and or but if of to in on at by for with from as is are was were be been being am do
    does did doing have has had having i me my we us our you your he him his she her it its they
    them their this that these those there here not no so than too very just will would can could
    should what which who when where why how s t re ll ve d m
    """.split()  # noqa: SIM905
)
_CONTINUES: Final = "##"
"""How a piece begins that goes on with a word."""


def little(vocabulary: Mapping[str, int]) -> frozenset[int]:
    """The numbers of these pieces in a vocabulary: little words, and signs."""
    return frozenset(
        number
        for piece, number in vocabulary.items()
        if not piece.startswith(_CONTINUES)
        and (piece in _WORDS or not any(map(str.isalnum, piece)))
    )
