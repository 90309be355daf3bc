"""What only some platforms have: what they promise is kept there too."""

import errno
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from memory_mcp import disk, safe_files
from memory_mcp.disk import Disk
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.storage.sqlite.database import remedy_of

fcntl = pytest.importorskip("fcntl")


class _Drive(type(Path())):
    """A drive that is not plugged in: like `Z:\\` it is its own parent."""

    @property
    def parent(self) -> "_Drive":
        return self


def test_a_drive_that_is_not_there_is_named(tmp_path: Path) -> None:
    """It was looked for above itself for ever."""
    drive = _Drive(tmp_path / "Z")
    with pytest.raises(StoreUnavailableError, match="is not mounted"):
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

    folders = 2  # that of a file that was replaced, and that of a log which is new
    assert len(synced) == folders + (0 if known else 2)
    assert (tmp_path / "a").read_bytes() == b"x"
    assert (tmp_path / "b").read_bytes() == b"x\n"


@pytest.mark.parametrize(
    ("code", "why", "then"),
    [
        ("EFBIG", "larger than", "ulimit -f"), ("EDQUOT", "quota", "Free some space"),
        ("ENOSPC", "full", "Free some space"), ("EMFILE", "this process", "ulimit -n"),
        ("ENFILE", "the system", "Close other programs"), ("EIO", "error", "Check the disk"),
        ("ENODEV", "no longer there", "Mount"), ("ESTALE", "no longer there", "Mount"),
        ("ETXTBSY", "running", "End that program"), ("ELOOP", "link", "Put the real"),
        ("EACCES", "may not be written", "Make the folder writable"),
    ],
)  # fmt: skip
def test_each_refusal_is_told_with_what_helps(code: str, why: str, then: str) -> None:
    """A folder that is made writable raises no limit."""
    number: int = getattr(errno, code)
    said = str(disk.unavailable(OSError(number, "no"), Path("/x/y"), "store"))

    assert why in said
    assert then in said
    assert ("writable" in said) is (code == "EACCES")


def test_a_limit_on_the_size_of_files_is_told_as_one(tmp_path: Path) -> None:
    """The real refusal of the real system."""
    script = (
        "import resource, signal, sys; from pathlib import Path; from memory_mcp.disk import Disk;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "Disk().write(Path(sys.argv[1]), b'x' * 1000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "f"], capture_output=True, text=True, check=False
    )

    assert "ulimit -f" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "then"),
    [
        (sqlite3.SQLITE_FULL, "Free some space"), (sqlite3.SQLITE_IOERR, "ulimit -f"),
        (sqlite3.SQLITE_CANTOPEN, "cannot be opened"), (sqlite3.SQLITE_READONLY, "writable"),
    ],
)  # fmt: skip
def test_each_refusal_of_sqlite_is_told_with_what_helps(code: int, then: str) -> None:
    """Its codes do not say which limit was met; the message says where to look."""
    assert then in remedy_of(code)


def test_a_file_that_is_read_meanwhile_is_replaced_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses as long as another process has it open; elsewhere a refusal is meant."""
    source, target, replace = tmp_path / "new", tmp_path / "old", os.replace
    refusals: list[str] = []

    def refuse_twice(source: str, target: str) -> None:
        refusals.append(target)
        if len(refusals) % 3:
            raise PermissionError
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse_twice)
    monkeypatch.setattr(safe_files, "_REPLACE_PAUSE_SECONDS", 0)
    source.write_text("new", encoding="ascii")
    monkeypatch.setattr(safe_files, "_WINDOWS", False)
    with pytest.raises(PermissionError):
        safe_files.replace_file(str(source), str(target))
    refusals.clear()
    monkeypatch.setattr(safe_files, "_WINDOWS", True)
    safe_files.replace_file(str(source), str(target))
    assert target.read_text("ascii") == "new"
    assert len(refusals) == 3
