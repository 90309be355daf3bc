"""Starts memory-mcp again and again, each time in a process of its own: `python launcher.py`.

Importing the server takes longer than all that it does for one malicious repository. So it is
imported once, here, and every process is forked from this one: it has its own memory, its own
folder, environment and pipes, and can be killed. Orders come through the socket that is stdin,
each with the three pipes; the answers are the process id at once, and later how it ended.
"""

import gc
import json
import os
import socket
import sys
import traceback

from memory_mcp import shutdown as ending
from memory_mcp.__main__ import main
from memory_mcp.cli import branches, commands, maintenance, memories, sessions, transfer
from memory_mcp.hooks import run as hook
from memory_mcp.server import main as server

IMPORTED = (hook, commands, server, branches, maintenance, memories, sessions, transfer)
"""So that the processes need not."""

ORDER_BYTES_MAX = 65_536


def run(order: str, pipes: list[int]) -> None:
    """Be what the order says; never return."""
    status = 1
    try:
        for target, pipe in enumerate(pipes):
            os.dup2(pipe, target)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, closefd=False)  # noqa: SIM115  # as at an interpreter's start
            for number, mode in enumerate("rww")
        )
        wanted = json.loads(order)
        os.environ.clear()
        os.environ.update(wanted["environment"])
        os.chdir(wanted["folder"])
        sys.argv = ["memory-mcp", *wanted["arguments"]]
        ending.__dict__["_PARENT"] = os.getppid()  # as read by a process that imports it itself
        status = main()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 1
    except BaseException:  # noqa: BLE001  # as the interpreter would
        traceback.print_exc()
    finally:
        os._exit(status)


def serve() -> None:
    """Carry out one order after the other, until nobody gives any more."""
    orders = socket.socket(fileno=os.dup(0))
    while True:
        order, pipes, _, _ = socket.recv_fds(orders, ORDER_BYTES_MAX, 3)
        if not order:
            return
        child = os.fork()
        if not child:
            orders.close()
            run(order.decode(), pipes)
        for pipe in pipes:
            os.close(pipe)
        orders.sendall(b"%d\n" % child)
        _, status, used = os.wait4(child, 0)
        kilobytes = used.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
        ended = {"status": os.waitstatus_to_exitcode(status), "kilobytes": kilobytes,
                 "seconds": used.ru_utime + used.ru_stime}  # fmt: skip
        orders.sendall(json.dumps(ended).encode() + b"\n")


if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    serve()
