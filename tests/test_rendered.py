"""Whether what lies ready for a hook still holds: nothing abandoned may be printed."""

import json
import os
import time
from pathlib import Path

from memory_mcp.rendered import Rendered, file_of, read, still_holds, watch


def made(folder: Path, *, until: float | None = None) -> Rendered:
    """A bootstrap made from what is in the folder now."""
    memories = folder / "memory"
    (memories / "2026-01").mkdir(parents=True, exist_ok=True)
    (folder / "head.json").touch()
    return Rendered(
        branch="a/b",
        revision=3,
        text="It is so.",
        tokens=3,
        zone="",
        until=until,
        watched=watch(str(folder / "head.json"), [str(memories)]),
    )


def test_it_holds_until_a_record_comes_or_goes(tmp_path: Path) -> None:
    """A month's folder changes with each file in it."""
    rendered = made(tmp_path)
    assert still_holds(rendered)
    os.utime(tmp_path / "memory" / "2026-01", ns=(0, 0))

    assert not still_holds(rendered)


def test_a_new_month_and_a_moved_head_are_changes(tmp_path: Path) -> None:
    """A backtrack writes the head; the first record of a month makes a folder."""
    (first, second) = (made(tmp_path), made(tmp_path))
    (tmp_path / "memory" / "2026-02").mkdir()
    assert not still_holds(first)
    (tmp_path / "memory" / "2026-02").rmdir()
    (tmp_path / "head.json").write_text("{}", "utf-8")

    assert not still_holds(second)


def test_other_files_beside_the_months_are_no_change(tmp_path: Path) -> None:
    """The rendered views themselves lie there."""
    rendered = made(tmp_path)
    (tmp_path / "memory" / "MEMORY.md").write_text("views", "utf-8")

    assert still_holds(rendered)


def test_what_expires_in_it_ends_it(tmp_path: Path) -> None:
    """Nothing is written when a memory expires."""
    assert still_holds(made(tmp_path, until=time.time() + 60))
    assert not still_holds(made(tmp_path, until=time.time() - 1))


def test_what_is_read_is_what_was_written_for_that_branch(tmp_path: Path) -> None:
    """A damaged file, or one of another branch, is none."""
    rendered = made(tmp_path)
    path = Path(file_of(str(tmp_path), "a/b"))
    path.parent.mkdir()
    path.write_text(json.dumps(rendered), "utf-8")

    assert read(str(tmp_path), "a/b") == rendered
    assert read(str(tmp_path), "a") is None
    path.write_text(json.dumps({**rendered, "branch": "A/b"}), "utf-8")
    assert read(str(tmp_path), "a/b") is None
    path.write_text('{"branch": "a/b"', "utf-8")
    assert read(str(tmp_path), "a/b") is None


def test_no_branch_gives_a_file_that_windows_keeps_for_a_device() -> None:
    """A device swallows what is written to it, whatever follows behind a dot."""
    names = ["CON", "nul", "com1", "aux.fixes", "PRN", "lpt9", "console", "main", "a/con"]
    files = [os.path.basename(file_of("state", name)) for name in names]  # noqa: PTH119

    assert files == [
        "%CON.json", "%nul.json", "%com1.json", "%aux.fixes.json", "%PRN.json", "%lpt9.json",
        "console.json", "main.json", "a%2Fcon.json",
    ]  # fmt: skip
