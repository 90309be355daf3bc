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
        return getattr(self._compile(), name)

    def _compile(self) -> Any:
        compiled: Any = re.compile(*self._given)
        self.__dict__.update({each: getattr(compiled, each) for each in _OFFERED})
        return compiled


def compile_needed(source: str, needs: Collection[str]) -> re.Pattern[str]:
    """What `re.compile` returns, compiled with the first text that holds some of what it needs.

    `needs` are letters, folded, of which some stand in each text that it matches; none if no such
    letters are known.
    """
    return cast("re.Pattern[str]", _Needing(source, needs)) if needs else compile_later(source)


class _Needing(_Uncompiled):
    """Answers for texts without what a pattern needs, until one has it."""

    def __init__(self, source: str, needs: Collection[str]) -> None:
        super().__init__(source, 0)
        self._needs = needs

    def search(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._compile().search(text, *bounds) if self._may_match(text) else None

    def match(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._compile().match(text, *bounds) if self._may_match(text) else None

    def fullmatch(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._compile().fullmatch(text, *bounds) if self._may_match(text) else None

    def finditer(self, text: str, *bounds: int) -> Iterator[re.Match[str]]:
        return self._compile().finditer(text, *bounds) if self._may_match(text) else iter(())

    def findall(self, text: str) -> list[Any]:
        return self._compile().findall(text) if self._may_match(text) else []

    def split(self, text: str) -> list[Any]:
        return self._compile().split(text) if self._may_match(text) else [text]

    def sub(self, new: str, text: str) -> str:
        return self._compile().sub(new, text) if self._may_match(text) else text

    def subn(self, new: str, text: str) -> tuple[str, int]:
        return self._compile().subn(new, text) if self._may_match(text) else (text, 0)

    def _may_match(self, text: str) -> bool:
        folded = fold_case(text)
        return any(each in folded for each in self._needs)


def fold_case(text: str) -> str:
    """The text without case, as patterns that ignore case see it: a dotless i is one, too."""
    return text.casefold().replace("\u0131", "i").replace("i\u0307", "i")
