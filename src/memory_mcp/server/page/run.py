"""Serve the page on this machine until it is ended."""

import asyncio
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import uvicorn

from memory_mcp import bootstrap
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.errors import InvalidRequestError
from memory_mcp.server.page.app import build_app
from memory_mcp.server.page.entry import HOST, PageAccess

_CLOSE_SECONDS_MAX: Final = 1


async def serve_page(
    settings: Settings, port: int, announce: Callable[[str], None], *, opens: bool
) -> None:
    """Serve until the process is ended. `announce` is given the address, `opens`: a browser is too.

    Raises:
        InvalidRequestError: the port cannot be had.
    """
    listening = _listen(port)
    async with open_workspace(settings) as built:
        entry = PageAccess(listening.getsockname()[1])
        announce(entry.address)
        if opens:
            await asyncio.to_thread(_open_browser, entry.address)
        await run_page(built, entry, listening)


async def run_page(built: BuiltWorkspace, entry: PageAccess, listening: socket.socket) -> None:
    """Serve this workspace; rendered files and other machines are followed as beside a server."""
    ending = asyncio.Event()
    rendering = asyncio.create_task(bootstrap.keep_rendered(built.workspace, ending))
    following = asyncio.create_task(built.keep_following(ending))
    config = uvicorn.Config(
        build_app(built.workspace, entry, ending),
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_CLOSE_SECONDS_MAX,
    )
    try:
        await _PageServer(config, ending).serve([listening])
    finally:
        ending.set()
        await rendering
        await following


class _PageServer(uvicorn.Server):
    """Ends its streams before it waits for connections to close."""

    def __init__(self, config: uvicorn.Config, ending: asyncio.Event) -> None:
        super().__init__(config)
        self._ending = ending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending.set()
        await super().shutdown(sockets)


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise InvalidRequestError(
            f"Cannot serve on port {port} of {HOST}: {error.strerror}. End the program that holds "
            "it, or choose another port with --port (0: any free one)."
        ) from error


def _open_browser(address: str) -> None:
    with suppress(webbrowser.Error):  # the address was said as well
        webbrowser.open(address)
