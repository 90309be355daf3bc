"""Notify subscribed clients when a resource has changed, in both eras of the protocol.

After a write of this process, or when the files look changed because another process wrote, every
watched resource is read again and compared with its last state. Only real changes are sent. While
nobody watches, nothing is looked at.

A client of 2026-07-28 opens a stream with `subscriptions/listen`; the SDK serves it from a bus. A
client of 2025 subscribes to single resources, and hears of the list once it is connected. The SDK
has no interface for that, so the connections are kept here.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ResourcesListChanged,
    ResourceUpdated,
    SubscriptionBus,
)
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, SubscriptionsListenRequestParams
from pydantic import ValidationError

from memory_mcp.domain.limits import WATCHED_MAX
from memory_mcp.engine.workspace import Conversations, Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError, MemoryMcpError
from memory_mcp.ports import ChangeWatch
from memory_mcp.server.resources import CONTEXT, list_resources, read_resource

_LOG: Final = logging.getLogger("memory_mcp.server")

LIST: Final = "list"
"""Stands for the list of resources among the things that are watched."""

_LOOK_SECONDS: Final = 2.0
"""How often the files are looked at for what others wrote: a few `stat` calls."""

_NO_NEWS: Final = re.compile(r"Now: |\d+ of \d+ tokens")

_PAUSE_SECONDS: Final = 0.2
"""A write is often several; what was changed is told once they are done."""

_SEND_SECONDS_MAX: Final = 5.0
"""A client that does not read must not keep the others from hearing."""

_GONE: Final = "gone"


class Watch:
    """What the clients of one workspace watch, and what it was when they last heard of it."""

    def __init__(self, workspace: Workspace, bus: SubscriptionBus) -> None:
        self._workspace = _without_trace(workspace)
        self._bus = bus
        self._wanted: Counter[str] = Counter()
        self._known: dict[str, str] = {}
        self._connected: dict[Connection, set[str]] = {}
        self._begun = asyncio.Event()

    @property
    def watched(self) -> frozenset[str]:
        """What somebody watches now."""
        return frozenset(self._wanted)

    @asynccontextmanager
    async def wanting(self, things: Collection[str]) -> AsyncGenerator[None]:
        """Watch these for as long as a stream is open."""
        try:
            await self._want(things)
            yield
        finally:
            self._unwant(things)

    async def connected(self, connection: Connection) -> None:
        """A client of 2025 is there: it hears of the list until it goes."""
        if connection not in self._connected:
            self._connected[connection] = set()
            connection.exit_stack.callback(self._gone, connection)
            await self._want([LIST])

    async def subscribe(self, connection: Connection, uri: str) -> None:
        """A client of 2025 wants to hear of this resource as well.

        Raises:
            InvalidRequestError: it watches as many as it may.
        """
        await self.connected(connection)
        mine = self._connected[connection]
        if uri not in mine:
            _check_number(len(mine) + 1)
            mine.add(uri)
            await self._want([uri])

    def unsubscribe(self, connection: Connection, uri: str) -> None:
        """It does not any more."""
        if uri in self._connected.get(connection, ()):
            self._connected[connection].remove(uri)
            self._unwant([uri])

    async def keep_telling(self, files: ChangeWatch, leaving: asyncio.Event) -> None:
        """Tell what changes, until this server leaves. Sleeps while nobody watches."""
        changes = self._workspace.project.changes
        told: object = None
        again = False
        while not leaving.is_set():
            if not self.watched:
                await _wait_for_first(leaving.wait(), self._begun.wait())
                told = None  # what came meanwhile is found by comparing, whoever wrote it
                continue
            count = changes.count
            now = (await files.watch(), count, self._workspace.conversations.branches)
            if now != told or again:
                again = now != told  # who wrote it may be about to note it in the index
                told = now
                await self._tell()
            await _wait_for_first(leaving.wait(), changes.after(count, _LOOK_SECONDS))
            if changes.count != count and not leaving.is_set():
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _tell(self) -> None:
        for thing in list(self._known):
            text = await self._text(thing)
            if text is not None and self._known.get(thing, text) != text:
                self._known[thing] = text
                await self._send(thing)

    async def _send(self, thing: str) -> None:
        is_list = thing == LIST
        await self._bus.publish(ResourcesListChanged() if is_list else ResourceUpdated(uri=thing))
        for connection, uris in list(self._connected.items()):
            try:
                async with asyncio.timeout(_SEND_SECONDS_MAX):
                    if is_list:
                        await connection.send_resource_list_changed()
                    elif thing in uris:
                        await connection.send_resource_updated(thing)
            except TimeoutError:
                _LOG.warning("A client did not take a notification in %s s.", _SEND_SECONDS_MAX)

    async def _text(self, thing: str) -> str | None:
        """What stands for the thing as it is now; None if that cannot be told now."""
        said = ""
        try:
            for branch in self._workspace.conversations.branches:
                workspace = self._workspace.at(branch)
                if thing == LIST:
                    said += "\n".join(
                        f"{each.uri} {each.title}" for each in await list_resources(workspace)
                    )
                else:
                    said += await read_resource(workspace, thing)
        except InvalidRequestError:  # its message names neighbours, which change
            return _GONE
        except MemoryMcpError as error:
            _LOG.info("What is watched could not be read: %s", error)
            return None
        if thing == CONTEXT:  # neither the time of day nor what it cost is news
            said = "\n".join(line for line in said.splitlines() if not _NO_NEWS.match(line))
        return sha256(said.encode()).hexdigest()

    async def _want(self, things: Collection[str]) -> None:
        """From here on: what it is now is known before the client hears that it is watched."""
        self._wanted.update(things)
        for thing in things:
            text = await self._text(thing)
            if self._wanted[thing]:  # it may have gone again meanwhile
                self._known.setdefault(thing, _GONE if text is None else text)
        self._begun.set()

    def _unwant(self, things: Collection[str]) -> None:
        self._wanted -= Counter(things)
        for thing in things:
            if not self._wanted[thing]:
                self._known.pop(thing, None)
        if not self._wanted:
            self._begun.clear()

    def _gone(self, connection: Connection) -> None:
        self._unwant([LIST, *self._connected.pop(connection)])


class Telling:
    """Who watches what in this process. Over SSE each connection has a workspace of its own."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._watches: dict[Conversations, Watch] = {}

    def watch_of(self, workspace: Workspace) -> Watch:
        """What is watched in this workspace."""
        if workspace.conversations not in self._watches:
            self._watches[workspace.conversations] = Watch(workspace, self.bus)
        return self._watches[workspace.conversations]

    async def keep_telling(self, workspace: Workspace, leaving: asyncio.Event) -> None:
        """Beside the calls: tell what changes, until this server leaves."""
        if refuse_reads(workspace):
            return
        try:
            await self.watch_of(workspace).keep_telling(workspace.views, leaving)
        finally:
            self._watches.pop(workspace.conversations, None)

    async def hear(
        self, ctx: ServerRequestContext[Workspace, Any], call_next: CallNext
    ) -> HandlerResult:
        """Middleware: note who opens a stream, and who has shaken hands."""
        match ctx.method:
            case "subscriptions/listen":
                async with self.watch_of(ctx.lifespan_context).wanting(_requested(ctx.params)):
                    return await call_next(ctx)
            case "notifications/initialized":
                done = await call_next(ctx)
                await self.watch_of(ctx.lifespan_context).connected(connection_of(ctx))
                return done
            case _:
                return await call_next(ctx)


def connection_of(ctx: ServerRequestContext[Workspace, Any]) -> Connection:
    """The connection of a client, which outlives its requests.

    The SDK hands it to nobody, but only it says when the client has gone, and only through it can
    a client of 2025 be told anything outside of a request.
    """
    return ctx.session._connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _requested(params: Mapping[str, Any] | None) -> frozenset[str]:
    """What a stream is opened for; the SDK refuses what cannot be read.

    Raises:
        MCPError: more than a client may watch.
    """
    try:
        asked = SubscriptionsListenRequestParams.model_validate(params or {}, by_name=False)
    except ValidationError:
        return frozenset()
    uris = frozenset(asked.notifications.resource_subscriptions or ())
    try:
        _check_number(len(uris))
    except InvalidRequestError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    return uris | {LIST} if asked.notifications.resources_list_changed else uris


def _check_number(watched: int) -> None:
    if watched > WATCHED_MAX:
        raise InvalidRequestError(
            f"{watched} resources are more than one client may watch ({WATCHED_MAX}). "
            "memory://context and memory://history change with whatever else does."
        )


def _without_trace(workspace: Workspace) -> Workspace:
    """The workspace of somebody who looks and leaves no trace: takes no nudge, asks no cloud."""
    return replace(
        workspace,
        project=replace(workspace.project, mirror=None),
        user=replace(workspace.user, mirror=None),
        policy=replace(workspace.policy, meta=True),
    )


async def _wait_for_first(*waits: Any) -> None:
    """Until the first of these is over; the others are given up."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
