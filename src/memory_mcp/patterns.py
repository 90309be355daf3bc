"""Patterns that are compiled when they are first used.

A process uses few of the patterns that it imports, and to compile them all takes a quarter of the
processor time of a short command. Most texts hold nothing of what a long pattern is made of: such a
pattern is not asked about them.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any, AnyStr, Final, cast

__all__ = ["compile_later", "compile_needed", "fold_case"]

_OFFERED: Final = (
    "findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "pattern",
    "search", "split", "sub", "subn",
)  # fmt: skip


def compile_later(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` returns, compiled at its first use; a mistake in it shows then."""
    return cast("re.Pattern[AnyStr]", _Uncompiled(source, flags))


class _Uncompiled:
    """Takes over each attribute of the compiled pattern once one is asked for."""

    def __init__(self, source: Any, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _OFFERED:
            raise AttributeError(name=name, obj=self)
        compiled: Any = re.compile(*self._given)
        self.__dict__.update({each: getattr(compiled, each) for each in _OFFERED})
        return self.__dict__[name]


def compile_needed(source: str, needs: Collection[str]) -> re.Pattern[str]:
    """What `re.compile` returns, asked only about texts that hold some of what it needs.

    `needs` are letters, folded, of which some stand in each text that it matches; none if no such
    letters are known.
    """
    pattern = compile_later(source)
    return cast("re.Pattern[str]", _Needing(pattern, needs)) if needs else pattern


class _Needing:
    """Answers for texts without what a pattern needs; else the pattern does."""

    def __init__(self, pattern: re.Pattern[str], needs: Collection[str]) -> None:
        self._pattern, self._needs = pattern, needs

    def search(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._pattern.search(text, *bounds) if self._may_match(text) else None

    def match(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._pattern.match(text, *bounds) if self._may_match(text) else None

    def fullmatch(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._pattern.fullmatch(text, *bounds) if self._may_match(text) else None

    def finditer(self, text: str, *bounds: int) -> Iterator[re.Match[str]]:
        return self._pattern.finditer(text, *bounds) if self._may_match(text) else iter(())

    def findall(self, text: str) -> list[Any]:
        return self._pattern.findall(text) if self._may_match(text) else []

    def split(self, text: str) -> list[Any]:
        return self._pattern.split(text) if self._may_match(text) else [text]

    def sub(self, new: str, text: str) -> str:
        return self._pattern.sub(new, text) if self._may_match(text) else text

    def subn(self, new: str, text: str) -> tuple[str, int]:
        return self._pattern.subn(new, text) if self._may_match(text) else (text, 0)

    @property
    def pattern(self) -> str:
        return self._pattern.pattern

    def _may_match(self, text: str) -> bool:
        folded = fold_case(text)
        return any(each in folded for each in self._needs)


def fold_case(text: str) -> str:
    """The text without case, as patterns that ignore case see it: a dotless i is one, too."""
    return text.casefold().replace("\u0131", "i").replace("i\u0307", "i")
