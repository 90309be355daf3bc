"""Notify subscribed clients when a resource has changed, in both eras of the protocol.

After a write of this process, or when the files look changed because another process wrote, every
watched resource is read again and compared with its last state. Only real changes are sent. While
nobody watches, nothing is looked at.

A client of 2026-07-28 opens a stream with `subscriptions/listen`; the SDK serves it from a bus. A
client of 2025 subscribes to single resources, and is notified of the list once it is connected. The
SDK has no interface for that, so the connections are kept here.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
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
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)
from pydantic import ValidationError

from memory_mcp.deadlines import wait_for_first
from memory_mcp.domain.limits import WATCHED_MAX
from memory_mcp.engine.looks import ChangeLooks, make_observer
from memory_mcp.engine.workspace import Conversations, Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError, MemoryMcpError
from memory_mcp.patterns import compile_later
from memory_mcp.ports import ChangeWatch
from memory_mcp.server.calls import explain_errors
from memory_mcp.server.resources import CONTEXT, list_resources, read_resource

_LOG: Final = logging.getLogger("memory_mcp.server")

Request = ServerRequestContext[Workspace, Any]

LIST: Final = "list"
"""Stands for the list of resources among the things that are watched."""

_POLL_SECONDS: Final = 2.0
"""How often the files are looked at for what other processes wrote: a few `stat` calls."""

_SEND_SECONDS_MAX: Final = 5.0
"""A client that does not read must not keep the others waiting."""

_UNSTABLE_LINE: Final = compile_later(r"Now: |\d+ of \d+ tokens")
"""A line of the context that changes with time and size alone: no news."""

_UNREADABLE: Final = "gone"
"""The state of a thing that cannot be read."""


class ResourceWatch:
    """The things that clients of one workspace watch, and the last state each was told of.

    A thing is the URI of a resource, or `LIST`.
    """

    def __init__(self, workspace: Workspace, bus: SubscriptionBus) -> None:
        self._workspace = make_observer(workspace)
        self._bus = bus
        self._watchers: Counter[str] = Counter()
        self._digests: dict[str, str] = {}
        self._connections: dict[Connection, set[str]] = {}
        self._begun = asyncio.Event()

    @property
    def watched(self) -> frozenset[str]:
        """The things that somebody watches now."""
        return frozenset(self._watchers)

    @asynccontextmanager
    async def watching(self, things: Collection[str]) -> AsyncGenerator[None]:
        """Watch these for as long as a stream is open."""
        try:
            await self._add(things)
            yield
        finally:
            self._remove(things)

    async def add_connection(self, connection: Connection) -> None:
        """Notify a client of 2025 of the list until its connection ends."""
        if connection not in self._connections:
            self._connections[connection] = set()
            connection.exit_stack.callback(self._remove_connection, connection)
            await self._add([LIST])

    async def subscribe(self, connection: Connection, uri: str) -> None:
        """Notify a client of 2025 of this resource as well.

        Raises:
            InvalidRequestError: it watches as many as it may.
        """
        await self.add_connection(connection)
        subscribed = self._connections[connection]
        if uri not in subscribed:
            _refuse_too_many(len(subscribed) + 1)
            subscribed.add(uri)
            await self._add([uri])

    def unsubscribe(self, connection: Connection, uri: str) -> None:
        """Notify that client of this resource no longer."""
        if uri in self._connections.get(connection, ()):
            self._connections[connection].remove(uri)
            self._remove([uri])

    async def keep_notifying(self, files: ChangeWatch, leaving: asyncio.Event) -> None:
        """Notify of changes until the server leaves. Sleeps while nobody watches."""
        looks = ChangeLooks(self._workspace.project.changes, files)
        while not leaving.is_set():
            if not self.watched:
                await wait_for_first(leaving.wait(), self._begun.wait())
                looks.forget()  # whoever wrote meanwhile: what changed is found by comparing
                continue
            if await looks.find_news(self._workspace.conversations.branches):
                await self._notify_changes()
            await wait_for_first(leaving.wait(), looks.wait(_POLL_SECONDS))

    async def _notify_changes(self) -> None:
        for thing in list(self._digests):
            digest = await self._digest(thing)
            if digest is not None and self._digests.get(thing, digest) != digest:
                self._digests[thing] = digest
                await self._notify(thing)

    async def _notify(self, thing: str) -> None:
        is_list = thing == LIST
        await self._bus.publish(ResourcesListChanged() if is_list else ResourceUpdated(uri=thing))
        for connection, uris in list(self._connections.items()):
            try:
                async with asyncio.timeout(_SEND_SECONDS_MAX):
                    if is_list:
                        await connection.send_resource_list_changed()
                    elif thing in uris:
                        await connection.send_resource_updated(thing)
            except TimeoutError:
                _LOG.warning("A client did not take a notification in %s s.", _SEND_SECONDS_MAX)

    async def _digest(self, thing: str) -> str | None:
        """A digest of the thing's state on all branches; None while it cannot be known."""
        text = ""
        try:
            for branch in self._workspace.conversations.branches:
                workspace = self._workspace.at(branch)
                if thing == LIST:
                    resources = await list_resources(workspace)
                    text += "\n".join(f"{each.uri} {each.title}" for each in resources)
                else:
                    text += await read_resource(workspace, thing)
        except InvalidRequestError:  # its message names neighbours, which change
            return _UNREADABLE
        except MemoryMcpError as error:
            _LOG.info("What is watched could not be read: %s", error)
            return None
        if thing == CONTEXT:
            lines = text.splitlines()
            text = "\n".join(line for line in lines if not _UNSTABLE_LINE.match(line))
        return sha256(text.encode()).hexdigest()

    async def _add(self, things: Collection[str]) -> None:
        """Watch things from here on: their state is known before the client gets its answer."""
        self._watchers.update(things)
        for thing in things:
            digest = await self._digest(thing)
            if self._watchers[thing]:  # it may have been removed meanwhile
                self._digests.setdefault(thing, _UNREADABLE if digest is None else digest)
        self._begun.set()

    def _remove(self, things: Collection[str]) -> None:
        self._watchers -= Counter(things)
        for thing in things:
            if not self._watchers[thing]:
                self._digests.pop(thing, None)
        if not self._watchers:
            self._begun.clear()

    def _remove_connection(self, connection: Connection) -> None:
        self._remove([LIST, *self._connections.pop(connection)])


class Subscriptions:
    """The watches of this process. Over SSE each connection has a workspace of its own."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._watches: dict[Conversations, ResourceWatch] = {}

    def watch_of(self, workspace: Workspace) -> ResourceWatch:
        """The watch of this workspace."""
        if workspace.conversations not in self._watches:
            self._watches[workspace.conversations] = ResourceWatch(workspace, self.bus)
        return self._watches[workspace.conversations]

    async def keep_notifying(self, workspace: Workspace, leaving: asyncio.Event) -> None:
        """Beside the calls: notify of changes until the server leaves."""
        if refuse_reads(workspace):
            return
        try:
            await self.watch_of(workspace).keep_notifying(workspace.views, leaving)
        finally:
            self._watches.pop(workspace.conversations, None)

    async def observe(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Middleware: note which client opens a stream, and which has shaken hands."""
        match ctx.method:
            case "subscriptions/listen":
                things = _parse_things(ctx.params)
                async with self.watch_of(ctx.lifespan_context).watching(things):
                    return await call_next(ctx)
            case "notifications/initialized":
                result = await call_next(ctx)
                await self.watch_of(ctx.lifespan_context).add_connection(_connection_of(ctx))
                return result
            case _:
                return await call_next(ctx)

    async def handle_subscribe(self, ctx: Request, params: SubscribeRequestParams) -> EmptyResult:
        """`resources/subscribe` of a client of 2025."""
        async with explain_errors(params.uri):
            await self.watch_of(ctx.lifespan_context).subscribe(_connection_of(ctx), params.uri)
        return EmptyResult()

    async def handle_unsubscribe(
        self, ctx: Request, params: UnsubscribeRequestParams
    ) -> EmptyResult:
        """`resources/unsubscribe` of a client of 2025."""
        self.watch_of(ctx.lifespan_context).unsubscribe(_connection_of(ctx), params.uri)
        return EmptyResult()


def _connection_of(ctx: Request) -> Connection:
    """The connection of a client, which outlives its requests.

    The SDK has no public name for it. Only through it is a client of 2025 notified outside of a
    request, and only it says when that client has gone.
    """
    return ctx.session._connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _parse_things(params: Mapping[str, Any] | None) -> frozenset[str]:
    """The things a stream is opened for; the SDK refuses what cannot be parsed.

    Raises:
        MCPError: more than a client may watch.
    """
    try:
        request = SubscriptionsListenRequestParams.model_validate(params or {}, by_name=False)
    except ValidationError:
        return frozenset()
    uris = frozenset(request.notifications.resource_subscriptions or ())
    try:
        _refuse_too_many(len(uris))
    except InvalidRequestError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    return uris | {LIST} if request.notifications.resources_list_changed else uris


def _refuse_too_many(watched: int) -> None:
    if watched > WATCHED_MAX:
        raise InvalidRequestError(
            f"{watched} resources are more than one client may watch ({WATCHED_MAX}). "
            "memory://context and memory://history change with whatever else does."
        )
