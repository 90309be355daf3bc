"""Ends the process with the one that started it, within seconds, whatever hangs.

What was acknowledged is on the disk, so an end at any time costs no more than a power cut would.
Standard library only, because it is loaded before anything else.
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
"""For an orderly end: with the poll before it, less than the 5 s that are promised. Then the
process exits, because a thread that waits for a lock, a disk or a network cannot be ended."""

INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit status after Ctrl-C, as in shells."""

_POLL_SECONDS: Final = 0.5
"""Between checks whether the client is still there: two system calls."""

_WAKE_SECONDS: Final = 0.1
"""Between the signals that interrupt a wait."""

_PARENT: Final = os.getppid()
"""The process that started this one."""


def describe_interruption() -> str:
    """What is said when Ctrl-C ends a command."""
    return "Interrupted. What was reported as stored is stored."


def run_to_end(main: Coroutine[Any, Any, Result]) -> Result:
    """`asyncio.run`, with Ctrl-C held back until the event loop is complete.

    An incomplete loop would print a traceback when it is dropped.
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
    finally:  # if `begin` never ran
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def end_within(seconds: float, status: int) -> None:
    """End the process after so many seconds, if it has not ended by itself."""

    def end() -> None:
        time.sleep(seconds)
        end_now(status)

    threading.Thread(target=end, name="end", daemon=True).start()


def end_now(status: int, message: str = "") -> NoReturn:
    """End the process at once, with a last message on stderr."""
    with suppress(OSError):
        if message and sys.platform != "win32":
            os.set_blocking(2, False)  # a full pipe that nobody reads must not block
        os.write(2, f"memory-mcp: {message}\n".encode() if message else b"")
    os._exit(status)


def leave_at_once(_signal: int, _frame: object) -> None:
    """End on Ctrl-C, wherever the program is: a handler of the signal."""
    end_now(INTERRUPTED, describe_interruption())


def leave_in_order(_signal: int, _frame: object) -> None:
    """End on SIGTERM once everything is closed, or before anything is open: a handler."""
    end_now(0)


@contextmanager
def import_whole() -> Generator[None]:
    """Let Ctrl-C end the process at once within.

    A library in another language may panic when it is interrupted while it is imported.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # else it is ignored: nohup
        signal.signal(signal.SIGINT, leave_at_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def end_on_signal(seconds: float = ENDING_SECONDS_MAX) -> None:
    """Limit the orderly end that a signal begins, whoever handles the signal."""
    if sys.platform == "win32":
        return  # the event loop needs the only wakeup descriptor
    import socket  # noqa: PLC0415  # only a server needs it

    receiver, sender = socket.socketpair()
    sender.setblocking(False)  # noqa: FBT003  # the standard library's signature
    signal.set_wakeup_fd(sender.detach(), warn_on_full_buffer=False)

    def wait() -> None:
        while received := receiver.recv(1):
            if received[0] in (signal.SIGINT, signal.SIGTERM):
                end_within(seconds, 128 + received[0])

    threading.Thread(target=wait, name="told", daemon=True).start()


@contextmanager
def interruptible() -> Generator[None]:
    """Let Ctrl-C end a blocking read of a line within.

    A signal just before the read begins would take effect only after the line. So the read is
    interrupted repeatedly until it ends. The event loop's own handler would not end it at all.
    """
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if sys.platform == "win32":
            yield
        else:
            with _repeat_signals():
                yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _repeat_signals() -> Generator[None]:
    """Follow a signal by others that only interrupt the waiting thread."""
    import socket  # noqa: PLC0415  # few commands ask

    waiting, over = threading.get_ident(), threading.Event()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)  # noqa: FBT003  # the standard library's signature
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    handler = signal.signal(signal.SIGURG, lambda _signal, _frame: None)

    def wake() -> None:
        while receiver.recv(1) and not over.wait(_WAKE_SECONDS):
            signal.pthread_kill(waiting, signal.SIGURG)  # received here, too

    thread = threading.Thread(target=wake, name="wake", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGURG, handler)
        sender.close()
        thread.join()
        receiver.close()


def end_with_client(seconds: float = ENDING_SECONDS_MAX) -> None:
    """End a server that talks over stdin and stdout when its client is gone.

    That is when the client's end of stdin is closed and all that it sent was read, when nobody
    reads stdout, or when the parent process has ended: another process may have inherited its ends
    of both pipes, and keep them open.
    """
    stdin, stdout = _duplicate(0), _duplicate(1)

    def watch() -> None:
        while not (
            os.getppid() != _PARENT or _is_closed(stdin, drained=True) or _is_closed(stdout)
        ):
            time.sleep(_POLL_SECONDS)
        end_within(seconds, 0)

    threading.Thread(target=watch, name="client", daemon=True).start()


def _duplicate(descriptor: int) -> int | None:
    """Another descriptor of the stream, because the SDK replaces these."""
    try:
        return os.dup(descriptor)
    except OSError:
        return None


def _is_closed(descriptor: int | None, *, drained: bool = False) -> bool:
    """Whether the other end of a pipe is closed, and, if `drained`, everything was read."""
    if sys.platform == "win32" or descriptor is None:
        return False  # Windows shows only the end of stdin
    import select  # noqa: PLC0415  # without `poll` on Windows

    poll = select.poll()
    poll.register(descriptor, getattr(select, "POLLRDHUP", 0))
    gone = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)
    if not any(found & gone for _, found in poll.poll(0)):
        return False
    return not drained or _count_unread(descriptor) == 0


def _count_unread(descriptor: int) -> int:
    """How many bytes wait to be read."""
    import fcntl  # noqa: PLC0415  # not there on Windows
    import termios  # noqa: PLC0415

    try:
        count = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
    except OSError:
        return 0
    return int.from_bytes(count, sys.byteorder)
