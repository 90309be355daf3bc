"""Whether a text that somebody else composed still holds what was to be kept."""

from typing import Final

from memory_mcp.ingestion.sentences import sentences, words_alone

__all__ = ["keeps"]

_TELLING_CHARS_MIN: Final = 4
"""A shorter word is mostly a little one."""
_KEPT_MIN: Final = 0.7
"""The share of its telling words by which a sentence is still there, in other words."""


def keeps(old: str, text: str, *, spared: int) -> bool:
    """Whether each sentence of the old text is still in the other one, but for `spared` of them."""
    there = set(words_alone(text).split())
    lost = 0
    for said in sentences(old):
        telling = {word for word in words_alone(said).split() if len(word) >= _TELLING_CHARS_MIN}
        lost += len(telling & there) < _KEPT_MIN * len(telling)
    return lost <= spared
