"""The command line: every command, for a person and for a program."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_line import Run, as_json, complaint
from doors import files_with, head_file, records, trust
from real_git import git

from memory_mcp.storage.sqlite import database


def test_add_stores_and_search_finds(run: Run, project: Path) -> None:
    """The two commands everybody tries first."""
    later = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    status, out, error = run(
        "add", "Orders live in\nPostgreSQL.", "--kind", "decision", "--title", "Orders",
        "--category", "storage", "--tag", "db", "--tag", "sql", "--importance", "5", "--pinned",
        "--phase", "2", "--expires", later,
    )  # fmt: skip
    (record,) = records(project)
    assert (status, error) == (0, "")
    assert out == f"Stored.\n{record['id'][-8:]}\n"
    assert record["origin"] == {"by": "user", "client": "cli"}
    assert record["expires_at"] == f"{later}T00:00:00.000Z"

    status, out, error = run("search", "orders")
    assert (status, error) == (0, "")
    assert out == (
        "0.59 Orders: Orders live in\n     PostgreSQL.\n"
        f"     [decision, storage, db, sql] {record['id'][-8:]}\n(words+table)\n"
    )
    found = as_json(run, "search", "orders", "--category", "storage", "--tag", "db",
                    "--kind", "decision", "--phase", "2", "--limit", "1")  # fmt: skip
    assert [r["memoryId"] for r in found["results"]] == [record["id"]]


def test_words_need_no_quotes(run: Run, project: Path) -> None:
    """Whoever asks a question at a shell writes it as it is said."""
    assert run("add", "--kind", "decision", "Carts", "live", "in", "Redis.", "--tag", "db")[0] == 0
    (record,) = records(project)
    assert (record["content"], record["tags"]) == ("Carts live in Redis.", ["db"])
    asked = as_json(run, "search", "where", "are", "carts", "kept", "--limit", "1")
    assert asked == as_json(run, "search", "where are carts kept", "--limit", "1")
    assert asked["results"][0]["memoryId"] == record["id"]


@pytest.mark.usefixtures("project")
def test_a_search_says_what_no_longer_holds(run: Run) -> None:
    """A person is no less misled by an outdated memory than a model."""
    run("add", "Database is MySQL 5.7.")
    newer = run("add", "Database was upgraded to PostgreSQL 16.")[1].split()[-1]
    lines = run("search", "what database do we use")[1].splitlines()

    assert lines[0].endswith("Database was upgraded to PostgreSQL 16.")
    assert lines[2].endswith("Database is MySQL 5.7.")
    assert lines[4].strip() == f"outdated by {newer}"


def test_searching_without_words_gives_the_newest_and_says_so(run: Run) -> None:
    """`memory-mcp search` alone is a question too."""
    run("add", "First.")
    run("add", "Second.")
    _, out, _ = run("search")
    assert out.index("Second.") < out.index("First.")
    assert out.endswith("(newest)\n")
    assert "1.00" not in out
    assert [["score" in hit for hit in as_json(run, "search", *words)["results"]]
            for words in ((), ("first",))] == [[False, False], [True]]  # fmt: skip
    status, out, _ = run("search", "flamingo")
    assert (status, out) == (0, "No visible memory matches.\n(words+table)\n")
    assert as_json(run, "search", "flamingo")["message"] == "No visible memory matches."


def test_what_another_branch_holds_is_not_taken_for_a_slip_of_the_pen(run: Run) -> None:
    """The branch is spelt as it should be; its memories are just not seen from here."""
    run("add", "Builds take nine minutes.")
    run("fork", "b1")
    run("--branch", "b1", "add", "Builds take five minutes.")
    for words in (("builds",), ()):
        _, out, _ = run("search", *words, "--on-branch", "b1")
        assert "Nothing that was written on branch 'b1' holds here, on 'main'." in out
        assert "`memory-mcp --branch b1 search` looks there." in out
        assert "spelt" not in out
        _, out, _ = run("search", *words, "--on-branch", "b1", "--category", "bilds")
        assert "check how they are spelt" in out
    assert "five minutes" in run("--branch", "b1", "search", "builds", "--on-branch", "b1")[1]
    run("fork", "b2")
    _, out, _ = run("--branch", "b2", "search", "builds", "--on-branch", "b2")
    assert "on branch 'b2' holds here, on 'b2'.\n" in out


@pytest.mark.parametrize("text", ["Größe: 🦩\n\n- a\n", "a\n\tb", "{}", "  x"], ids=ascii)
def test_a_dash_reads_the_text_from_stdin_unchanged(run: Run, project: Path, text: str) -> None:
    """Long texts come through pipes, and no shell may touch them."""
    status, _, _ = run("add", "-", stdin=text)

    assert status == 0
    assert [record["content"] for record in records(project)] == [text]


def test_text_that_is_no_utf_8_is_refused_rather_than_altered(run: Run, project: Path) -> None:
    """A file of another encoding would be stored with holes, and nobody would notice."""
    status, _, error = run("add", "-", stdin="Größe".encode("latin-1"))

    assert status == 1
    assert "stdin is no UTF-8 (byte 0xf6 at character 2)" in error
    assert records(project) == []


def test_a_document_is_refused_by_its_length_before_anything_else_is_looked_at(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cleaning 30 MB of secrets and recalled text took minutes, for a text that no place takes."""
    monkeypatch.setenv("MEMORY_SECRETS", "refuse")
    key = "the key is sk-proj-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7bC9dE1f\n"
    assert "holds what looks like a secret" in run("add", "-", stdin=key)[2]
    long = key + "x" * 80_000
    memory = as_json(run, "add", "Indent with tabs.")["memoryId"]
    said = f"the text has {len(long):,} characters; the limit is"
    assert f"{said} 8,000." in run("add", "-", stdin=long)[2]
    assert f"{said} 8,000." in run("update", memory, "-", stdin=long)[2]
    assert f"{said} 80,000." in run("forget", memory, "--hide", "--reason", long)[2]


def test_update_and_forget(run: Run, project: Path) -> None:
    """What is wrong is corrected, what must not be there is erased."""
    run("add", "Port 8000.")
    (first,) = records(project)
    status, out, _ = run("update", first["id"], "-", stdin="Port 9000.")
    second = records(project)[1]["id"]
    said = f"Stored. It takes the place of {first['id'][-8:]}."
    assert (status, out) == (0, f"{said}\n{second[-8:]}\n")
    status, out, _ = run("forget", second, "--hide", "--reason", "closed")
    assert (status, out.splitlines()[1]) == (0, second[-8:])
    run("add", "The key is zebra-42.")
    key = as_json(run, "search", "zebra")["results"][0]["memoryId"]
    assert as_json(run, "forget", key)["message"] == "Erased for good."
    assert files_with(project.parent, "zebra-42") == []
    for again in (("forget", key), ("update", key, "x"), ("show", key), ("forget", key[-8:])):
        assert "was erased for good. Nothing of it is left." in complaint(run, *again)


def test_an_id_that_was_replaced_leads_on_and_its_text_can_still_be_read(run: Run) -> None:
    """Scripts and notes go on naming it; the old words are shown where history is asked for."""
    old = as_json(run, "add", "Port 8000.")["memoryId"]
    new = as_json(run, "update", old, "Port 9000.")["memoryId"]
    for stale in (("show", old), ("update", old, "x"), ("forget", old[-8:], "--hide")):
        assert f"was replaced by {new[-8:]}: read that one" in complaint(run, *stale)
    for id_ in (old, old[-8:]):
        status, out, error = run("show", id_, "--why")
        assert (status, error) == (0, "")
        assert out.startswith(f"Memory '{id_}' was replaced by {new[-8:]}: read that one. It said:")
        assert "\nPort 8000.\n" in out
        assert as_json(run, "show", id_, "--why")["content"] == "Port 8000."


@pytest.mark.parametrize("more", [(), ("--why",)])
def test_a_person_reads_what_a_backtrack_left(run: Run, more: tuple[str, ...]) -> None:
    """To decide whether to restore it; what was erased with its line is gone."""
    as_json(run, "checkpoint", "Here", "--phase", "1")
    left = as_json(run, "add", "Port 7000.")["memoryId"]
    line = as_json(run, "backtrack", "1", "--mode", "continue")["line"]

    status, out, error = run("show", left[-8:], *more)
    assert (status, error) == (0, "")
    assert out.startswith(
        f"Memory '{left[-8:]}' was left by a backtrack. `memory-mcp backtrack {line}` would "
        "restore it. It said:\n\n"
    )
    assert "Port 7000." in out
    assert as_json(run, "show", left, *more)["content"] == "Port 7000."
    assert "No memory" in complaint(run, "show", left[:-2], *more), "beginnings can be guessed"
    run("fork", "exp", "--at", "1")
    assert run("--branch", "exp", "show", left)[0] == 0
    as_json(run, "backtrack", line, "--mode", "continue")
    assert "belongs to branch 'main'" in complaint(run, "--branch", "exp", "show", left)
    as_json(run, "backtrack", "1", "--mode", "forget")
    assert "erased for good" in complaint(run, "show", left, *more)


def test_what_was_replaced_on_a_left_line_is_not_promised_back(run: Run) -> None:
    """Restoring the line brings back what it ended with, and nothing of what it had replaced."""
    as_json(run, "checkpoint", "Here", "--phase", "1")
    old = as_json(run, "add", "Mails are sent by Postmark.")["memoryId"]
    hidden = as_json(run, "add", "Legal reviews each release.")["memoryId"]
    new = as_json(run, "update", old, "Mails are sent by SES.")["memoryId"]
    run("forget", hidden, "--hide")
    line = as_json(run, "backtrack", "1", "--mode", "continue")["line"]
    step = f"`memory-mcp backtrack {line}` would"

    _, out, _ = run("show", old)
    assert f"was replaced by {new[-8:]}, which a backtrack left. {step} restore that one." in out
    _, out, _ = run("show", hidden)
    assert f", and a backtrack left its line. {step} not bring it back." in out
    _, out, _ = run("show", new)
    assert f"was left by a backtrack. {step} restore it." in out
    run("forget", new)
    _, out, _ = run("show", old)
    assert "is an older version of a memory that was erased for good on 20" in out
    assert f"{step} not bring it back." in out


def test_why_says_whether_it_was_replaced_or_hidden_when_by_whom_and_the_reason(run: Run) -> None:
    """Who finds an old id in a note asks what became of it, and what spoke against it."""
    hidden = as_json(run, "add", "Legal reviews each release.")["memoryId"]
    run("forget", hidden, "--hide", "--reason", "legal said no")
    _, out, _ = run("show", hidden, "--why")
    first, *_ = out.splitlines()
    assert first.startswith(f"Memory '{hidden}' was hidden on 20")
    assert re.search(
        r"^holds no more: hidden 20\d\d-\d\d-\d\d \d\d:\d\d UTC by user of \w+, "
        r"because: legal said no$",
        out,
        re.MULTILINE,
    )
    why = as_json(run, "show", hidden, "--why")["why"]["hidden"]
    assert (why["by"], why["reason"]) == ("user", "legal said no")

    old = as_json(run, "add", "Mails are sent by Postmark.")["memoryId"]
    new = as_json(run, "update", old, "Mails are sent by SES.", "--reason", "too dear")["memoryId"]
    last = as_json(run, "update", new, "Mails are sent by Mailgun.")["memoryId"]
    _, out, _ = run("show", old, "--why")
    assert out.startswith(f"Memory '{old}' was replaced by {last[-8:]}: read that one.")
    assert out.endswith(
        ", because: too dear\nreplaced by:\n"
        f"- Mails are sent by SES. [{new[-8:]}]\nwhich holds now:\n"
        f"- Mails are sent by Mailgun. [{last[-8:]}]\n"
    )
    _, out, _ = run("show", new, "--why")
    assert f"replaced:\n- Mails are sent by Postmark. [{old[-8:]}], because: too dear" in out
    why = as_json(run, "show", new, "--why")["why"]
    assert why["replaced"][0]["reason"] == "too dear"
    assert why["replacedBy"]["memoryId"] == last
    assert "reason" not in why["replacedBy"]

    run("forget", last, "--hide")
    assert f"was replaced by {new[-8:]} on 20" in complaint(run, "show", old)
    assert "which does not hold any more either" in complaint(run, "show", old)


def test_the_code_that_a_memory_cites_is_shown_as_it_was_written(run: Run, project: Path) -> None:
    """Also while it is unchanged: who checks a memory looks there first."""
    code = project / "a.py"
    code.write_text("def refresh():\n    return 'a token of a certain length'\n", "utf-8")
    cited = as_json(run, "add", "Tokens are refreshed.", "--cite", "a.py#refresh")["memoryId"]
    _, out, _ = run("show", cited)
    assert "\ncites: a.py#refresh\n" in out
    assert out.endswith("</memory>\n")
    code.rename(project / "b.py")
    assert run("show", cited)[1].endswith("\n\na.py#refresh holds (now b.py#refresh).\n")
    (project / "b.py").unlink()
    assert run("show", cited)[1].endswith("\n\na.py#refresh is gone.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="rights are those of the profile there")
def test_the_users_own_files_are_theirs_alone(run: Run, project: Path, tmp_path: Path) -> None:
    """Whatever the umask; only what git shares with others is as the umask says."""
    before = os.umask(0o002)
    try:
        run("add", "Short commits.", "--scope", "user", "--kind", "preference")
        run("add", "Only here.")
        run("nudge", "add", "Ask for the budget.")
        run("trust", "--yes")
    finally:
        os.umask(before)

    own = [tmp_path / "home", *(tmp_path / "home").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in own if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in own if path.is_file()} == {0o600}
    assert any(path.suffix == ".sqlite3" for path in own)
    (shared,) = (project / ".claude" / "memory").rglob("*.json")
    assert shared.stat().st_mode & 0o077 == 0o044


def test_a_user_memory_is_found_from_another_project(run: Run, tmp_path: Path) -> None:
    """`--scope user` holds everywhere; `--project` looks from elsewhere."""
    (tmp_path / "other").mkdir()
    run("add", "Short commits.", "--scope", "user", "--kind", "preference")
    run("add", "Only here.")
    other = ("--project", str(tmp_path / "other"))
    assert [r["content"] for r in as_json(run, *other, "search")["results"]] == ["Short commits."]
    assert "is no folder" in complaint(run, "--project", str(tmp_path / "none"), "status")


def test_the_timeline_from_the_command_line(run: Run, project: Path) -> None:
    """Seal, go on, look, go back, restore: the whole main job without an agent."""
    run("add", "Orders live in PostgreSQL.")
    sealed = as_json(run, "checkpoint", "Storage chosen", "--phase", "1")
    name = sealed["checkpointId"]
    assert sealed["status"] == "approved", "whoever types it is the user"
    run("add", "Sessions live in Redis.")
    head = as_json(run, "status")
    assert head["checkpoints"] == [
        {"id": name, "phase": 1, "status": "valid", "summary": "Storage chosen", "wouldHide": 1}
    ]
    assert (head["memories"], head["branch"], head["branches"]) == (2, "main", ["main"])

    status, out, _ = run("backtrack", "phase 1", "--mode", "continue", "--lesson", "No Redis.")
    line = next(iter(re.findall(r"line-\d{8}-\d{6}", out)))
    assert status == 0
    assert out.startswith(f"Back at {name}: 1 memory hidden.")
    assert "\n- Sessions live in Redis.\n" in out
    text = run("status")[1]
    stands = f"Project {head['project']}, branch main, phase 1 is sealed."
    assert text.startswith(f"{stands} Last checkpoint: {name}.")
    assert f"- {line}: 1 memory" in text
    assert as_json(run, "status")["lines"] == [{"id": line, "memories": 1}]
    assert as_json(run, "backtrack", line, "--mode", "continue")["restored"] == line
    assert head_file(project)["head_checkpoint"] == name


def test_the_timeline_as_a_graph(run: Run, project: Path) -> None:
    """A pipe gets every word, and no colour; a program gets nodes, and looking begins no head."""
    assert run("log") == (0, "@  branch main  nothing since\n◆  start\n", "")
    assert not (project / ".state").exists()

    long = "Storage chosen " + 20 * "after a long discussion "
    first = as_json(run, "checkpoint", long, "--phase", "1")["checkpointId"]
    run("add", "Sessions live in Redis.")
    run("fork", "spike")
    gone = as_json(run, "backtrack", "1", "--mode", "continue")["line"]
    status, out, error = run("log")
    stamp = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    assert (status, error) == (0, "")
    assert (
        [re.sub(stamp, "TIME", line) for line in out.splitlines()]
        == [
            "@  branch main  TIME  nothing since",
            f"│ ×  {gone}  TIME  hides 1 memory",  # noqa: RUF001
            f"│ │  memory-mcp backtrack {gone} restores it",
            "├─╯",
            "│ ●  branch spike  TIME  1 memory since",
            "├─╯",
            f"○  {first}  TIME  0 memories  {long[:199].rstrip()}…",
            "◆  start",
        ]
    )
    shown = as_json(run, "log", "--limit", "3", "--branch", "spike")
    parents = {node["key"]: node["parents"] for node in shown["nodes"]}
    names = ["branch:spike", "branch:main", f"line:{gone}"]
    assert parents == {**{name: ["older"] for name in names}, "older": []}
    assert (shown["nodes"][0]["key"], shown["older"]) == ("branch:spike", 1)
    assert "No branch 'none'" in complaint(run, "log", "--branch", "none")


def test_a_graph_is_not_drawn_where_memory_is_off(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is the sentence that every command gives."""
    monkeypatch.setenv("MEMORY_ENABLED", "false")
    status, out, error = run("log")

    assert (status, out) == (1, "")
    assert error.startswith("memory-mcp: Memory is off")


def test_without_a_mode_a_pipe_is_told_what_it_would_do(run: Run) -> None:
    """Nobody is there to ask, and nothing is guessed."""
    run("checkpoint", "One", "--phase", "1")
    run("add", "Sessions live in Redis.")
    status, out, _ = run("backtrack", "1", "--json")
    shown = json.loads(out)
    assert (status, shown["status"], shown["hidden"]) == (1, "undecided", 1)
    assert run("backtrack", "1")[0] == 1
    assert json.loads(run("backtrack", "1", "--mode", "abort", "--json")[1])["status"] == "aborted"
    run("add", "Redis needs three nodes.")
    status, _, error = run("backtrack", "1", "--mode", "forget", "--confirm", shown["confirm"])
    assert status == 1
    assert error.startswith("memory-mcp: The memory changed since you were asked.")
    said = as_json(run, "backtrack", "1", "--mode", "forget")
    assert said["erased"] == 2


def test_a_pending_checkpoint_is_decided_here_too(run: Run, project: Path) -> None:
    """An agent left it; the person decides at the terminal."""
    name = _left_pending(project)
    assert as_json(run, "status")["pending"] == [{"id": name, "phase": 1, "summary": "One"}]
    edited = as_json(
        run, "checkpoint", "--pending", name, "--decision", "edit", "Storage chosen"
    )  # fmt: skip
    assert (edited["checkpointId"], edited["status"]) == (name, "approved")
    assert "Storage chosen" in run("status")[1]
    skipped = _left_pending(project, 2)
    status, _, error = run("checkpoint", "--pending", skipped, "--decision", "skip")
    assert (status, error) == (1, f"memory-mcp: Skipped: no checkpoint was made.\n{skipped}\n")
    assert "No pending checkpoint" in complaint(run, "checkpoint", "--pending", skipped)


def _left_pending(project: Path, phase: int = 1) -> str:
    """A checkpoint of an agent whose client cannot ask; its name."""
    asked = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from memory_mcp import branches\n"
        "from memory_mcp.config.settings import read_settings\n"
        "from memory_mcp.build import open_workspace\n"
        "async def ask():\n"
        "    async with open_workspace(read_settings(), start=Path(sys.argv[1])) as built:\n"
        "        said = await branches.checkpoint(built.workspace, 'One', int(sys.argv[2]),\n"
        "                                    again=False, approval='pending')\n"
        "        print(said.checkpoint.id)\n"
        "asyncio.run(ask())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked, str(project), str(phase)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_a_phase_sealed_before_is_refused_unless_it_is_meant(run: Run) -> None:
    """The same rule as for agents."""
    run("checkpoint", "One", "--phase", "1")
    status, _, error = run("checkpoint", "One", "--phase", "1")
    assert status == 1
    assert error.startswith("memory-mcp: Phase 1 is sealed already by phase1-")
    assert run("checkpoint", "One", "--phase", "1", "--again")[0] == 0


def test_a_decision_needs_the_checkpoint_that_it_is_about(run: Run) -> None:
    """It would seal a new one, while the one that waits goes on waiting."""
    status, _, said = run("checkpoint", "--decision", "save", "Summary")
    assert status != 0
    assert "name it with --pending ID" in said
    assert "none yet" in run("status")[1]


def test_branches_from_the_command_line(run: Run) -> None:
    """`--branch` may stand before or after the command."""
    run("checkpoint", "Base", "--phase", "1")
    status, out, _ = run("fork", "try", "--at", "1")
    assert (status, out) == (
        0, "Branch try begun. Work on it with --branch try (MEMORY_BRANCH).\n",
    )  # fmt: skip
    run("--branch", "try", "add", "On the branch.")
    run("add", "On main.")
    there = as_json(run, "search", "--branch", "try")["results"]
    here = as_json(run, "search")["results"]
    assert [r["content"] for r in there] == ["On the branch.", "Base"]
    assert [r["content"] for r in here] == ["On main.", "Base"]
    assert "No branch 'tri'. Did you mean 'try'?" in complaint(run, "--branch", "tri", "status")
    assert "cannot be a name" in complaint(run, "--branch", "x\u202ey", "status")
    assert as_json(run, "fork", "here")["branch"] == "here"


def test_context_prints_what_a_session_would_get(run: Run) -> None:
    """The same block as the tool's, with its cost for programs."""
    run("add", "Tabs.", "--kind", "preference")
    _, text, _ = run("context", "--task", "indent", "--budget-tokens", "100")
    said = as_json(run, "context", "--task", "indent", "--budget-tokens", "100")
    assert text == said["context"] + "\n"
    assert "- Tabs. [" in text
    assert said["tokens"] == -(-len(said["context"]) // 4) <= 100
    assert said["shown"] == 1


def test_reindex_takes_in_what_another_clone_brought(run: Run, project: Path) -> None:
    """Merging two folders by copying and reindexing gives the union, in a trusted project."""
    trust(project)
    run("add", "Told here.")
    other = project.parent / "other"
    other.mkdir()
    run("--project", str(other), "add", "Told in the other clone.")
    for path in (other / ".claude" / "memory").rglob("*.json"):
        home = project / ".claude" / "memory" / path.parent.name / path.name
        home.parent.mkdir(exist_ok=True, parents=True)
        home.write_bytes(path.read_bytes())
    assert run("doctor", "--reindex")[1] == "2 records indexed, 0 late forgets completed.\n"
    assert as_json(run, "doctor", "--reindex")["indexed"] == 2
    found = [r["content"] for r in as_json(run, "search")["results"]]
    assert found == ["Told in the other clone.", "Told here."]


def test_doctor_finds_nothing_in_a_clean_project_and_mends_what_it_can(
    run: Run, project: Path
) -> None:
    """The exit status is for scripts: 1 if memories are at stake."""
    run("add", "Told here.")
    assert run("doctor") == (
        0,
        (
            "Search: words+table. By words: the newest memory is found by its own.\n"
            "Everything is as it must be.\n"
        ),
        "",
    )
    assert as_json(run, "doctor")["message"] == "Everything is as it must be."
    month = next((project / ".claude" / "memory").glob("*-*"))
    (month / ".x.json.0123abcd.tmp").write_text("{")
    status, out, _ = run("doctor")
    assert status == 0
    assert out.startswith("should: ")
    assert "`memory-mcp doctor --repair` removes it.\n" in out
    assert out.endswith("1 finding, 0 mended.\n")
    out = run("doctor", "--repair")[1]
    assert out.startswith("mended: ")
    assert out.endswith("1 finding, 1 mended.\n")
    (month / f"{records(project)[0]['id']}.json").write_text("{")
    status, out, _ = run("doctor", "--json")
    assert status == 1
    assert {f["code"] for f in json.loads(out)["findings"]} >= {"record-unreadable"}


def test_what_git_has_nothing_for_is_said_as_such(run: Run, project: Path) -> None:
    """Where there is nothing to count or to end, no sentence may speak of it."""
    git(project, "init", "--quiet")
    nothing = "Nothing is recalled that a turn wrote which was taken back."
    assert as_json(run, "git", "rewind") == {"success": True, "memories": 0, "message": nothing}
    assert complaint(run, "git", "bring", "side") == (
        "Git is not followed at the moment: there is no commit yet. Commit something first."
    )


# What a program gets from the command line: always JSON on stdout, always the same keys.


def test_an_empty_list_is_there_and_empty(run: Run) -> None:
    """`jq '.results[]'` must find nothing, not fail."""
    assert as_json(run, "search", "flamingo")["results"] == []
    assert as_json(run, "doctor")["findings"] == []
    head = as_json(run, "status")
    lists = ("branches", "checkpoints", "invalidated", "pending", "lines", "warnings")
    assert [head[name] for name in lists] == [["main"], [], [], [], [], []]
    assert "phase" not in head, "a null says nothing"


_WRONG = {
    "no such command": ("serach",),
    "no such option": ("search", "--limt", "3"),
    "no number": ("search", "--limit", "many"),
    "nothing to add": ("add",),
    "no such transport": ("serve", "--transport", "x"),
}


@pytest.mark.parametrize("arguments", _WRONG.values(), ids=_WRONG)
def test_wrong_usage_is_json_too(run: Run, arguments: tuple[str, ...]) -> None:
    """A program that made the mistake reads stdout; a person stderr."""
    status, out, error = run("--json", *arguments)
    said = json.loads(out)
    assert (status, error) == (2, "")
    assert said["success"] is False

    status, out, error = run(*arguments)
    assert (status, out) == (2, "")
    assert error == f"memory-mcp: {said['message']}\n"


def test_what_holds_is_listed_newest_first_a_line_each(run: Run) -> None:
    """With the end of its id, which names it; what a backtrack left is not there."""
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    old = as_json(run, "add", "Orders live in PostgreSQL.", "--kind", "decision")["memoryId"]
    new = as_json(run, "add", "Carts live in Redis\nwith a TTL.", "--tag", "carts")["memoryId"]

    lines = run("list")[1].splitlines()
    assert [line.split(maxsplit=3)[1:] for line in lines[:2]] == [
        [new[-8:], "fact", "Carts live in Redis with a TTL."],
        [old[-8:], "decision", "Orders live in PostgreSQL."],
    ]
    assert lines[2:] == ["2 memories."]
    assert as_json(run, "status")["memories"] == 2, "a checkpoint is no memory there either"
    assert run("list", "--kind", "checkpoint")[1].splitlines()[0].endswith("Begun")
    assert run("list", "--limit", "1")[1].splitlines()[-1] == "1 of 2, newest first."
    assert run("list", "--limit", "0")[1] == run("list")[1]
    as_json(run, "add", "We deploy from main.", "--title", "Deploys")
    assert run("list")[1].splitlines()[0].endswith("  Deploys: We deploy from main.")
    only = as_json(run, "list", "--tag", "carts")
    assert ([m["memoryId"] for m in only["memories"]], only["total"]) == ([new], 1)
    assert run("list", "--kind", "lesson")[1] == "No visible memory matches.\n"

    run("backtrack", "1", "--mode", "continue")
    assert "Redis" not in run("list")[1]


def test_one_memory_or_checkpoint_is_shown_whole(run: Run) -> None:
    """By any part of its id that names it, or a phase; else the error names the nearest."""
    added = as_json(run, "add", "Carts live in Redis.", "--importance", "5")["memoryId"]
    sealed = as_json(run, "checkpoint", "Storage chosen", "--phase", "1")["checkpointId"]

    shown = run("show", added[-8:])[1]
    assert f"id: {added}\nkind: fact\nimportance: 5\n" in shown
    assert "\n\nCarts live in Redis.\n" in shown
    fields = as_json(run, "show", added)
    assert (fields["memoryId"], fields["content"]) == (added, "Carts live in Redis.")
    assert f"# Checkpoint {sealed}" in run("show", "1")[1]
    assert as_json(run, "show", sealed)["checkpointId"] == sealed
    typo = f"{added[:-1]}{'0' if added[-1] != '0' else '1'}"
    assert f"Nearest: {added[-8:]}." in complaint(run, "show", typo)
    assert "Nearest" not in complaint(run, "show", "ffffffff"), "none is near"

    run("backtrack", "start", "--mode", "continue")
    assert f"`memory-mcp backtrack {sealed}` would restore" in complaint(run, "show", sealed)


def test_the_doctor_sees_a_project_that_is_lost_and_a_wrong_setting(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All else may be as it must; the reader of a report does not look at stderr."""
    monkeypatch.setenv("MEMORY_PROVIDER", "locla")
    status, out, _ = run("doctor")
    assert status == 0, "memory works, here alone"
    assert out.startswith("should: MEMORY_PROVIDER is 'locla'; it must be one of auto, local, ")
    monkeypatch.delenv("MEMORY_PROVIDER")

    (project / ".git").rmdir()
    (project / ".git").write_text(f"gitdir: {project.parent / 'main' / '.git' / 'worktrees' / 'x'}")
    status, out, _ = run("doctor", "--json")
    (found,) = json.loads(out)["findings"]
    assert (status, found["code"], found["severity"]) == (1, "project-lost", "must")
    assert "Run `git worktree repair` in the main work tree" in found["what"]


def test_what_to_do_next_is_a_command(run: Run, project: Path) -> None:
    """A person at a shell cannot call a tool, and sees what the answer speaks of."""
    run("add", "The API listens on port 8080.")
    said = run("add", "The API listens on port 9090.")[1]
    assert "`memory-mcp update " in said
    assert "- The API listens on port 8080. [" in said
    known = run("add", "The API listens on port 9090.")[1]
    assert "with `--supersedes " in known
    assert "\n- The API listens on port 9090.\n" in known
    run("checkpoint", "One", "--phase", "1")
    assert "repeat with `--again`" in run("checkpoint", "One", "--phase", "1")[2]
    assert (
        "Choose with `memory-mcp backtrack start --mode MODE --confirm "
        in run("backtrack", "start")[2]
    )
    _left_pending(project, 2)
    run("backtrack", "start", "--mode", "continue")
    assert "with `memory-mcp backtrack TO`" in run("status")[1]
    assert "Take the id from `memory-mcp search`." in complaint(run, "show", "ffffffff")


def test_undo_takes_the_last_move_back_and_a_second_one_redoes_it(run: Run) -> None:
    """Byte for byte; what was written in between is left in its turn, and comes back as well."""
    assert "was never moved" in complaint(run, "undo")
    run("add", "Orders live in PostgreSQL.")
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    assert "which hid nothing" in complaint(run, "undo")
    run("add", "Carts live in Redis.")
    run("backtrack", "1", "--mode", "continue")
    assert "Redis" not in run("list")[1]

    status, out, _ = run("undo")
    assert (status, "Redis" in run("list")[1]) == (0, True), out
    assert run("undo", "--yes")[0] == 0
    assert "Redis" not in run("list")[1]

    run("add", "Carts live in memory.")
    as_json(run, "undo", "--yes")
    assert "in memory" not in run("list")[1]
    assert "Redis" in run("list")[1]
    as_json(run, "undo", "--yes")
    assert "in memory" in run("list")[1]
    assert "Redis" not in run("list")[1]


def test_undo_takes_back_the_last_backtrack_that_left_something(run: Run) -> None:
    """Going back twice to one checkpoint leaves nothing the second time."""
    as_json(run, "checkpoint", "Planned", "--phase", "1")
    as_json(run, "add", "Sessions live in Redis.")
    as_json(run, "backtrack", "1", "--mode", "continue")
    as_json(run, "backtrack", "1", "--mode", "continue")

    assert "Redis" not in run("search", "redis")[1]
    as_json(run, "undo")
    assert "Redis" in run("search", "redis")[1]
    as_json(run, "undo", "--yes")
    assert "Redis" not in run("search", "redis")[1]


def test_undoing_over_and_over_leaves_no_more_lines_than_one(run: Run) -> None:
    """All of them restore the same; a memory that was added in between makes another."""
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    run("add", "Carts live in Redis.")
    run("backtrack", "1", "--mode", "continue")
    drawn = run("log")[1].count("restores it")
    for _ in range(4):
        as_json(run, "undo", "--yes")

    assert (drawn, run("log")[1].count("restores it")) == (1, 1)
    assert len(as_json(run, "status")["lines"]) == 1

    as_json(run, "undo", "--yes")
    run("add", "Carts live in memory.")
    as_json(run, "undo", "--yes")
    assert [line["memories"] for line in as_json(run, "status")["lines"]] == [1, 2]
    as_json(run, "undo", "--yes")
    assert [node["kind"] for node in as_json(run, "log")["nodes"]].count("line") == 0


def test_a_pending_checkpoint_is_not_called_sealed(run: Run, project: Path) -> None:
    """Nobody approved it; whoever wants to be rid of it is told how."""
    run("add", "Orders live in PostgreSQL.")
    name = _left_pending(project)
    assert complaint(run, "undo") == (
        f"Nothing to undo: checkpoint {name} waits for approval. To drop it, "
        f"`memory-mcp checkpoint --pending {name} --decision skip`."
    )


def test_the_answer_to_a_checkpoint_is_undone_and_redone(run: Run, project: Path) -> None:
    """A slip of the hand at a question must cost no more than any other move."""
    run("add", "Orders live in PostgreSQL.")
    name = _left_pending(project)

    def look() -> tuple[int, int]:
        status = as_json(run, "status")
        return len(status["pending"]), len(status["checkpoints"])

    run("checkpoint", "Orders stand.", "--pending", name, "--decision", "edit")
    assert look() == (0, 1)
    assert "Orders stand." in run("search", "do orders stand", "--kind", "checkpoint")[1]
    assert run("undo")[0] == 0
    assert look() == (1, 0)
    assert "Orders stand." not in run("search", "do orders stand", "--kind", "checkpoint")[1]
    assert run("undo")[0] == 0
    assert (look(), as_json(run, "status")["checkpoints"][0]["summary"]) == (
        (0, 1), "Orders stand."
    )  # fmt: skip
    run("checkpoint", "--pending", name, "--decision", "reopen")
    run("checkpoint", "--pending", name, "--decision", "skip")
    assert look() == (0, 0)
    for pending in (1, 0, 1):
        assert run("undo")[0] == 0
        assert look() == (pending, 0)
    sealed = as_json(run, "checkpoint", "Sealed by hand.")["checkpointId"]
    assert "was approved when it was sealed" in complaint(
        run, "checkpoint", "--pending", sealed, "--decision", "reopen"
    )
    assert run("doctor")[0] == 0


def test_an_undo_that_hides_newer_memories_is_agreed_to_first(run: Run) -> None:
    """What was added since the move would be out of sight; a pipe cannot be asked."""
    sealed = as_json(run, "checkpoint", "Begun", "--phase", "1")["checkpointId"]
    run("add", "Carts live in Redis.")
    run("backtrack", "1", "--mode", "continue")
    run("add", "Carts live in memory.")
    shown = json.loads(run("undo", "--json")[1])

    assert (shown["success"], shown["status"], shown["hidden"]) == (False, "undecided", 1)
    assert "This hides 1 memory recalled now:\n- Carts live in memory.\n" in shown["message"]
    assert "Nothing was done: to say yes, repeat with --yes." in shown["message"]
    assert "in memory" in run("list")[1]
    assert run("undo", "--yes")[1].startswith(
        f"Took back the backtrack to {sealed}: 1 memory hidden, 1 memory back in force. "
        "The next `memory-mcp undo` redoes it.\n"
    )
    assert "in memory" not in run("list")[1]


def test_undoing_again_and_again_leaves_nothing_to_choose_from(run: Run) -> None:
    """Each undo leaves a line; one that would bring nothing back is named nowhere."""
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    run("add", "Carts live in Redis.")
    run("backtrack", "1", "--mode", "continue")
    for _ in range(3):
        assert run("undo", "--yes")[0] == 0

    assert "line-" not in run("log")[1]
    assert "line-" not in complaint(run, "backtrack", "7")


def test_a_person_reads_the_end_of_an_id_everywhere(run: Run) -> None:
    """Beginnings are times, and alike; a program gets all of it."""
    first = as_json(run, "add", "The shop sells bicycles in Basel.")["memoryId"]
    second = as_json(run, "add", "The shop closes at noon on Mondays.")["memoryId"]
    said = [
        run("list")[1],
        run("search", "bicycles", "--why")[1],
        run("update", second[-8:], "The shop closes at one.", "--reason", "moved")[1],
        complaint(run, "show", f"{first[:-1]}x"),
    ]

    assert all(first[-8:] in said[at] for at in (0, 1, 3))
    assert not any(first in text for text in said)
    assert as_json(run, "show", first[-8:])["memoryId"] == first


def test_a_list_marks_what_it_names_once(run: Run) -> None:
    """Also what was written as an item of a list, and what a session has learnt."""
    as_json(run, "add", "- Tests first.")
    as_json(run, "consolidate", "--insight", "Ship on Tuesdays.")
    _, out, _ = run("backtrack", "start", "--mode", "continue")
    assert {"- Tests first.", "- Ship on Tuesdays."} <= {*out.splitlines()}


def test_undo_does_not_pass_over_a_memory_that_was_erased_since(run: Run) -> None:
    """Whoever regrets an erasure must not get another move taken back instead."""
    first = as_json(run, "add", "The shop sells bicycles.")["memoryId"]
    run("forget", first)
    assert complaint(run, "undo") == (
        "Nothing to undo: branch main was never moved. "
        "A memory was erased for good: that cannot be undone."
    )
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    run("add", "Carts live in Redis.")
    line = as_json(run, "backtrack", "1", "--mode", "continue")["line"]
    run("forget", as_json(run, "add", "Carts are blue.")["memoryId"])

    said = run("undo")[2]
    assert "A memory was erased for good; no undo takes that back. This would take back" in said
    assert "what is older: the backtrack to phase1-" in said
    assert said.endswith("Nothing was done: to say yes, repeat with --older.\n")
    assert "Redis" not in run("list")[1]
    assert line in run("log")[1]
    assert run("undo", "--older")[0] == 0
    assert "Redis" in run("list")[1]


def test_undo_passes_over_no_hide_unless_it_is_told_so(run: Run) -> None:
    """Whoever wants a hidden memory back must not get an older move taken back instead."""
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    run("add", "Carts live in Redis.")
    run("backtrack", "1", "--mode", "continue")
    hidden = as_json(run, "add", "Lamps are blue.", "--kind", "convention")["memoryId"]
    as_json(run, "forget", hidden, "--hide")

    status, out, said = run("undo", "--yes")
    assert (status, out) == (1, "")
    assert (
        f'Memory {hidden[-8:]} ("Lamps are blue.") was hidden; no undo takes that back. To have '
        f"the memory back, add its text again: `memory-mcp show {hidden[-8:]} --why` prints it. "
        "This would take back what is older: the backtrack to phase1-"
    ) in said
    assert said.endswith("Nothing was done: to say yes, repeat with --older.\n")
    assert "Redis" not in run("list")[1]
    shown = json.loads(run("undo", "--json")[1])
    assert (shown["success"], shown["status"]) == (False, "undecided")
    assert shown["takesBack"].startswith("the backtrack to phase1-")

    assert run("undo", "--older")[0] == 0
    assert "Redis" in run("list")[1]
    assert "blue" not in run("list")[1]


def test_undo_passes_over_no_correction_of_what_stays(run: Run) -> None:
    """A backtrack that it takes back hides what was corrected on the timeline, and asks so."""
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    kept = as_json(run, "add", "Lamps are blue.", "--kind", "convention")["memoryId"]
    run("add", "Carts live in Redis.")
    run("backtrack", "1", "--mode", "continue")
    as_json(run, "update", kept, "Lamps are green.")

    assert "was corrected; no undo takes that back" in run("undo", "--yes")[2]
    assert "Redis" not in run("list")[1]


def test_undo_of_an_answer_passes_over_no_hide(run: Run, project: Path) -> None:
    """The word on a checkpoint is as old as any other move."""
    hidden = as_json(run, "add", "Orders live in PostgreSQL.")["memoryId"]
    name = _left_pending(project)
    run("checkpoint", "--pending", name, "--decision", "save")
    as_json(run, "forget", hidden, "--hide")

    assert f"what is older: the answer to checkpoint {name}." in run("undo")[2]
    assert run("undo", "--older")[0] == 0
    assert len(as_json(run, "status")["pending"]) == 1


@pytest.mark.parametrize("mode", ["", "meta"])
def test_an_index_that_may_not_be_written_is_read(
    run: Run, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """In a home that is read-only, or somebody else's since a `sudo`, what is known is recalled."""
    kept = as_json(run, "add", "Carts live in Redis.")["memoryId"]
    monkeypatch.setattr(database, "_may_write", lambda path: not path.is_file())  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType, reportUnknownArgumentType]
    if mode:
        monkeypatch.setenv("MEMORY_MODE", mode)

    assert "Redis" in run("list")[1]
    assert "Redis" in run("search", "carts")[1]
    assert "Redis" in run("show", kept)[1]
    assert "1 memory on this line" in run("status")[1]
    if not mode:
        assert "Stored, but not yet to be found: Cannot use " in run("add", "Lamps are blue.")[1]
        said = complaint(run, "search", "carts")  # what it lacks might hide what it has
        assert "attempt to write a readonly database. Make its folder and the file" in said


def test_numbers_of_a_preview_add_up(run: Run) -> None:
    """Records are more than memories, and what another branch holds is not erased."""
    run("add", "Carts live in Redis.")
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    run("fork", "exp")
    run("add", "Orders live in PostgreSQL.")

    shown = run("backtrack", "start")[2]
    assert "This hides 2 memories that came after:" in shown
    assert (
        "[forget] erases 1 record for good and only hides 2 records that stay on other branches "
        "(checkpoints and what no longer holds are records, too), [abort]"
    ) in shown
    shown = run("backtrack", "1")[2]
    assert "[forget] erases 1 record for good, [abort]" in shown


def test_a_line_that_holds_only_a_hide_is_not_drawn_as_empty(run: Run) -> None:
    """To restore it hides a memory."""
    hidden = as_json(run, "add", "Carts live in Redis.")["memoryId"]
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    run("forget", hidden, "--hide")
    as_json(run, "backtrack", "1", "--mode", "continue")

    assert "holds no memory, only hides or checkpoints" in run("log")[1]


def test_undo_names_the_move_of_another_branch_only_if_it_works_there(run: Run) -> None:
    """Whoever follows the advice must not be refused."""
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    run("add", "Carts live in Redis.")
    line = as_json(run, "backtrack", "1", "--mode", "continue")["line"]
    run("backtrack", line, "--mode", "continue")
    run("fork", "exp")
    as_json(run, "backtrack", "1", "--mode", "continue")
    said = complaint(run, "--branch", "exp", "undo")
    assert said.startswith(
        "Nothing to undo: branch exp was never moved. The last move on branch main was the "
        "backtrack to phase1-"
    )
    assert said.endswith(": `memory-mcp --branch main undo` takes it back.")
    as_json(run, "checkpoint", "Sealed since")
    said = complaint(run, "--branch", "exp", "undo")
    assert said == "Nothing to undo: branch exp was never moved."


def test_what_was_erased_for_good_is_not_undone(run: Run) -> None:
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    run("add", "Carts live in Redis.")
    run("backtrack", "1", "--mode", "forget")

    assert "erased what it left for good" in complaint(run, "undo")


@pytest.mark.parametrize("call", [("--json",), ("serve", "--json")])
def test_a_server_answers_no_program_in_json(run: Run, call: tuple[str, ...]) -> None:
    """It would wait for a client, and whoever asked for JSON waited with it."""
    status, out, error = run(*call)

    assert (status, error) == (2, "")
    assert json.loads(out)["message"].startswith("serve takes no --json")


def test_what_is_piped_in_and_no_text_is_refused(run: Run) -> None:
    """Without its zero bytes it would be another text than the one that came."""
    status, _, error = run("add", "-", stdin="a\0b")
    assert (status, "a zero byte (at character 1)" in error) == (1, True)
    status, _, error = run("import", "-", stdin="")
    assert (status, error.startswith("memory-mcp: stdin is empty")) == (1, True)
    assert as_json(run, "list")["total"] == 0


def test_a_category_that_repeats_the_kind_is_shown_once(run: Run) -> None:
    """The decisions of a checkpoint have both."""
    as_json(run, "checkpoint", "Storage is chosen.", "--decided", "Orders live in PostgreSQL.")

    assert "[decision]" in run("search", "where do orders live")[1]


def test_what_was_written_since_is_found_by_how_long_ago(run: Run) -> None:
    """As `diff` takes it."""
    new = as_json(run, "add", "Orders live in PostgreSQL.")["memoryId"]

    assert [each["memoryId"] for each in as_json(run, "search", "--since", "2h")["results"]] == [
        new
    ]
    assert as_json(run, "search", "--until", "2h")["results"] == []
    assert "Orders live in PostgreSQL." in run("context", "--since", "2h")[1]


def test_a_word_is_compared_with_what_has_it_alone(run: Run) -> None:
    """It says too little to be about anything else."""
    as_json(run, "add", "Redis for sessions: the ops team will not run it.")

    assert as_json(run, "add", "x")["similar"] == []


def test_a_fault_is_reported_once_and_with_one_remedy(run: Run, project: Path) -> None:
    """Two that contradict each other leave nobody the wiser."""
    as_json(run, "checkpoint", "Begun", "--phase", "1")
    new = as_json(run, "add", "Orders live in PostgreSQL.")["memoryId"]
    (record,) = (project / ".claude" / "memory").rglob(f"{new}.json")
    text = record.read_text("utf-8")
    for broken, remedy in (
        (text[:50], "Restore it from git or a backup."),
        (text.replace('"schema_version": 1', '"schema_version": 99'), "Update memory-mcp"),
    ):
        record.write_text(broken, "utf-8")
        out = run("doctor")[1]
        assert [line for line in out.splitlines() if line.startswith("must:")] != []
        assert out.count(remedy) == 1
        assert "Restore the file." not in out
    record.write_text(text, "utf-8")
    (project / ".state" / "memory-head.json").write_text("{", "utf-8")

    (must,) = [each for each in run("doctor")[1].splitlines() if each.startswith("must:")]
    assert must.count("memory-mcp doctor") == 1


def test_what_forgetting_only_hides_comes_back(run: Run) -> None:
    """What another branch holds is not erased, and the receipt keeps the two apart."""
    run("add", "Orders live in PostgreSQL.")
    run("add", "Emails go out by Postmark.")
    run("fork", "experiment")
    run("add", "The cache is Redis.")

    _, out, _ = run("backtrack", "start", "--mode", "forget")
    assert out == (
        "Back at the start: 1 record erased, 2 memories hidden here (they stay on experiment). "
        "To bring back what is only hidden: `memory-mcp undo`.\n"
        "Erased:\n- The cache is Redis.\n"
        "Hidden:\n- Emails go out by Postmark.\n- Orders live in PostgreSQL.\n"
    )
    assert run("list")[1] == "No visible memory matches.\n"
    said = run("undo")[1]
    assert (
        "Took back the backtrack to the start, but for what it erased: 0 memories hidden, 2" in said
    )
    assert "Redis" not in run("list")[1]
    assert run("list")[1] == run("--branch", "experiment", "list")[1]
    assert "2 memories hidden" in run("undo", "--yes")[1]
    assert run("list")[1] == "No visible memory matches.\n"
    run("undo")
    assert run("doctor")[0] == 0

    said = as_json(run, "--branch", "experiment", "backtrack", "start", "--mode", "forget")
    assert (said["hidden"], said["erased"]) == (2, 0)
    assert said["titles"] == ["Emails go out by Postmark.", "Orders live in PostgreSQL."]


def test_what_forgetting_erases_altogether_is_named_as_that(run: Run) -> None:
    """Nothing is hidden then, and nothing comes back."""
    run("add", "Orders live in PostgreSQL.")

    said = as_json(run, "backtrack", "start", "--mode", "forget")
    assert said["message"] == "Back at the start: 1 record erased."
    assert (said["hidden"], said["erased"]) == (0, 1)
    assert said["erasedTitles"] == ["Orders live in PostgreSQL."]
    assert "erased what it left for good" in complaint(run, "undo")


def test_a_decision_and_its_reason_stand_on_one_line(run: Run) -> None:
    """The line break between them is a dash there."""
    why = "JWT for the API :: no session store"
    as_json(run, "checkpoint", "Login works", "--phase", "1", "--decided", why)

    line = "JWT for the API \u2014 no session store"
    assert line in run("list", "--kind", "decision")[1]
    assert f"- {line}\n" in run("backtrack", "start")[2]
