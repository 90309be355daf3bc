"""A model on this machine: its files on disk, and the embedder that loads them.

Only the vendor's weights are accepted, never a finished graph: a graph is a program, and ours is
built here. A converted model is three files, for most a fourth with its form, and a manifest that
is written last: a folder without a manifest is no model. The manifest names the
SHA-256 of each file, and `identity` follows from them: other files make other vectors.

The model is loaded by the first call and released when idle. Loading and computing run in threads:
each text is a job of its own, so a long batch blocks neither the event loop nor a question.
"""

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memory_mcp.domain.limits import EMBEDDER_IDLE_SECONDS
from memory_mcp.domain.search import PassageVectors, QueryVectors
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.models.forms import FORM

MINILM: Final = "minilm"
"""The model that most have; the others are named as their folders were."""

WEIGHTS: Final = "model.safetensors"
"""The vendor's file, removed once the graph is built."""
TOKENIZER: Final = "tokenizer.json"
GRAPH: Final = "model.onnx"
MEAN: Final = "mean.f32"
"""The mean token vector of unrelated text, float32, little-endian."""
MANIFEST: Final = "manifest.json"

INPUT: Final = "input_ids"
OUTPUT: Final = "last_hidden_state"

_FORMAT: Final = 2
"""Version of the files and of their vectors; a model of another version is built anew."""


@frozen
class Manifest:
    """Which model this is, where it came from, and the SHA-256 of its files."""

    name: str
    identity: str
    source: str
    added_at: str
    files: Mapping[str, str]


def read_manifest(folder: Path) -> Manifest | None:
    """The model in this folder; None if there is none.

    Raises:
        ModelUnavailableError: what is there cannot be used.
    """
    try:
        fields: Any = json.loads((folder / MANIFEST).read_bytes())
        form = fields.pop("format")
        found = Manifest(**fields)
        files = {str(name): str(digest) for name, digest in dict(found.files).items()}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ModelUnavailableError(
            f"The model in {folder} cannot be read ({error.strerror}). Make the folder readable."
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelUnavailableError(
            f"{folder / MANIFEST} is damaged. {suggest_adding(folder)}"
        ) from error
    if form != _FORMAT or set(files) - {FORM} != {GRAPH, MEAN, TOKENIZER}:
        raise ModelUnavailableError(
            f"The model in {folder} was made by another version of memory-mcp. "
            f"{suggest_adding(folder)}"
        )
    return found


def encode_manifest(manifest: Manifest) -> bytes:
    """The manifest's file."""
    fields = {"format": _FORMAT, **asdict(manifest)}
    return (json.dumps(fields, indent=1) + "\n").encode()


def derive_identity_suffix(files: Mapping[str, str]) -> str:
    """The end of a model's identity: other files make other vectors."""
    lines = "\n".join([str(_FORMAT), *(f"{name} {files[name]}" for name in sorted(files))])
    return hashlib.sha256(lines.encode()).hexdigest()[:8]


def hash_file(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def find_damaged_files(folder: Path, manifest: Manifest) -> list[str]:
    """Which files are not what the manifest says.

    Raises:
        OSError: one cannot be read.
    """
    return [name for name, digest in manifest.files.items() if hash_file(folder / name) != digest]


def find_newest(home: Path) -> str:
    """The name of the model that was added last; empty if there is none.

    One whose manifest cannot be used counts as the oldest: whoever loads it says what is wrong.
    """
    added: list[tuple[str, str]] = []
    for path in home.glob(f"*/{MANIFEST}"):
        try:
            manifest = read_manifest(path.parent)
        except ModelUnavailableError:
            manifest = None
        added.append((manifest.added_at if manifest else "", path.parent.name))
    return max(added, default=("", ""))[1]


def suggest_adding(folder: Path) -> str:
    """The remedy for a model that cannot be used; one without a recipe came from a folder."""
    if folder.name == MINILM:
        return f"`memory-mcp models add {MINILM}` makes it anew."
    return f"`memory-mcp models add FOLDER` makes it anew from the vendor's folder {folder.name!r}."


NO_EXTRA: Final = (
    "Models on this machine need libraries that are not installed: "
    "pip install 'backtrack-memory[semantic]'."
)

_LIBRARIES: Final = ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers")


def is_extra_installed() -> bool:
    """Whether the libraries are there; none is imported."""
    return all(find_spec(library) for library in _LIBRARIES)


if TYPE_CHECKING:
    from memory_mcp.models.encoder import Encoder  # 150 ms, 40 MB

_THREADS: Final = 2
"""One for memories and one for questions. Each keeps 20 MB of its own (glibc's arenas)."""

Result = TypeVar("Result")


class LocalModel:
    """An `Embedder` over the model in `folder`, which must match the manifest."""

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
        self._idle_timer: asyncio.TimerHandle | None = None

    @property
    def here(self) -> bool:
        return True

    @property
    def identity(self) -> str:
        return self._manifest.identity

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._encoder is not None

    async def passages(self, texts: Sequence[str]) -> list[PassageVectors]:
        with self._in_use():
            return [await self._run(lambda it, text=text: it.passage(text)) for text in texts]

    async def question(self, text: str) -> QueryVectors:
        with self._in_use():
            return await self._run(lambda it: it.question(text))

    async def aclose(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        await asyncio.to_thread(self._unload)
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False)

    @contextmanager
    def _in_use(self) -> Generator[None]:
        self._calls += 1
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                loop = asyncio.get_running_loop()
                idle = partial(loop.run_in_executor, None, self._unload)
                self._idle_timer = loop.call_later(self._idle_seconds, idle)

    def _unload(self) -> None:
        with self._loading:
            encoder, self._encoder = self._encoder, None
        if encoder is None:
            return
        from memory_mcp.models.encoder import release_memory  # noqa: PLC0415  # imported with it

        del encoder
        release_memory()

    async def _run(self, compute: Callable[["Encoder"], Result]) -> Result:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="model")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._compute, compute)

    def _compute(self, compute: Callable[["Encoder"], Result]) -> Result:
        encoder = self._load()
        try:
            return compute(encoder)
        except Exception as error:  # the runtime's errors have no base of their own
            raise ModelUnavailableError(
                f"The model in {self._folder} failed at a text ({type(error).__name__})."
            ) from error

    def _load(self) -> "Encoder":
        with self._loading:
            if self._encoder is None:
                self._encoder = _load_encoder(self._folder, self._manifest)
            return self._encoder


def _load_encoder(folder: Path, manifest: Manifest) -> "Encoder":
    try:
        from memory_mcp.models.encoder import Encoder  # noqa: PLC0415  # 150 ms, 40 MB
    except ImportError as error:
        raise ModelUnavailableError(NO_EXTRA) from error
    try:
        changed = find_damaged_files(folder, manifest)
        encoder = None if changed else Encoder(folder)
    except Exception as error:  # a damaged file is refused in many ways
        raise ModelUnavailableError(
            f"The model in {folder} cannot be loaded ({type(error).__name__}). "
            f"{suggest_adding(folder)}"
        ) from error
    if encoder is None:
        raise ModelUnavailableError(
            f"{folder / changed[0]} is damaged, or was replaced since this session began (its "
            "SHA-256 is another one). Start the session again; if that does not help, "
            f"{suggest_adding(folder)}"
        )
    return encoder
