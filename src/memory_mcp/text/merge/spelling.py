"""Tells whether a text corrects the case of a name that a machine reads.

Case says nothing in prose, and is all the difference between two files, branches or packages.
"""

from itertools import pairwise
from typing import Final

from memory_mcp.domain.normalise import fold
from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.reading import words

_EDGES: Final = ".,;:!?'\"()`"
_CODE: Final = compile_later(r".*(?:[\d_/\\@=]|\w\.\w|[a-z][A-Z])")
"""What a machine reads: a path, a file name, a word with a capital or a sign inside."""


def corrects_case(old: str, new: str) -> bool:
    """Whether the texts are the same but for the case of identifiers, or of what names a thing.

    Plain words count where they are the name of a branch, a table, a target: "the branch is Main".
    """
    ours, theirs = new.split(), old.split()
    if old == new or len(ours) != len(theirs) or fold(old.casefold()) != fold(new.casefold()):
        return False
    named = not words("spelt").isdisjoint(old.casefold().split())
    before = ["", *(word.casefold() for word, _ in pairwise(ours))]
    return any(
        mine.strip(_EDGES) != its.strip(_EDGES) and _is_spelt(mine, its, behind, named=named)
        for mine, its, behind in zip(ours, theirs, before, strict=True)
    )


def _is_spelt(mine: str, its: str, before: str, *, named: bool) -> bool:
    one, other = mine.strip(_EDGES), its.strip(_EDGES)
    if one.startswith("-"):  # two options
        return False
    if any(_CODE.match(word) for word in (one, other)):
        return True
    names = before in words("spelt") or before in words("copulas") or before in words("called")
    return named and (names or "-" in one)
