"""The models on this machine: which are there, adding one, removing one.

Called by the command line alone, and therefore simply waits: a download takes as long as it takes.
"""

import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from memory_mcp.disk import Disk, unavailable
from memory_mcp.errors import InvalidRequestError, ModelUnavailableError, StoreUnavailableError
from memory_mcp.inference.conversion import convert
from memory_mcp.inference.extra import NO_EXTRA, extra_installed
from memory_mcp.inference.fetching import Tell, fetched
from memory_mcp.inference.model_files import MANIFEST, Manifest, damaged, read_manifest
from memory_mcp.inference.recipes import RECIPES, Recipe

__all__ = ["Kept", "ModelStore"]


@dataclass(frozen=True)
class Kept:
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

    def kept(self) -> list[Kept]:
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
            raise unavailable(error, self._home, "store") from error

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

    def _look(self, recipe: Recipe) -> Kept:
        folder = self.folder(recipe.name)
        try:
            manifest = read_manifest(folder)
            if manifest is None:
                return Kept(recipe, folder)
            size = sum((folder / name).stat().st_size for name in manifest.files)
        except ModelUnavailableError as error:
            return Kept(recipe, folder, problem=str(error))
        except OSError as error:
            return Kept(recipe, folder, problem=f"{error.filename}: {error.strerror}.")
        return Kept(recipe, folder, manifest, size)
