"""The ledger of what this machine wrote: asked by many threads, written by many processes."""

import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from depth import depth

from memory_mcp.disk import Disk
from memory_mcp.storage.files.trust import Ledger

LINES_AT_ONCE = 40
ASKING = 8


@pytest.fixture
def switching_often() -> Generator[None]:
    """Threads take turns so often that two of them meet in any few lines."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching_often")
def test_threads_that_ask_at_once_miss_nothing_that_another_process_noted(tmp_path: Path) -> None:
    """A name that is missed is a record that counts as a stranger's, and leaves every answer."""
    ours, theirs = (Ledger(tmp_path, Disk()) for _ in range(2))
    noted: set[str] = set()
    together = threading.Barrier(ASKING)

    def ask() -> set[str]:
        together.wait()
        return ours.written(noted)

    with ThreadPoolExecutor(ASKING) as threads:
        for number in range(depth(30, 300)):
            fresh = {f"{number}-{line}" for line in range(LINES_AT_ONCE)}
            for name in sorted(fresh):
                theirs.note(name, "d" * 32)
            noted |= fresh
            asking = [threads.submit(ask) for _ in range(ASKING)]

            assert all(asked.result() == noted for asked in asking)


def test_what_is_no_whole_line_names_nothing(tmp_path: Path) -> None:
    """A line may be torn, and the file may be anybody's."""
    ledger, digest = Ledger(tmp_path, Disk()), "d" * 32
    ledger.add("whole", digest)
    torn = ["", " ", digest, f" {digest}", "name", f"name {digest[1:]}", f"name{digest}", "\xff"]
    with (tmp_path / "ledger").open("a", encoding="latin-1") as file:
        file.write("".join(f"{line}\n" for line in torn) + f"cut {digest}")

    assert ledger.written({"whole", "name", "cut", "name ", digest}) == {"whole"}
    assert ledger.knows("whole", digest)
    assert not ledger.knows("cut", digest)
