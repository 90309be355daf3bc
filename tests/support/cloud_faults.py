"""What goes wrong between a client and the cloud, scripted or at random.

A fault is drawn for each request; what it does to the request is in its name. It knows nothing of
what the request is about, except for the method and the path that it may be limited to.
"""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Final, Literal

from starlette.responses import HTMLResponse, JSONResponse, Response

Kind = Literal[
    "hang",  # no answer; carried out and answered after all once healed, if the caller still waits
    "reset",  # the connection is cut, and nothing was done
    "lost",  # done, and then the connection is cut
    "lost-500",  # done, and then a 500
    "lost-hang",  # done, and then no answer until healed
    "500",
    "503",
    "429",  # with Retry-After and retryAfterSeconds
    "401",
    "402",
    "403",
    "html",  # a page with status 200, and nothing was done: somebody's login page
    "html-lost",  # done, and then the page
    "empty",  # status 200 without a body, and nothing was done
    "other-json",  # status 200 with JSON of another shape, and nothing was done
]
Where = Callable[[str, str], bool]
"""Whether a fault may hit a request, by its method and its path."""

PASSING: Final[tuple[Kind, ...]] = (
    "reset", "lost", "lost-500", "500", "503", "429", "html", "html-lost", "empty", "other-json",
)  # fmt: skip
"""What a client should get over alone by trying again."""
CARRIED_OUT: Final[frozenset[Kind]] = frozenset({"lost", "lost-500", "lost-hang", "html-lost"})
CUT: Final[frozenset[Kind]] = frozenset({"reset", "lost"})

_PAGE: Final = "<!doctype html><title>Sign in</title><p>Sign in to use this network."
_ERRORS: Final = {
    "401": "Unauthorized",
    "402": "Payment required",
    "403": "Forbidden",
    "500": "Internal server error",
    "503": "Service unavailable",
}


def anywhere(method: str, path: str) -> bool:
    """Every request."""
    del method, path
    return True


class Faults:
    """What happens to the next requests. May be told from any thread.

    `injected` counts what was done so far.
    """

    def __init__(self, *, hang_seconds: float = 60.0, retry_after_seconds: float = 1.0) -> None:
        self.hang_seconds = hang_seconds
        self.retry_after_seconds = retry_after_seconds
        self.injected: Counter[Kind] = Counter()
        self._lock = Lock()
        self._next: deque[tuple[Kind, Where]] = deque()
        self._always: list[tuple[Kind, Where]] = []
        self._dice: Callable[[str, str], Kind | None] | None = None
        self._hanging: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    @classmethod
    def chaos(
        cls,
        seed: int,
        share: float = 0.5,
        *,
        kinds: tuple[Kind, ...] = PASSING,
        where: Where = anywhere,
    ) -> "Faults":
        """A share of all requests goes wrong, in a way that the seed decides."""
        faults = cls(retry_after_seconds=0.01)
        dice = random.Random(seed)  # noqa: S311  # to be repeated, not to be secret

        def rolled(method: str, path: str) -> Kind | None:
            if where(method, path) and dice.random() < share:
                return dice.choice(kinds)
            return None

        faults._dice = rolled
        return faults

    def next(self, *kinds: Kind, where: Where = anywhere) -> None:
        """The next requests (of those meant) go wrong, one after the other, each in its way."""
        with self._lock:
            self._next.extend((kind, where) for kind in kinds)

    def always(self, kind: Kind, *, where: Where = anywhere) -> None:
        """Every request (of those meant) goes wrong from now on, once `next` is used up."""
        with self._lock:
            self._always.append((kind, where))

    def heal(self) -> None:
        """All is well from now on, and what hangs goes on."""
        with self._lock:
            self._next.clear()
            self._always.clear()
            self._dice = None
            for loop, healed in self._hanging:
                loop.call_soon_threadsafe(healed.set)

    def draw(self, method: str, path: str) -> Kind | None:
        """What goes wrong with this request, if anything."""
        with self._lock:
            kind = self._drawn(method, path)
            if kind is not None:
                self.injected[kind] += 1
            return kind

    def _drawn(self, method: str, path: str) -> Kind | None:
        for entry in self._next:
            if entry[1](method, path):
                self._next.remove(entry)
                return entry[0]
        for kind, where in self._always:
            if where(method, path):
                return kind
        return self._dice(method, path) if self._dice else None

    async def hang(self) -> None:
        """Return when healed, or after `hang_seconds`."""
        mine = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._hanging.append(mine)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(mine[1].wait(), self.hang_seconds)
        finally:
            with self._lock:
                self._hanging.remove(mine)

    def answer(self, kind: Kind) -> Response:
        """What is said instead of the service's own answer."""
        match kind:
            case "html" | "html-lost":
                return HTMLResponse(_PAGE)
            case "empty":
                return Response(status_code=200)
            case "other-json":
                return JSONResponse({"ok": True, "data": {"items": []}})
            case "429":
                seconds = self.retry_after_seconds
                body = {
                    "error": "Rate limit exceeded",
                    "code": "RATE_LIMITED",
                    "retryAfterSeconds": seconds,
                }
                return JSONResponse(body, 429, {"Retry-After": str(-int(-seconds // 1))})
            case _:
                code = kind.removeprefix("lost-")
                return JSONResponse({"error": _ERRORS[code]}, int(code))
