"""One namespace per user and project; what a user keeps for every project is in their `none`.

Isolation by namespace is strict, where a filter has failed silently before, and a project is purged
by removing its namespace. Only letters, digits, `_` and `-`: the vendor's pages disagree on more.
"""

import hashlib
import re
from typing import Final

__all__ = ["namespace_of"]

_PART_CHARS_MAX: Final = 44
"""Two of them with their prefixes stay below the service's 100 characters."""

_NO_PROJECT: Final = "none"

_MADE: Final = re.compile(rf"|{_NO_PROJECT}|.*-[0-9a-f]{{10}}")
"""What stands for no project, for a name without letters, or for one that was hashed."""


def namespace_of(user: str, project: str | None) -> str:
    """Where the records of a user and project (None: the user's own) are kept."""
    return f"cc_u-{_part(user)}_p-{_NO_PROJECT if project is None else _part(project)}"


def _part(name: str) -> str:
    """The name if it can stand as it is; else a readable rest and a hash, so names stay apart.

    A name that looks like what is made of others is hashed too.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name and len(plain) <= _PART_CHARS_MAX and not _MADE.fullmatch(plain):
        return plain
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:10]
    return f"{plain[: _PART_CHARS_MAX - 11].strip('-') or 'x'}-{digest}"
