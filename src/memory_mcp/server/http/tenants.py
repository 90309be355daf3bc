"""Many memories in one process: each tenant has a server, a workspace and sessions of its own.

Nothing of one tenant is reachable from another: no bank, no bus of notifications, no table of
sessions, no key that seals questions. So what an identity sees follows from which tenant answers,
and that is decided here and nowhere else.

A tenant is opened by its first request. Of too many, the one that was idle for longest is closed;
its clients begin a new session.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from starlette.applications import Starlette

from memory_mcp.domain.limits import (
    HTTP_SESSIONS_MAX,
    HTTP_TENANT_IDLE_SECONDS_MAX,
    HTTP_TENANTS_MAX,
    HTTP_TENANTS_OF_ONE_MAX,
)
from memory_mcp.errors import MemoryMcpError
from memory_mcp.frozen import frozen
from memory_mcp.server.http.asgi import Receive, Reply, Scope, Send, reply
from memory_mcp.server.http.sessions import Sessions, find_session
from memory_mcp.server.tokens import Identity, Project

_LOG: Final = logging.getLogger("memory_mcp")

_SWEEP_SECONDS: Final = 30.0

MESSAGES: Final = "/messages/"
"""Where clients of the older transport post to."""

_TOO_MANY: Final = Reply(
    503, "Too many memories are open. Try again soon.", ((b"retry-after", b"10"),)
)


@frozen
class Tenant:
    """Whose memory is served, and how: equal values share a server.

    `alone`: the process serves its own user and project, and asks nobody who they are.
    """

    user: str = ""
    team: str | None = None
    project: Project | None = None
    read_only: bool = False
    alone: bool = False


@frozen
class TenantLimits:
    """How many may be open: in all, of one user, and sessions of each; and idle for how long."""

    tenants: int = HTTP_TENANTS_MAX
    of_one: int = HTTP_TENANTS_OF_ONE_MAX
    sessions: int = HTTP_SESSIONS_MAX
    idle_seconds: float = HTTP_TENANT_IDLE_SECONDS_MAX


ALONE: Final = Tenant(alone=True)


def find_tenant(identity: Identity, project: Project | None) -> Tenant:
    """The tenant of an identity that opens one of its projects, or none."""
    return Tenant(identity.user, identity.team, project, identity.read_only)


@dataclass(eq=False)
class _Open:
    """A tenant that is open, or opens."""

    sessions: Sessions
    task: asyncio.Task[None] | None = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    failure: str = ""
    requests: int = 0
    used_at: float = 0


class Tenants:
    """The tenants that are open. `build` makes the SDK's application of one.

    `close_shared` closes what they share, once all are closed.
    """

    def __init__(
        self,
        build: Callable[[Tenant], Starlette],
        path: str,
        limits: TenantLimits,
        *,
        by_stream: bool,
        close_shared: Callable[[], Awaitable[None]],
    ) -> None:
        self._build = build
        self._path = path
        self._by_stream = by_stream
        self._limits = limits
        self._close_shared = close_shared
        self._open: dict[Tenant, _Open] = {}

    @property
    def count(self) -> int:
        """The tenants that are open."""
        return len(self._open)

    @property
    def sessions(self) -> int:
        """The sessions of all of them."""
        return sum(each.sessions.count for each in self._open.values())

    def serves(self, path: str) -> bool:
        """Whether a tenant answers under this path."""
        return path == self._path or (self._by_stream and path == MESSAGES)

    def find_of_session(self, scope: Scope, identity: Identity) -> Tenant | None:
        """The tenant in whose session a message is posted, as its address names no project.

        The SDK checks that the session is this identity's.
        """
        if scope["path"] != MESSAGES or not (session := find_session(scope)):
            return None
        for tenant, opened in self._open.items():
            if opened.sessions.has(session) and tenant == find_tenant(identity, tenant.project):
                return tenant if tenant.project in (None, *identity.projects) else None
        return None

    async def answer(
        self, tenant: Tenant, scope: Scope, receive: Receive, send: Send, body: bytes
    ) -> None:
        """Let the server of a tenant answer."""
        opened = self._open.get(tenant) or self.begin(tenant)
        if opened is None:
            await reply(send, _TOO_MANY)
            return
        opened.requests += 1
        try:
            await opened.ready.wait()
            if opened.failure:
                await reply(send, Reply(503, opened.failure))
                return
            await opened.sessions.answer(scope, receive, send, body)
        finally:
            opened.requests -= 1
            opened.used_at = asyncio.get_running_loop().time()

    def begin(self, tenant: Tenant) -> _Open | None:
        """Begin to open a tenant; None if there are too many that somebody uses."""
        of_one = [each for each in self._open if each.user == tenant.user]
        if len(of_one) >= self._limits.of_one and not self._close_idlest(of_one):
            return None
        if len(self._open) >= self._limits.tenants and not self._close_idlest([*self._open]):
            return None
        app = self._build(tenant)
        sessions = Sessions(
            AuthContextMiddleware(app), self._path,
            by_stream=self._by_stream, sessions_max=self._limits.sessions,
        )  # fmt: skip
        opened = self._open[tenant] = _Open(sessions)
        opened.task = asyncio.create_task(self._run(tenant, opened, app))
        return opened

    async def _run(self, tenant: Tenant, opened: _Open, app: Starlette) -> None:
        """Keep a tenant open until it is closed. Its server begins and ends in this task."""
        try:
            async with app.router.lifespan_context(app):
                opened.ready.set()
                await opened.closing.wait()
        except MemoryMcpError as error:
            opened.failure = str(error)
        except Exception:  # noqa: BLE001  # a bug costs this tenant, not the others
            _LOG.exception("A memory could not be opened")
            opened.failure = "This memory cannot be opened; the server's log says why."
        finally:
            opened.ready.set()
            if self._open.get(tenant) is opened:
                del self._open[tenant]

    def _close_idlest(self, among: list[Tenant]) -> bool:
        idle = [each for each in among if not self._open[each].requests]
        if not idle:
            return False
        self._close(min(idle, key=lambda each: self._open[each].used_at))
        return True

    def _close(self, tenant: Tenant) -> "asyncio.Task[None] | None":
        opened = self._open.pop(tenant)
        opened.closing.set()
        return opened.task

    async def keep_swept(self) -> None:
        """Close what was idle for long, until it is cancelled."""
        while True:
            await asyncio.sleep(min(_SWEEP_SECONDS, self._limits.idle_seconds))
            now = asyncio.get_running_loop().time()
            for tenant, opened in [*self._open.items()]:
                idle = not opened.requests and now - opened.used_at >= self._limits.idle_seconds
                if idle and not tenant.alone:
                    self._close(tenant)

    async def close_all(self) -> None:
        """Close every tenant and what they share, and wait until it is closed."""
        tasks = [task for tenant in [*self._open] if (task := self._close(tenant))]
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        await self._close_shared()
