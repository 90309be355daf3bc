"""Patterns that are compiled when they are first used.

A process uses few of the patterns that it imports, and to compile them all takes a quarter of the
processor time of a short command.
"""

import re
from typing import Any, AnyStr, Final, cast

__all__ = ["compile_later"]

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
