"""What only some platforms have: what they promise is kept there too."""

import os
from pathlib import Path

import pytest

from memory_mcp import disk
from memory_mcp.disk import Disk
from memory_mcp.errors import StoreUnavailableError

fcntl = pytest.importorskip("fcntl")


class _Drive(type(Path())):
    """A drive that is not plugged in: like `Z:\\` it is its own parent."""

    @property
    def parent(self) -> "_Drive":
        return self


def test_a_drive_that_is_not_there_is_named(tmp_path: Path) -> None:
    """It was looked for above itself for ever."""
    drive = _Drive(tmp_path / "Z")
    with pytest.raises(StoreUnavailableError, match="No such file or directory"):
        Disk().write(drive, b"x")


@pytest.mark.parametrize("known", [True, False])
def test_the_drive_s_own_cache_is_written_through_where_it_can_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, known: bool
) -> None:
    """On macOS, fsync alone is no promise; a network drive may know nothing better."""
    monkeypatch.setattr(disk, "_FULL_SYNC", fcntl.F_GETFD if known else 1_000_000)
    synced: list[int] = []
    real = os.fsync

    def note(descriptor: int) -> None:
        synced.append(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    Disk().write(tmp_path / "a", b"x")
    Disk().append(tmp_path / "b", b"x")

    folders = 1
    assert len(synced) == folders + (0 if known else 2)
    assert (tmp_path / "a").read_bytes() == b"x"
    assert (tmp_path / "b").read_bytes() == b"x\n"
