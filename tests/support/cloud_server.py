"""The fake cloud on a socket of this machine: `python tests/support/cloud_server.py --port N`."""

import argparse
import asyncio
import signal
import socket
import struct
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, Final

import uvicorn
from cloud import Cloud
from cloud_app import CloudApp
from cloud_faults import Faults
from uvicorn.protocols.http.h11_impl import H11Protocol

_RESET: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)  # linger for no time


class Wires:
    """The open connections of one server. ASGI has no way to cut one; this has."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], asyncio.Transport] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def protocol(self) -> type[H11Protocol]:
        """HTTP/1.1, with every connection known here by the address of its client."""
        wires = self

        class Wire(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as uvicorn has it
                super().connection_made(transport)
                wires._loop = self.loop
                wire: socket.socket = transport.get_extra_info("socket")
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else 40 ms a call
                if self.client is not None:
                    wires._open[self.client] = transport
                if wires._closed:
                    transport.abort()

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                if self.client is not None:
                    wires._open.pop(self.client, None)

        return Wire

    def cut(self, client: tuple[str, int], reset: bool) -> None:  # noqa: FBT001  # the app's callback
        """Cut the connection of a client, politely or with a reset."""
        transport = self._open.get(client)
        if transport is None:
            return  # gone by itself
        if reset:
            wire: socket.socket = transport.get_extra_info("socket")
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        transport.abort()

    def cut_all(self) -> None:
        """Cut what is open and what opens from now on; from another thread."""
        self._closed = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._abort_all)

    def _abort_all(self) -> None:
        for transport in list(self._open.values()):
            transport.abort()


class _Server(uvicorn.Server):
    """Ends when it is told to; uvicorn looks ten times a second, and then waits for a tenth."""

    async def main_loop(self) -> None:
        self._stopped = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)  # dates the answers
        if not self.should_exit:
            await self._stopped.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in [*self.servers, *(sockets or [])]:
            server.close()
        for task in self.server_state.tasks:
            task.cancel()

    def stop(self) -> None:
        """End; from another thread."""
        self.should_exit = True
        with suppress(AttributeError, RuntimeError):  # not begun yet, or ended
            self._loop.call_soon_threadsafe(self._stopped.set)


@contextmanager
def serving(cloud: Cloud, port: int = 0) -> Generator[str]:
    """The cloud on a port of its own, in a thread; yields its URL, which is `cloud.url` too.

    At the end whatever still hangs is cut, and the thread is gone.
    """
    wires = Wires()
    config = uvicorn.Config(
        CloudApp(cloud, wires.cut),
        http=wires.protocol(),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        timeout_keep_alive=600,  # a connection is lost when a test says so
    )
    server = _Server(config)
    listening = socket.create_server(("127.0.0.1", port))
    cloud.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    thread = Thread(target=server.run, args=([listening],), name="cloud", daemon=True)
    thread.start()
    try:
        yield cloud.url
    finally:
        wires.cut_all()
        server.stop()
        thread.join()
        listening.close()


def main(arguments: list[str] | None = None) -> int:
    """Serve until asked to stop; 1 if a request or an answer broke the contract meanwhile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, help="let requests go wrong at random")
    parser.add_argument("--share", type=float, default=0.5, help="how many of them")
    parser.add_argument("--processing-seconds", type=float, default=0.0)
    parser.add_argument("--vendor-ids", action="store_true", help="answer with the vendor's ids")
    said = parser.parse_args(arguments)
    cloud = Cloud(
        answers_own_ids=not said.vendor_ids,
        processing_seconds=said.processing_seconds,
        faults=Faults() if said.seed is None else Faults.chaos(said.seed, said.share),
    )
    stop = Event()

    def on_signal(*_: Any) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    with serving(cloud, said.port) as url:
        sys.stdout.write(f"serving on {url}\n")
        sys.stdout.flush()
        while not stop.wait(0.5):  # in slices, for Windows delivers no signal to a lock
            pass
    for violation in cloud.violations:
        sys.stderr.write(f"{violation}\n")
    return 1 if cloud.violations else 0


if __name__ == "__main__":
    sys.exit(main())
