"""`memory-mcp nudge`: how other programs leave something for the user, and a person looks at it."""

import json
import re
import sys
from pathlib import Path

import pytest
from command_line import Run, as_json, complaint


@pytest.fixture(autouse=True)
def ada(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_USER", "ada")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where they wait."""
    return tmp_path / "home" / "user-ada" / "nudges"


def test_nudges_are_left_listed_and_one_opens_the_next_session(run: Run, folder: Path) -> None:
    """The whole life of two."""
    said = as_json(run, "nudge", "add", "Tea?")
    assert (said["text"], said["priority"], said["by"]) == ("Tea?", 5, "cli")
    assert "expiresAt" not in said
    as_json(run, "nudge", "add", "The build broke.", "--priority", "9", "--expires", "2999-12-31")

    listed = as_json(run, "nudge", "list")
    assert [nudge["text"] for nudge in listed["nudges"]] == ["The build broke.", "Tea?"]
    assert listed["nudges"][0]["expiresAt"] == "2999-12-31T00:00:00.000Z"
    assert listed["nudges"][1]["nudgeId"] == said["nudgeId"]
    assert listed["place"] == str(folder)
    assert listed["unread"] == []

    assert "- The build broke." in run("context")[1]
    assert "- Tea?" not in run("context")[1]
    assert as_json(run, "nudge")["nudges"] == []


def test_whose_nudges_they_are_may_stand_behind_the_action(run: Run) -> None:
    """As everywhere."""
    as_json(run, "nudge", "add", "Tea?", "--project", ".")

    assert [each["text"] for each in as_json(run, "nudge", "list", "--project", ".")["nudges"]]
    assert "nudge takes no --branch." in complaint(
        run, "nudge", "list", "--branch", "x", expected=2
    )


def test_a_person_reads_what_waits_and_what_is_in_the_way(run: Run, folder: Path) -> None:
    """And where programs may put theirs."""
    assert run("nudge") == (0, f"No nudge waits.\nPrograms leave them in {folder}\n", "")
    assert not folder.exists(), "looking makes nothing"

    assert run("nudge", "add", "Tea?", "--expires", "2999-12-31") == (
        0, "It waits for the next session that begins.\n", "",
    )  # fmt: skip
    (folder / "half.json").write_text("{")
    status, out, error = run("nudge", "list")

    assert (status, error) == (0, "")
    assert re.fullmatch(
        r" 5 Tea\?\n   \[left \S+Z by cli, until 2999-12-31T00:00:00.000Z\]\n"
        r".*half\.json is no nudge: it is no JSON object in UTF-8\.\n"
        r"Programs leave them in .*\n",
        out,
    )


def test_a_folder_full_of_something_else_is_known_by_its_first_files(
    run: Run, folder: Path
) -> None:
    """Nobody reads a thousand lines."""
    folder.mkdir(parents=True)
    for number in range(25):
        (folder / f"{number:02}.json").write_text("{")

    unread = as_json(run, "nudge", "list")["unread"]
    assert len(unread) == 21
    assert unread[-1] == "And 5 more."


def test_the_text_may_come_through_a_pipe(run: Run) -> None:
    """Quotes and line ends need no shell's blessing; it is shown on one line."""
    status, _, _ = run("nudge", "add", "-", stdin='It\'s "done".\n')

    assert status == 0
    assert as_json(run, "nudge")["nudges"][0]["text"] == 'It\'s "done".'


def test_a_secret_is_taken_out_before_anything_is_written(run: Run, folder: Path) -> None:
    """As of every text that comes in."""
    said = as_json(run, "nudge", "add", "The token is ghp_0123456789abcdefghijABCDEFGHIJ012345.")

    assert "Taken out before anything was written: github" in said["message"]
    assert "[redacted:github" in said["text"]
    (file,) = folder.glob("*.json")
    assert b"0123456789" not in file.read_bytes()


def test_clearing_removes_what_waits(run: Run) -> None:
    """One, or none."""
    run("nudge", "add", "Tea?")

    assert as_json(run, "nudge", "clear")["removed"] == 1
    assert run("nudge", "clear")[1] == "0 nudges are removed.\n"
    assert as_json(run, "nudge")["nudges"] == []


def test_clearing_says_what_it_left_and_how_that_goes(run: Run, folder: Path) -> None:
    """What is no nudge may be somebody's: it goes only when asked for."""
    run("nudge", "add", "Tea?")
    (folder / "half.json").write_text("{")
    (folder / "folder.txt").mkdir()

    said = as_json(run, "nudge", "clear")
    assert (said["removed"], said["left"]) == (1, 2)
    assert "`memory-mcp nudge clear --all` removes it." in said["message"]
    assert as_json(run, "nudge", "clear", "--all")["removed"] == 1
    assert (folder / "folder.txt").is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot be")
def test_names_that_others_chose_are_shown_on_one_line_and_without_secrets(
    run: Run, folder: Path
) -> None:
    """A terminal obeys control characters, and a heading can be forged."""
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    folder.mkdir(parents=True)
    (folder / "a\x1b[2J\nb.json").write_text("{")
    (folder / f"{token}.json").write_text("{")
    by = f"ci\x1b[31m\n{token}\u202e"
    (folder / "c.json").write_text(json.dumps({"text": "Tea?", "by": by, "x\x1b": 1}))

    for arguments in (("nudge",), ("nudge", "--json")):
        _, out, _ = run(*arguments)
        said = out.replace("\\n", "\x00").replace("\\u00", "\x00")  # JSON's signs for them
        assert token not in said
        assert all(char.isprintable() for char in said.replace("\n", " "))
        assert "a b.json is no nudge" in said


def test_what_cannot_be_a_nudge_is_refused_with_what_would_do(run: Run, folder: Path) -> None:
    """Before anything is written."""
    assert complaint(run, "nudge", "add", "\x00\n") == (
        "The nudge is empty. Say what is to be brought up."
    )
    assert complaint(run, "nudge", "add", "x" * 301) == (
        "The nudge has 301 characters; the limit is 300. Say it in one or two sentences, and add "
        "the rest as a memory."
    )
    assert "half a surrogate pair at position 1" in complaint(run, "nudge", "add", "x\ud800")
    for priority in ("0", "11"):
        assert f"--priority: {priority} is out of range; choose 1 to 10." in complaint(
            run, "nudge", "add", "x", "--priority", priority, expected=2
        )
    said = complaint(run, "nudge", "add", "x", "--expires", "2020-01-01")
    assert said.startswith("--expires is 2020-01-01T00:00:00+00:00, which is past")
    said = complaint(run, "nudge", "add", "x", "--expires", "0001-01-01T00:00+14:00")
    assert "beyond the calendar" in said
    assert "--expires: 'soon' is no time;" in complaint(
        run, "nudge", "add", "x", "--expires", "soon", expected=2
    )
    status, _, error = run("nudge", "sing")
    assert status == 2
    assert "'sing' is unknown; choose one of list, add, clear" in error
    assert not folder.exists()


def test_a_queue_that_is_full_says_what_to_do(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program in a loop fills no disk."""
    monkeypatch.setattr("memory_mcp.domain.limits.NUDGES_MAX", 3)
    for number in range(3):
        as_json(run, "nudge", "add", f"number {number}")

    assert "`memory-mcp nudge clear` removes them." in complaint(run, "nudge", "add", "one more")
    assert len(list(folder.glob("*.json"))) == 3


def test_a_meta_session_and_memory_that_is_off_leave_none(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading is fine in a meta session; off is off."""
    monkeypatch.setenv("MEMORY_MODE", "meta")
    for command in (("add", "Tea?"), ("clear",)):
        status, out, _ = run("nudge", *command, "--json")
        assert status == 1
        said = json.loads(out)["message"]
        done = "removed" if command == ("clear",) else "stored"
        assert said.startswith(f"Nothing was {done}: this is a meta session")
    assert as_json(run, "nudge", "list")["nudges"] == []

    monkeypatch.setenv("MEMORY_ENABLED", "off")
    for command in (("add", "Tea?"), ("clear",), ("list",)):
        status, _, error = run("nudge", *command)
        assert status == 1
        assert "Memory is off" in error
    assert not folder.exists()
