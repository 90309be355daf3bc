"""What other programs wrote is read as they meant it, and nothing of it gets lost on the way."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from command_line import Run, as_json, complaint
from paths import DATA

from memory_mcp.domain.limits import IMPORT_BYTES_MAX, IMPORT_ITEMS_MAX
from memory_mcp.domain.sessions import PAGE_MARK
from memory_mcp.domain.transfer import (
    ForeignMemory,
    LeftOutItem,
    ParsedSource,
    SourceFile,
    SourceMaterial,
)
from memory_mcp.errors import InvalidRequestError
from memory_mcp.formats.claude_md import CLAUDE_FILES
from memory_mcp.formats.importers import read_source
from memory_mcp.formats.markdown import BARE, parse_blocks, parse_front_matter
from memory_mcp.storage.files.imports import read_material

SAMPLES: Final = DATA / "imports"
THEN: Final = datetime(2026, 1, 2, tzinfo=UTC)

SOURCES: Final[list[tuple[str, str, int, int]]] = [
    ("memory.jsonl", "memory-server", 6, 3),
    ("auto-memory", "claude-code", 6, 2),
    ("claude-md/CLAUDE.md", "claude-md", 5, 2),
    ("basic-memory", "basic-memory", 9, 0),
    ("mem0.json", "mem0", 4, 3),
    ("claude-mem.json", "claude-mem", 2, 3),
]


def read(name: str) -> ParsedSource:
    """A sample, told from what is in it."""
    path = str(SAMPLES / name)
    return read_source(read_material(path), None, path)


def of_text(text: str, name: str = "CLAUDE.md", source: str | None = None) -> ParsedSource:
    """One file that says this."""
    return read_source(SourceMaterial((SourceFile(name, text, THEN),)), source, name)


def said(parsed: ParsedSource) -> dict[str, ForeignMemory]:
    """The memories by their texts."""
    return {memory.content: memory for memory in parsed.memories}


@pytest.mark.parametrize(("name", "source", "memories", "left_out"), SOURCES)
def test_a_source_is_told_from_what_is_in_it_and_counted_whole(
    name: str, source: str, memories: int, left_out: int
) -> None:
    """What is neither a memory nor named as left out would be lost without a word."""
    parsed = read(name)

    assert parsed.source == source
    assert (len(parsed.memories), len(parsed.left_out)) == (memories, left_out)
    assert parsed.read == memories + left_out
    assert len({memory.identity for memory in parsed.memories}) == memories


def test_an_observation_names_whom_it_is_about() -> None:
    """By itself "works at the Analytical Society" answers no question about Ada."""
    found = said(read("memory.jsonl"))

    assert found["Ada_Lovelace: Works at the Analytical Society"].title == "Ada_Lovelace"
    assert found["Ada Lovelace speaks fluent French"].category == "person"
    assert "Ada_Lovelace maintains Shop API." in found


def test_notes_of_claude_code_come_as_they_were_meant() -> None:
    """Each note has a type; the index only leads to them, but for what it says by itself."""
    parsed = read("auto-memory")
    found = {memory.title: memory for memory in parsed.memories}

    assert (found["user role"].kind, found["user role"].reach) == ("preference", "user")
    assert found["feedback testing"].kind == "convention"
    assert found["feedback testing"].content.startswith("Integration tests must hit a real")
    assert found["merge freeze"].content.startswith("Merge freeze begins 2026-03-05")
    assert found["user role"].content.count("ten years of Go") == 1
    assert "Deploys run from the release branch only" in said(parsed)
    assert [each.reason for each in parsed.left_out] == [
        "leads to user_role.md, which comes itself",
        "leads to feedback_testing.md, which comes itself",
    ]


def test_each_point_of_claude_md_is_a_memory_and_imports_are_named() -> None:
    """A rule can be corrected alone; a file that is only named was never read."""
    parsed = read("claude-md/CLAUDE.md")
    found = said(parsed)

    assert found["Build: `make all`"].title == "Shop \u203a Commands"
    assert found["Use 2-space indentation"].kind == "preference"
    assert "```sh\npytest -x tests/test_orders.py\n```" in parsed.memories[2].content
    (note,) = parsed.notes
    assert "@README.md, @docs/api.md, @~/.claude/shared.md" in note
    assert "dev@shop" not in note
    assert "@types" not in note


def test_observations_and_relations_of_a_note_are_told_from_its_prose() -> None:
    """A task and a timecode have brackets too."""
    parsed = read("basic-memory")
    found = said(parsed)

    pour = found["Pour over gives more clarity than a press #brewing (tasted twice)"]
    assert (pour.category, pour.tags) == ("method", ("brewing", "coffee"))
    assert pour.at == datetime(2025, 3, 4, 8, tzinfo=UTC)
    assert found["The office buys beans from Ethiopia"].kind == "decision"
    assert "Coffee Brewing is the base of Cold Brew (in summer)." in found
    assert "- [ ] descale the kettle\n- [00:00:11] is a moment of a recording" in found
    assert "- we talked of [[Tea]] too" in found


def test_memories_of_mem0_keep_their_time_and_labels() -> None:
    """They are what the memories are found by; what has no place here is named."""
    parsed = read("mem0.json")
    found = said(parsed)

    assert found["Works with PostgreSQL 16"].category == "technology"
    assert found["Works with PostgreSQL 16"].tags == ("work",)
    assert found["Likes to play badminton on weekends"].at == datetime(
        2025, 7, 29, 7, 31, 20, 255209, tzinfo=UTC
    )
    assert found["Trial of the vendor is running"].expires_at == datetime(2025, 9, 1, tzinfo=UTC)
    assert "ada works with postgresql." in found
    assert parsed.notes == (
        "Fields that no memory here has were not carried over: metadata.source, user_id.",
    )


@pytest.mark.parametrize("wrapping", ["{}", '{{"memories": {}}}', '{{"results": {}}}'])
def test_a_list_of_mem0_may_stand_alone(wrapping: str) -> None:
    """Its library, its server and its cloud each wrap it in another way."""
    parsed = of_text(wrapping.format('[{"id": "1", "memory": "Likes tea"}]'), "tea.json")

    assert parsed.source == "mem0"
    assert list(said(parsed)) == ["Likes tea"]


def test_observations_of_claude_mem_are_told_whole() -> None:
    """A title alone says that something was decided, the narrative why."""
    observation, summary = read("claude-mem.json").memories

    assert observation.kind == "decision"
    assert "because refunds need the history" in observation.content
    assert "- Events are never changed" in observation.content
    assert "Files: src/orders.py" in observation.content
    assert observation.tags == ("event-sourcing", "trade-off")
    assert observation.at == datetime(2026, 1, 9, 20, tzinfo=UTC)
    assert summary.content.splitlines()[2] == "Learned: Refunds need each state of an order"


def test_a_copy_of_a_source_gives_the_same_identities(tmp_path: Path) -> None:
    """Else the second import of a file that was moved would store everything again."""
    copy = tmp_path / "elsewhere.jsonl"
    copy.write_bytes((SAMPLES / "memory.jsonl").read_bytes())
    again = read_source(read_material(str(copy)), None, str(copy))

    assert [m.identity for m in again.memories] == [
        m.identity for m in read("memory.jsonl").memories
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("just a line", "notes.txt"),
        ("# A heading\n\nand a paragraph", "notes.md"),
        ('{"some": "thing"}', "some.json"),
        ("[" * 100_000, "deep.json"),
        ("", "empty.json"),
    ],
)
def test_what_looks_like_nothing_known_is_asked_about(text: str, name: str) -> None:
    """A guess would fill the memory with what is none."""
    with pytest.raises(InvalidRequestError, match=r"looks like no source.*--from.*memory-server"):
        of_text(text, name)


def test_what_could_be_two_things_is_asked_about() -> None:
    """A folder may hold notes of both."""
    material = SourceMaterial(
        (
            SourceFile("MEMORY.md", "- said", THEN),
            SourceFile("a.md", "---\npermalink: a\n---\nsaid", THEN),
        ),
        folder=True,
    )
    with pytest.raises(InvalidRequestError, match="could be claude-code or basic-memory"):
        read_source(material, None, "notes")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1]", "is no JSON object: a line that was cut short, or not its own"),
        ('{"type": "note"}', "is neither an entity nor a relation, but 'note'"),
        ('{"type": "entity", "observations": ["x"]}', "is an entity without a name"),
        (
            '{"type": "entity", "name": "A", "observations": [7, null]}',
            "is an observation without a text",
        ),
        ("[" * 100_000, "is no JSON object: a line that was cut short, or not its own"),
    ],
)
def test_a_line_that_is_no_memory_is_named(line: str, reason: str) -> None:
    """The reference server drops such lines and says nothing to the user."""
    parsed = of_text(line, "memory.jsonl", "memory-server")

    assert reason in {each.reason for each in parsed.left_out}


def test_values_of_wrong_types_are_left_out_and_not_stumbled_over() -> None:
    """A file that somebody edited must not end in a traceback."""
    parsed = of_text(
        '{"observations": [5, null, {"title": ["x"], "facts": {"a": 1}}], "summaries": "no", '
        '"sessions": [[]], "prompts": {}}',
        "odd.json",
    )

    assert parsed.source == "claude-mem"
    assert parsed.memories == ()
    assert len(parsed.left_out) == 4


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        ("title: A: b # c", {"title": "A: b"}),
        ("title: 'it''s'\ntags: [a, 'b']", {"title": "it's", "tags": ["a", "b"]}),
        ("tags:\n- a\n- b\nother: 1", {"tags": ["a", "b"], "other": "1"}),
        ("tags:\n  - a\n\n  - b", {"tags": ["a", "b"]}),
        ("text: |\n  one\n  two\nx: y", {"text": "one\ntwo", "x": "y"}),
        (
            "metadata:\n  type: user\n  deep:\n    a: b",
            {"metadata": {"type": "user", "deep": {"a": "b"}}},
        ),
        ('json: ["a", "b"]\nempty:', {"json": ["a", "b"], "empty": ""}),
    ],
)
def test_the_front_matter_of_notes_is_read_as_far_as_they_use_it(
    head: str, fields: dict[str, object]
) -> None:
    """These are the forms that the programs write."""
    assert parse_front_matter(f"---\n{head}\n---\nbody") == (fields, "body")
    text = f"\ufeff---\n{head}\n---\nbody".replace("\n", "\r\n")
    assert parse_front_matter(text) == (fields, "body")


def test_code_belongs_to_what_stands_above_it() -> None:
    """A heading or a list within code is none."""
    text = (
        "intro\n\n```md\n# no heading\n\n- no item\n```\n\n"
        "1. one\n   more\n\n   and more\n2. two\n***\nend"
    )

    assert [block.text for block in parse_blocks(text)] == [
        "intro\n```md\n# no heading\n\n- no item\n```",
        "one\nmore\n\nand more",
        "two",
        "end",
    ]


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    """A folder that somebody sent could lead to any file of the machine."""
    (tmp_path / "secret.md").write_text("the secret", "utf-8")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- said", "utf-8")
    (folder / "odd.md").write_bytes(b"\xff")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    material = read_material(str(folder))

    assert [document.name for document in material.documents] == ["MEMORY.md"]
    assert (
        LeftOutItem("link.md", "is a link, and those are not followed in a folder")
        in material.left_out
    )
    assert len(read_source(material, None, "notes").left_out) == 2


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_what_cannot_be_read_is_said(name: str, tmp_path: Path) -> None:
    """An empty answer would look like an empty source."""
    with pytest.raises(
        InvalidRequestError, match=r"There is no(?:thing to read|  ?file or folder)"
    ):
        read_source(read_material(str(tmp_path / name)), None, name)


def test_a_file_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    """Half of the letters would be others."""
    path = tmp_path / "memory.jsonl"
    path.write_bytes(b'{"type": "entity", "name": "Caf\xe9"}')
    with pytest.raises(InvalidRequestError, match=r"no text in UTF-8 \(byte 31\)"):
        read_material(str(path))


# What people wrote as rules comes whole: each is a memory, or it is named why it is none.


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
        LeftOutItem("CLAUDE.md, line 3: Never push to main", BARE),
        LeftOutItem("CLAUDE.md, line 9: End", BARE),
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
    ours = SourceFile("MEMORY.md", f"{PAGE_MARK} 1.0 -->\n- remembered", THEN)
    theirs = SourceFile("role.md", "---\nmetadata:\n  type: user\n---\nlikes Go", THEN)
    parsed = read_source(SourceMaterial((ours, theirs), folder=True), None, "notes")

    assert list(said(parsed)) == ["likes Go"]
    assert parsed.left_out == (
        LeftOutItem("MEMORY.md", "was written by this program, of its own memories"),
    )
    with pytest.raises(InvalidRequestError, match="only what this program wrote"):
        read_source(SourceMaterial((ours,), folder=True), "claude-code", "notes")


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
    assert parsed.left_out == (LeftOutItem("entity 2", "is an entity without a name"),)


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


def test_a_file_in_which_nothing_of_that_form_is_found_is_no_success(run: Run) -> None:
    """Whoever named the wrong program believes else that its memories are here."""
    as_json(run, "add", "The port is 9000.")
    run("export", "ours.json")
    run("export", "--format", "markdown", "ours")
    for ours in ("ours.json", "ours"):
        assert "is an export of memory-mcp." in complaint(run, "import", ours, "--from", "mem0")
        as_json(run, "import", ours, "--from", "memory-mcp")
    for form, text in (("mem0", '{"notes": []}'), ("memory-server", "{}"), ("claude-md", "# T")):
        Path("theirs").write_text(text, "utf-8")
        assert f"of the form of {form}" in complaint(run, "import", "theirs", "--from", form)


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
    # a process begins with the size of the one that started it, and that of the tests is large
    small_parent = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-m", "memory_mcp", "import", "--dry-run", name]
    done = subprocess.run(
        [sys.executable, "-c", small_parent, *command],
        cwd=project, capture_output=True, text=True, check=True,
    )  # fmt: skip
    kilobytes = int(done.stdout) / (1024 if sys.platform == "darwin" else 1)

    assert kilobytes < 300 * 1024
