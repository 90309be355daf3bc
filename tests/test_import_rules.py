"""What people wrote as rules comes whole: each is a memory, or it is named why it is none."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from command_line import Run, as_json, complaint

from memory_mcp.domain.limits import IMPORT_BYTES_MAX, IMPORT_ITEMS_MAX
from memory_mcp.domain.sessions import GENERATED
from memory_mcp.domain.transfer import ForeignMemory, LeftOut, Material, Parsed, SourceFile
from memory_mcp.errors import InvalidRequestError
from memory_mcp.formats.claude_md import CLAUDE_FILES
from memory_mcp.formats.importers import read_source
from memory_mcp.formats.markdown import BARE, parse_blocks, parse_front_matter
from memory_mcp.storage.files.imports import read_material

THEN: Final = datetime(2026, 1, 2, tzinfo=UTC)


def of_text(text: str, name: str = "CLAUDE.md", source: str | None = None) -> Parsed:
    """One file that says this."""
    return read_source(Material((SourceFile(name, text, THEN),)), source, name)


def said(parsed: Parsed) -> dict[str, ForeignMemory]:
    """The memories by their texts."""
    return {memory.content: memory for memory in parsed.memories}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("- one <!-- for people --> two", ["one  two"]),
        ("- one\n<!-- a\nb -->\n- two", ["one", "two"]),
        ("- one <!-- never closed\n- two", ["one <!-- never closed", "two"]),
        ("- write `<!-- x -->` there\n- two", ["write `<!-- x -->` there", "two"]),
        ("- a lone ` here <!-- out -->\n\n- two", ["a lone ` here", "two"]),
        ("```html\n<!-- in -->\n```\n\n- two", ["```html\n<!-- in -->\n```", "two"]),
        ("```all``` of it\n\n# one\n\ntwo", ["```all``` of it", "two"]),
    ],
)
def test_only_a_comment_is_left_out_as_one(text: str, kept: list[str]) -> None:
    """An arrow that nobody closed must not take the rules below it along."""
    assert [block.text for block in parse_blocks(text)] == kept


def test_a_heading_alone_is_named() -> None:
    """It may be the rule itself; one with a part below it is only a heading."""
    parsed = of_text("# Rules\n\n## Never push to main\n\n## Tests\n\n- first\n\n# End")

    assert list(said(parsed)) == ["first"]
    assert parsed.left_out == (
        LeftOut("CLAUDE.md, line 3: Never push to main", BARE),
        LeftOut("CLAUDE.md, line 9: End", BARE),
    )


@pytest.mark.parametrize("head", ["# only a heading\n!!odd", "Use tabs.\nTest first."])
def test_two_rules_about_a_text_are_no_front_matter(head: str) -> None:
    """What stands between them was written to be read."""
    text = f"---\n{head}\n---\nbody"

    assert parse_front_matter(text) == ({}, text)
    assert head.splitlines()[1] in "\n".join(said(of_text(text)))


@pytest.mark.parametrize(
    ("name", "head", "lost"),
    [
        ("CLAUDE.md", "paths: src/**", "paths"),
        (
            "note.md",
            "name: n\nmodel: x\nmetadata:\n  type: user\n  mood: y",
            "metadata.mood, model",
        ),
        ("note.md", "permalink: n\ntags: [a]\nmood: y", "mood"),
    ],
)
def test_fields_that_have_no_place_are_named(name: str, head: str, lost: str) -> None:
    """A rule that held for some paths holds for all now: that must be said."""
    parsed = of_text(f"---\n{head}\n---\n- a rule", name)

    assert parsed.notes == (f"Fields that no memory here has were not carried over: {lost}.",)


def test_our_own_pages_are_not_taken_in() -> None:
    """They repeat what is remembered, also what was corrected since."""
    ours = SourceFile("MEMORY.md", f"{GENERATED} 1.0 -->\n- remembered", THEN)
    theirs = SourceFile("role.md", "---\nmetadata:\n  type: user\n---\nlikes Go", THEN)
    parsed = read_source(Material((ours, theirs), folder=True), None, "notes")

    assert list(said(parsed)) == ["likes Go"]
    assert parsed.left_out == (
        LeftOut("MEMORY.md", "was written by this program, of its own memories"),
    )
    with pytest.raises(InvalidRequestError, match="only what this program wrote"):
        read_source(Material((ours,), folder=True), "claude-code", "notes")


def test_a_name_stays_as_it_is_written() -> None:
    """`user_id` and `user id` are two things to a program; only the verb is made readable."""
    lines = (
        '{"type": "entity", "name": "user_id", "observations": ["is a UUID", "user-id is old"]}',
        '{"type": "entity", "name": "shop", "observations": ["shop_api is it", "The shop sells"]}',
        '{"type": "relation", "from": "shop_api", "to": "user_id", "relationType": "depends_on"}',
    )
    assert list(said(of_text("\n".join(lines), "memory.jsonl"))) == [
        "user_id: is a UUID",
        "user-id is old",
        "shop: shop_api is it",
        "The shop sells",
        "shop_api depends on user_id.",
    ]
    graph = '{"relations": [{"source": "ada_l", "relationship": "works_at", "target": "shop_api"}]}'
    assert list(said(of_text(graph, "graph.json", "mem0"))) == ["ada_l works at shop_api."]


def test_a_graph_may_come_as_the_tool_tells_it() -> None:
    """`read_graph` is how a client gets at it."""
    parsed = of_text(
        '{\n"entities": [{"name": "Ada", "entityType": "p", "observations": ["likes tea"]}, 7],\n'
        '"relations": [{"from": "Ada", "to": "Bo", "relationType": "knows"}]}',
        "graph.json",
    )

    assert parsed.source == "memory-server"
    assert list(said(parsed)) == ["Ada: likes tea", "Ada knows Bo."]
    assert parsed.left_out == (LeftOut("entity 2", "is an entity without a name"),)


def test_memories_of_mem0_may_stand_in_data() -> None:
    """As its older answers have them."""
    assert list(said(of_text('[{"id": "1", "data": "Likes tea"}]', "tea.json"))) == ["Likes tea"]


@pytest.mark.parametrize("text", ['[{"memory": "Likes te', '{"entities": [', '{"results": [{}]'])
def test_a_file_that_was_cut_short_is_called_that(text: str) -> None:
    """To ask whose it is would lead astray."""
    with pytest.raises(InvalidRequestError, match="Was it cut short"):
        of_text(text, "it.json")


def test_of_a_folder_only_the_files_of_instructions_are_read(tmp_path: Path) -> None:
    """A project is full of other notes, and of those of its dependencies."""
    names = ("CLAUDE.md", "README.md", "docs/AGENTS.md", "web/node_modules/x/CLAUDE.md")
    for name in (*names, ".git/CLAUDE.md", "docs/CLAUDE.local.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("- a rule", "utf-8")
    read = {document.name for document in read_material(str(tmp_path), CLAUDE_FILES).documents}

    assert read == {"CLAUDE.md", "docs/AGENTS.md", "docs/CLAUDE.local.md"}


def test_what_is_piped_in_must_be_text(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the letters would be others; and a pipe may be without end."""
    said = run("import", "-", "--from", "mem0", stdin=b'[{"memory": "Caf\xe9"}]')[2]
    assert "stdin is no text in UTF-8 (byte 16)" in said
    monkeypatch.setattr("memory_mcp.storage.files.imports.IMPORT_BYTES_MAX", 5)
    assert "stdin holds more than 50 bytes" in run("import", "-", stdin=b"1" * 51)[2]


def test_our_own_export_is_known_however_it_is_set(run: Run, project: Path) -> None:
    """`jq -c` leaves no spaces."""
    text = '{"format":"memory-mcp","version":2,"records":[],"count":0}'
    (project / "it.json").write_text(text, "utf-8")

    assert "export of version 2" in complaint(run, "import", "it.json")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("it.json", '[{"memory": "a"}, {"memory": "b"}, {}]'),
        ("it.jsonl", '{"type":"entity","name":"n","entityType":"t","observations":["a","b","c"]}'),
        ("CLAUDE.md", "- a\n- b\n- c\n"),
    ],
)
def test_more_than_one_import_can_hold_is_refused(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    """An item takes some kB until the last one is checked: the limit is said, and nothing taken."""
    (project / name).write_text(text, "utf-8")
    with monkeypatch.context() as few:
        few.setattr("memory_mcp.formats.values.IMPORT_ITEMS_MAX", 2)
        said = complaint(run, "import", name)
        assert "There are more than 2 items in it" in said
        assert "Import it in parts; nothing was changed." in said
    with monkeypatch.context() as few:
        few.setattr("memory_mcp.storage.files.imports.IMPORT_VALUES_MAX", 1)
        assert "holds more than 1 values or lines. Import it in parts" in complaint(
            run, "import", name
        )
    with monkeypatch.context() as few:
        few.setattr("memory_mcp.storage.files.imports.IMPORT_BYTES_MAX", 9)
        said = complaint(run, "import", name)
        assert "up to 9 are read. Import it in parts" in said
    assert as_json(run, "import", name)["read"] == 3


def test_what_lies_in_no_repository_may_be_larger(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup of the user's own, ten times as large."""
    (project.parent / "it.json").write_text('[{"memory": "a"}, {"memory": "b"}, {}]', "utf-8")
    monkeypatch.setattr("memory_mcp.formats.values.IMPORT_ITEMS_MAX", 1)
    monkeypatch.setattr("memory_mcp.storage.files.imports.IMPORT_BYTES_MAX", 9)

    assert as_json(run, "import", "../it.json")["read"] == 3


def test_an_export_that_no_import_would_take_says_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is needed."""
    as_json(run, "add", "Orders live in PostgreSQL.")
    assert "copy the folders" not in run("export", "it.json")[1]
    monkeypatch.setattr("memory_mcp.cli.transfer.IMPORT_BYTES_MAX", 9)
    assert "larger than one import takes (90 bytes" in run("export", "it.json")[1]


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "wait4"), reason="asks the system how much was taken")
@pytest.mark.parametrize("shape", ["wide", "many", "values", "points"])
def test_the_largest_sources_take_less_than_300_megabytes(project: Path, shape: str) -> None:
    """Letters beyond 16 bits make each character of a text four bytes wide."""
    room = IMPORT_BYTES_MAX - 100
    wide = '{"memory": "\U0001f600 %04d ' + "some words " * 350 + '"}'
    wides = room // len(wide.encode()) - 10
    small = '{"memory": "the value of number %d is %d, for all that we know of it"}'
    texts: dict[str, Callable[[], str]] = {
        "wide": lambda: "[" + ",".join(wide % n for n in range(wides)) + "]",
        "many": lambda: "[" + ",".join(small % (n, n) for n in range(IMPORT_ITEMS_MAX)) + "]",
        "values": lambda: '[{"memory": "\U0001f600", "list": [' + "{}," * 240_000 + "1]}]",
        "points": lambda: "".join(f"- \U0001f600 {n} {'word ' * 95}\n" for n in range(19_900)),
    }
    name = "CLAUDE.md" if shape == "points" else "it.json"
    (project / name).write_text(texts[shape](), "utf-8")
    command = [sys.executable, "-m", "memory_mcp", "import", "--dry-run", name]
    child = subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)

    assert child.returncode == 0
    assert kilobytes < 300 * 1024
