"""A client that hears what a server tells it unasked, the same way in both eras."""

import asyncio
import warnings
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from doors import Era
from mcp import Client, MCPDeprecationWarning
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

LIST = "list"
"""What is heard when the list of resources has changed."""

_HEARD_SECONDS_MAX = 30.0
"""A loaded machine may be slow; who hears nothing in this time never will."""

_QUIET_ROUNDS, _ROUND_SECONDS = 20, 0.05
"""A server that has something to tell does so within half of these rounds of the event loop.

They are counted, for on a loaded machine a second may pass in which nobody had a turn.
"""


class Listener:
    """The client, and what it heard in the order in which it came."""

    def __init__(self, era: Era) -> None:
        self.client: Client
        self._era = era
        self._heard = asyncio.Queue[str]()
        self._streams: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}

    async def on_message(self, message: Any) -> None:
        """What a client of 2025 is sent; a later one gets what its streams bring here as well."""
        match message:
            case _ if self._era == "auto":
                pass
            case ResourceUpdatedNotification(params=params):
                self._heard.put_nowait(params.uri)
            case ResourceListChangedNotification():
                self._heard.put_nowait(LIST)
            case _:
                pass

    async def watch(self, *uris: str) -> None:
        """Hear of these from here on. A client of 2025 hears of the list in any case."""
        for uri in uris:
            if self._era == "auto":
                await self._listen(uri)
            elif uri != LIST:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", MCPDeprecationWarning)
                    await self.client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]

    async def watch_at_once(self, uris: list[str]) -> None:
        """Open one stream for all of these, and end it."""
        async with self.client.listen(resource_subscriptions=uris):
            pass

    async def leave(self, uri: str) -> None:
        """Hear of it no more."""
        if self._era == "auto":
            task, _ = self._streams.pop(uri)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                await self.client.unsubscribe_resource(uri)  # pyright: ignore[reportDeprecated]

    async def until(self, *expected: str) -> None:
        """Until each of these was heard; what else comes meanwhile is let by."""
        missing = set(expected)
        async with asyncio.timeout(_HEARD_SECONDS_MAX):
            while missing:
                missing.discard(await self._heard.get())

    async def rest(self) -> list[str]:
        """What is heard in the next moment."""
        for _ in range(_QUIET_ROUNDS):
            await asyncio.sleep(_ROUND_SECONDS)
        return [self._heard.get_nowait() for _ in range(self._heard.qsize())]

    async def _listen(self, uri: str) -> None:
        begun = asyncio.Event()

        async def stream() -> None:
            lists = uri == LIST
            uris = [] if lists else [uri]
            async with self.client.listen(
                resources_list_changed=lists, resource_subscriptions=uris
            ) as events:
                begun.set()
                async for event in events:
                    self._heard.put_nowait(getattr(event, "uri", LIST))

        self._streams[uri] = asyncio.create_task(stream()), begun
        async with asyncio.timeout(_HEARD_SECONDS_MAX):
            await begun.wait()

    async def stop(self) -> None:
        """End every stream."""
        if self._era == "auto":
            for uri in list(self._streams):
                await self.leave(uri)


@asynccontextmanager
async def listener(
    open_client: Callable[..., AbstractAsyncContextManager[Client]], era: Era
) -> AsyncGenerator[Listener]:
    """A client opened by `open_client(message_handler=…)`, and its ears."""
    ears = Listener(era)
    async with open_client(message_handler=ears.on_message) as client:
        ears.client = client
        try:
            yield ears
        finally:
            await ears.stop()
