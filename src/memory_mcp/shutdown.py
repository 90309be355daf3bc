"""How a process of ours ends: with whoever started it, within seconds, whatever hangs.

What was acknowledged is on the disk by then, so that an end in the midst of anything costs nobody
more than a power cut would. Standard library only: it is loaded before anything else.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn, TypeVar

Result = TypeVar("Result")

ENDING_SECONDS_MAX: Final = 3.0
"""How long an orderly end may take: with the look before it, less than the 5 s that are promised.

A thread that waits for a lock, a disk or a network cannot be ended any other way.
"""

INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit status of what Ctrl-C ended, as shells have it."""

_LOOK_SECONDS: Final = 0.5
"""How often it is looked whether the client is still there: two system calls."""

_WAKE_SECONDS: Final = 0.1
"""Until a wait that a signal was to end is woken again."""

_PARENT: Final = os.getppid()
"""Who started us, as of the very beginning."""


def interrupted() -> str:
    """What is said when Ctrl-C ends a command."""
    return "Interrupted. What was reported as stored is stored."


def run_to_end(main: Coroutine[Any, Any, Result]) -> Result:
    """`asyncio.run`, where Ctrl-C waits until there is an event loop that it can end.

    A loop that is only half made complains, with a traceback, when it is thrown away.
    """
    import asyncio  # noqa: PLC0415  # a hook ends without it

    if sys.platform == "win32":
        return asyncio.run(main)

    async def begin() -> Result:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return await main

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return asyncio.run(begin())
    finally:  # where it never began
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def end_within(seconds: float, status: int) -> None:
    """End the process then, if it has not ended by itself."""

    def end() -> None:
        time.sleep(seconds)
        end_now(status)

    threading.Thread(target=end, name="end", daemon=True).start()


def end_now(status: int, said: str = "") -> NoReturn:
    """End the process in this moment, with a last word where somebody takes it."""
    with suppress(OSError):
        if said and sys.platform != "win32":
            os.set_blocking(2, False)  # a full pipe that nobody reads must not hold us
        os.write(2, f"memory-mcp: {said}\n".encode() if said else b"")
    os._exit(status)


def end_when_told(seconds: float = ENDING_SECONDS_MAX) -> None:
    """Bound the orderly end that a signal begins, whoever handles it."""
    if sys.platform == "win32":
        return  # the event loop needs the only door there is to this
    import socket  # noqa: PLC0415  # only a server needs it

    hears, tells = socket.socketpair()
    tells.setblocking(False)  # noqa: FBT003  # the standard library's signature
    signal.set_wakeup_fd(tells.detach(), warn_on_full_buffer=False)

    def wait() -> None:
        while heard := hears.recv(1):
            if heard[0] in (signal.SIGINT, signal.SIGTERM):
                end_within(seconds, 128 + heard[0])

    threading.Thread(target=wait, name="told", daemon=True).start()


@contextmanager
def interruptible() -> Generator[None]:
    """Let Ctrl-C end a wait for a line within, whenever it comes.

    In the moment before the wait begins it would be heard only with the end of that line: so the
    wait is woken until it has been heard. The event loop's own handler would not end it at all.
    """
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if sys.platform == "win32":
            yield
        else:
            with _woken():
                yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _woken() -> Generator[None]:
    """Within, a signal is followed by others that do nothing but wake the thread that waits."""
    import socket  # noqa: PLC0415  # few commands ask

    waits, over = threading.get_ident(), threading.Event()
    hears, tells = socket.socketpair()
    tells.setblocking(False)  # noqa: FBT003  # the standard library's signature
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    handler = signal.signal(signal.SIGURG, lambda _signal, _frame: None)

    def wake() -> None:
        while hears.recv(1) and not over.wait(_WAKE_SECONDS):
            signal.pthread_kill(waits, signal.SIGURG)  # which is heard here, too

    thread = threading.Thread(target=wake, name="wake", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGURG, handler)
        tells.close()
        thread.join()
        hears.close()


def end_with_client(seconds: float = ENDING_SECONDS_MAX) -> None:
    """Bound the life of a server that talks over stdin and stdout by that of its client.

    The client is gone when its end of stdin is closed and all that it sent was read, when nobody is
    left to read an answer, or when the process that started us is no more: another one may have
    inherited its ends of both pipes, and hold them open for ever.
    """
    heard, said = _duplicate(0), _duplicate(1)

    def watch() -> None:
        while not (os.getppid() != _PARENT or _closed(heard, unread_counts=True) or _closed(said)):
            time.sleep(_LOOK_SECONDS)
        end_within(seconds, 0)

    threading.Thread(target=watch, name="client", daemon=True).start()


def _duplicate(descriptor: int) -> int | None:
    """Another descriptor of the same stream, as the SDK puts others in the place of these."""
    try:
        return os.dup(descriptor)
    except OSError:
        return None


def _closed(descriptor: int | None, *, unread_counts: bool = False) -> bool:
    """Whether the other end of a pipe is closed, and, if that counts, nothing in it is unread."""
    if sys.platform == "win32" or descriptor is None:
        return False  # there the end of stdin is all there is to go by
    import select  # noqa: PLC0415  # not there on Windows as it is here

    poll = select.poll()
    poll.register(descriptor, getattr(select, "POLLRDHUP", 0))
    gone = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)
    if not any(found & gone for _, found in poll.poll(0)):
        return False
    return not unread_counts or _unread(descriptor) == 0


def _unread(descriptor: int) -> int:
    """How many bytes wait to be read."""
    import fcntl  # noqa: PLC0415  # not there on Windows
    import termios  # noqa: PLC0415

    try:
        count = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
    except OSError:
        return 0
    return int.from_bytes(count, sys.byteorder)
