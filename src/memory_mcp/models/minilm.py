"""all-MiniLM-L6-v2 on this machine: loaded by the first call, let go when nobody asks any more.

Everything that is slow to import or to do happens in threads, and the runtime lets go of Python's
lock while it computes: a long batch of memories keeps neither the event loop nor a question
waiting, because each of its texts is a turn of its own.
"""

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from memory_mcp.domain.limits import EMBEDDER_IDLE_SECONDS
from memory_mcp.domain.search import Passage, QueryVectors
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.manifest import NO_EXTRA, Manifest, add_anew, damaged

if TYPE_CHECKING:
    from memory_mcp.models.encoder import Encoder  # 150 ms, 40 MB

_THREADS: Final = 2
"""One for memories and one for a question. Each keeps 20 MB of its own (glibc's arenas)."""

Made = TypeVar("Made")


class MiniLm:
    """An `Embedder` over the model in `folder`, which must be the one that `manifest` tells of."""

    def __init__(
        self, folder: Path, manifest: Manifest, *, idle_seconds: float = EMBEDDER_IDLE_SECONDS
    ) -> None:
        self._folder = folder
        self._manifest = manifest
        self._idle_seconds = idle_seconds
        self._encoder: Encoder | None = None
        self._loading = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._calls = 0
        self._rest: asyncio.TimerHandle | None = None

    @property
    def here(self) -> bool:
        return True

    @property
    def identity(self) -> str:
        return self._manifest.identity

    @property
    def loaded(self) -> bool:
        """Whether the model takes up memory now."""
        return self._encoder is not None

    async def passages(self, texts: Sequence[str]) -> list[Passage]:
        with self._in_use():
            return [await self._in_thread(lambda it, text=text: it.passage(text)) for text in texts]

    async def question(self, text: str) -> QueryVectors:
        with self._in_use():
            return await self._in_thread(lambda it: it.question(text))

    async def aclose(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
        await asyncio.to_thread(self._let_go)
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False)

    @contextmanager
    def _in_use(self) -> Generator[None]:
        self._calls += 1
        if self._rest is not None:
            self._rest.cancel()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                loop = asyncio.get_running_loop()
                idle = partial(loop.run_in_executor, None, self._let_go)
                self._rest = loop.call_later(self._idle_seconds, idle)

    def _let_go(self) -> None:
        with self._loading:
            encoder, self._encoder = self._encoder, None
        if encoder is None:
            return
        from memory_mcp.models.encoder import give_back  # noqa: PLC0415  # imported with it

        del encoder
        give_back()

    async def _in_thread(self, what: Callable[["Encoder"], Made]) -> Made:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="minilm")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._compute, what)

    def _compute(self, what: Callable[["Encoder"], Made]) -> Made:
        encoder = self._ready()
        try:
            return what(encoder)
        except Exception as error:  # the runtime's errors have no base of their own
            raise ModelUnavailableError(
                f"The model in {self._folder} failed at a text ({type(error).__name__})."
            ) from error

    def _ready(self) -> "Encoder":
        with self._loading:
            if self._encoder is None:
                self._encoder = _load(self._folder, self._manifest)
            return self._encoder


def _load(folder: Path, manifest: Manifest) -> "Encoder":
    try:
        from memory_mcp.models.encoder import Encoder  # noqa: PLC0415  # 150 ms, 40 MB
    except ImportError as error:
        raise ModelUnavailableError(NO_EXTRA) from error
    try:
        changed = damaged(folder, manifest)
        encoder = None if changed else Encoder(folder)
    except Exception as error:  # a damaged file is refused in many ways
        raise ModelUnavailableError(
            f"The model in {folder} cannot be loaded ({type(error).__name__}). {add_anew(folder)}"
        ) from error
    if encoder is None:
        raise ModelUnavailableError(
            f"{folder / changed[0]} is damaged, or was replaced since this session began (its "
            "SHA-256 is another one). Start the session again; if that does not help, "
            f"{add_anew(folder)}"
        )
    return encoder
