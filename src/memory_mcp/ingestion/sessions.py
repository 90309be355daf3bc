"""The name of a session as it may be written: it stands in keys and origins, never in a text."""

from functools import lru_cache
from hashlib import sha256
from typing import Final

from memory_mcp.domain.merging import Secrets
from memory_mcp.ingestion.redact import redact

__all__ = ["session_name"]

_DIGITS: Final = 16
"""Enough to tell the sessions of a project apart."""


@lru_cache(maxsize=1_000)
def session_name(given: str, secrets: Secrets) -> str:
    """The name, or a digest of one that looks like a secret: the same for the same name.

    It is a name only: nothing is lost by it, so that there is nothing to refuse either.
    """
    if secrets == "allow" or not redact(given).redactions:
        return given
    digits = sha256(given.encode(errors="replace")).hexdigest()[:_DIGITS]
    return f"session-{digits}"
