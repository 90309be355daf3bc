"""The inbox in memory, and how anything is dropped into one from outside."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from memory_mcp.domain import limits
from memory_mcp.domain.checked import build_validator
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.sessions import ConversationRewound, InboxEvent, SessionEnded, SessionEvent


class MemoryInbox:
    """Implements `ports.Inbox`. `raw` is what lies there, by name, as hooks would write it."""

    def __init__(self) -> None:
        self.raw: dict[str, Mapping[str, Any]] = {}
        self.transcripts: dict[str, bytes] = {}
        self.read_at_start: dict[str, frozenset[str]] = {}
        self.given: dict[str, set[str]] = {}
        self.branches: dict[str, str] = {}
        self.consolidated: list[str] = []
        self.set_aside: list[str] = []
        self._numbers = count()
        self._busy = False

    def drop(self, event: Mapping[str, Any]) -> None:
        """As a hook does."""
        self.raw[f"{next(self._numbers):05d}.json"] = event

    async def waiting(self) -> Sequence[InboxEvent]:
        found: list[InboxEvent] = []
        for name, event in sorted(self.raw.items()):
            try:
                found.append(InboxEvent(name, build_validator(SessionEvent).validate_python(event)))
            except ValueError:
                self._aside(name)
        own = [each for each in found if not isinstance(each.event, ConversationRewound)]
        beyond = {each.name for each in own[limits.EVENTS_AT_ONCE_MAX :]}
        return [each for each in found if each.name not in beyond]

    async def done(self, dropped: InboxEvent) -> None:
        self.raw.pop(dropped.name, None)

    async def put_aside(self, dropped: InboxEvent) -> None:
        self._aside(dropped.name)

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[bool]:
        if self._busy:
            yield False
            return
        self._busy = True
        try:
            yield True
        finally:
            self._busy = False

    async def shown(self, session: str) -> frozenset[str]:
        return self.read_at_start.get(session, frozenset()) | self.given.get(session, set())

    async def note_given(self, session: str, ids: Sequence[str]) -> None:
        self.given.setdefault(session, set()).update(ids)

    async def note_branch(self, session: str, branch: str) -> None:
        self.branches[session] = branch

    async def note_consolidated(self, session: str) -> None:
        self.consolidated.append(session)

    async def transcript(self, ended: SessionEnded) -> bytes | None:
        return self.transcripts.get(ended.transcript_path)

    async def look_back(self, session: str, branch: str, transcript: str) -> bool:
        return bool(session and branch and transcript)  # nobody goes back here

    async def findings(self) -> Sequence[Finding]:
        what = f"{len(self.set_aside)} are no events."
        return [Finding("inbox-strange", "should", what, "Look.")] if self.set_aside else []

    def _aside(self, name: str) -> None:
        if self.raw.pop(name, None) is not None:
            self.set_aside.append(name)
