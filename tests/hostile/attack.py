"""An attack: a world with a malicious repository in it, and what was seen of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOREIGN: Final = "FOREIGN-7f3a"
"""Stands in the text of every foreign record: never in context, hooks, profile or views."""

SECRET: Final = "PELICAN-5521"  # noqa: S105  # nobody's
"""Stands in victims' files outside of the repository: never in an output, nor in the repository."""

SHIPPED: Final = "SHIPPED-9c1d"
"""Stands in files of the repository that only this machine may write: never in context or hooks."""

MINE: Final = "HERON-8814"
"""Stands in the memory that is added here: once acknowledged it is in context and found."""


@dataclass(frozen=True)
class World:
    """Folders side by side: the repository, the home of its victim, and what else there is."""

    repo: Path
    home: Path
    outside: Path


@dataclass(frozen=True)
class Observed:
    """What the server, the hooks and the commands said, by their names, and where."""

    outputs: Mapping[str, str]
    world: World

    @property
    def repo(self) -> Path:
        return self.world.repo

    @property
    def home(self) -> Path:
        return self.world.home

    @property
    def outside(self) -> Path:
        return self.world.outside


Verdict = Callable[[Observed], list[str]]
"""Looks at what was seen; the problems, in words."""


@dataclass(frozen=True)
class Case:
    """A malicious repository; the docstring of `build` says what it is after.

    `after`: what must hold beside what must hold always. `trusted`: its records are to be looked at
    once more when the user trusts it. `open_at`: the folder of it that is opened. `slow`: making it
    takes seconds.
    """

    build: Callable[[World], None]
    after: Verdict | None = None
    trusted: bool = False
    open_at: str = "."
    slow: bool = False

    @property
    def name(self) -> str:
        return self.build.__name__
