"""Writes the files of a report. Inside a project, or any git work tree, it follows no link."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from memory_mcp.disk import Disk
from memory_mcp.errors import InvalidRequestError, StoreUnavailableError
from memory_mcp.locations import find_untrusted_roots, name_in_full
from memory_mcp.safe_files import UnsafeFileError, refuse_links
from memory_mcp.storage.threads import in_thread


@in_thread
def write_report(
    folder: str, texts: Mapping[str, str], begins: Mapping[str, str], project: str = ""
) -> list[Path]:
    """Write a file for each name into the folder, which is made.

    Earlier reports are replaced: those that begin as every report of that name (`begins`).

    Raises:
        InvalidRequestError: a name is no plain name, or a link or another file stands in the way.
        StoreUnavailableError: the file system refused.
    """
    place = Path(name_in_full(folder))
    for name in texts:
        plain = Path(name).name == name and name.isprintable() and "\\" not in name
        if not name or name in {".", ".."} or not plain:
            raise InvalidRequestError(f"{name!r} is no name of a file. Give one without a folder.")
    disk = make_guarded_disk(place, project)
    paths = [place / name for name in texts]
    with explain_links(folder, "Name another folder."):
        for path in paths:  # nothing is written before all of them may be
            for root in disk.roots:
                refuse_links(str(root), str(path))
            _refuse_foreign(path, begins[path.name])
        for path, text in zip(paths, texts.values(), strict=True):
            disk.write(path, text.encode())
    return paths


def make_guarded_disk(path: Path, project: str) -> Disk:
    """What writes there, and inside a project or any git work tree follows no link."""
    disk = Disk()
    disk.roots = tuple(Path(root) for root in find_untrusted_roots(str(path), project))
    return disk


@contextmanager
def explain_links(target: str, advice: str) -> Generator[None]:
    """Say of a link on the way to a target that it is not written through, and what to do."""
    try:
        yield
    except (UnsafeFileError, StoreUnavailableError) as error:
        link = error if isinstance(error, UnsafeFileError) else error.__cause__
        if not isinstance(link, UnsafeFileError):
            raise
        why = link.explain(name_in_full(target))
        raise InvalidRequestError(f"{target!r} is not written: {why}. {advice}") from error


def _refuse_foreign(path: Path, begin: str) -> None:
    """Refuse to replace a file that is no report."""
    try:
        with path.open("rb") as file:
            found = file.read(len(begin))
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise InvalidRequestError(
            f"{str(path.parent)!r} is no folder. Name another folder."
        ) from error
    except OSError as error:
        raise StoreUnavailableError(f"{str(path)!r} cannot be looked at: {error}.") from error
    if found and found != begin.encode():
        raise InvalidRequestError(
            f"{str(path)!r} is no report of ours, so it is kept, and nothing was written. Move it, "
            "or name another folder or file."
        )
