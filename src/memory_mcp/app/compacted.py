"""The summary of a compacted conversation, kept as the session's running consolidation.

It is a proposal: the agent is told of it, and what it consolidates itself takes its place.
"""

import re
from datetime import datetime
from typing import Final

from memory_mcp.app.cleaning import kept_text
from memory_mcp.app.consolidate import consolidate
from memory_mcp.app.rooms import Rooms
from memory_mcp.domain.consolidation import ToConsolidate
from memory_mcp.domain.limits import CONTENT_CHARS_MAX
from memory_mcp.domain.outcomes import Skipped

__all__ = ["keep_compacted"]

_THOUGHTS: Final = re.compile(r"<analysis>.*?</analysis>", re.DOTALL)
_TAG: Final = re.compile(r"</?summary>")


async def keep_compacted(rooms: Rooms, summary: str, at: datetime) -> str:
    """Keep it, unless the session knows better by now; why not, if it is not kept.

    It was made at that moment: what the agent has consolidated since is newer.

    Raises:
        InvalidRequestError: it holds a secret, and MEMORY_SECRETS is refuse.
    """
    plain = _TAG.sub("", _THOUGHTS.sub("", summary)).encode(errors="replace").decode()
    text, _ = await kept_text(rooms, "compact_summary", plain)
    if not text:
        return "the summary says nothing"
    given = ToConsolidate(memory_update=_shortened(text), session=rooms.origin().session)
    outcome = await consolidate(rooms, given, compacted_at=at)
    return outcome.reason if isinstance(outcome, Skipped) else ""


def _shortened(text: str) -> str:
    """As much as one memory may hold, up to the end of a paragraph or a line."""
    if len(text) <= CONTENT_CHARS_MAX:
        return text
    cut = text[: CONTENT_CHARS_MAX - 1]
    end = max(cut.rfind("\n\n"), cut.rfind("\n", CONTENT_CHARS_MAX // 2))
    return f"{(cut[:end] if end > 0 else cut).rstrip()}…"
