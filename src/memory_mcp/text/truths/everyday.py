"""Tells the name of a tool from the other word that it is: "written in Go", "never go below 20".

A few names are other words, too. Such a word is a name only where its form or its place says so: a
capital within a sentence, a version behind it, or what stands before it.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

from memory_mcp.text.merge.reading import Word, stem
from memory_mcp.text.merge.reading import words as merge_words
from memory_mcp.text.tables import load_table

_VERBAL: Final = ("ed", "ing")


@cache
def _list(name: str) -> frozenset[str]:
    listed = load_table("truths")["words"][name].split()
    return frozenset(listed)


@cache
def _list_stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, _list(name)))


def names_tool(found: Sequence[Word], at: int, *, german: bool) -> bool:
    """Whether the word of a known tool names it here; most mean nothing else."""
    word, low = found[at], found[at].text.casefold()
    if stem(low) != low and low.endswith(_VERBAL):
        return False  # "stripped", "expressed"
    if low not in _list("everyday"):
        return "-" in low or stem(low) not in _list_stems("everyday")  # "expressed", "go-modules"
    follows = found[at + 1] if at + 1 < len(found) else None
    if _has_version(found, at) or (len(low) > 1 and word.text.isupper()):
        return True
    if word.text[:1].isupper():
        return at > 0 and not (german and word.article)
    if follows and not follows.set_off and follows.key in _list_stems("compounds"):
        return True
    ends = follows is None or follows.set_off or follows.kind in ("preposition", "join")
    return ends and not word.article and at > 0 and _is_named_before(found, at, german=german)


def _has_version(found: Sequence[Word], at: int) -> bool:
    """Whether a figure behind the word counts nothing else: "go 1.24"."""
    version, *behind = found[at + 1 : at + 3] or (None,)
    if version is None or version.dimension != "count" or version.set_off:
        return False
    return version.text[:1].isdigit() and not (behind and behind[0].kind in ("word", "verb"))


def _is_named_before(found: Sequence[Word], at: int, *, german: bool) -> bool:
    """Whether what stands before the word says that it is a name."""
    word, before = found[at], found[at - 1]
    if word.after_copula:
        kinds = _list_stems("kinds") | _list_stems("compounds") | merge_words("ranked")
        named = {stem(part) for kind in _list_families(word.text) for part in kind.split("_")}
        return any(each.key in kinds | named for each in found[:at])
    if before.kind == "preposition":
        return at > 1 and found[at - 2].key in _list_stems("makes")
    if before.text.casefold() in _list("everyday"):
        return word.set_off and names_tool(found, at - 1, german=german)
    return before.key in _list_stems("employs")


@cache
def _list_families(text: str) -> frozenset[str]:
    families = load_table("truths")["families"]
    return frozenset(kind for kind in families if text.casefold() in families[kind].split())
