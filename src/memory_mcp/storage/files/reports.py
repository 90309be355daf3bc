"""Writes the files of a report. Inside a project, or any git work tree, it follows no link."""

import os
from collections.abc import Mapping
from pathlib import Path

from memory_mcp.disk import Disk
from memory_mcp.errors import InvalidRequestError, StoreUnavailableError
from memory_mcp.locations import find_untrusted_roots
from memory_mcp.safe_files import UnsafeFileError, refuse_links
from memory_mcp.storage.threads import in_thread


@in_thread
def write_report(folder: str, texts: Mapping[str, str], project: str = "") -> list[Path]:
    """Write a file for each name into the folder, which is made; existing ones are replaced.

    Raises:
        InvalidRequestError: a name is no plain name, or a link stands in the way.
        StoreUnavailableError: the file system refused.
    """
    place = Path(os.path.abspath(Path(folder).expanduser()))  # noqa: PTH100  # follows no link
    for name in texts:
        plain = Path(name).name == name and name.isprintable() and "\\" not in name
        if not name or name in {".", ".."} or not plain:
            raise InvalidRequestError(f"{name!r} is no name of a file. Give one without a folder.")
    disk = Disk()
    disk.roots = tuple(Path(root) for root in find_untrusted_roots(str(place), project))
    paths = [place / name for name in texts]
    try:
        for path, text in zip(paths, texts.values(), strict=True):
            for root in disk.roots:
                refuse_links(str(root), str(path))
            disk.write(path, text.encode())
    except (UnsafeFileError, StoreUnavailableError) as error:
        link = error if isinstance(error, UnsafeFileError) else error.__cause__
        if not isinstance(link, UnsafeFileError):
            raise
        raise InvalidRequestError(
            f"{folder!r} is not written: {link.filename}: {link.why}. Name another folder."
        ) from error
    return paths
