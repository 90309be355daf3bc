"""Files of settings: who may set what, and how `memory-mcp config` shows it."""

import json
import os
import re
from pathlib import Path

import pytest
from command_line import Run, as_json, complaint
from doors import records
from hooked import hook

from memory_mcp.api import Memory
from memory_mcp.config.descriptions import load_descriptions
from memory_mcp.config.load import load_settings
from memory_mcp.config.settings import SETTINGS, Settings, may_stand_in
from memory_mcp.config_files import find_user_file, name_key, name_setting


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    """The user's file, not there yet."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "config.toml"


@pytest.fixture
def theirs(project: Path) -> Path:
    """The project's file, not there yet."""
    (project / ".claude").mkdir()
    return project / ".claude" / "memory.toml"


def read(project: Path, **environment: str) -> Settings:
    """The settings of a process in that project."""
    home = {"MEMORY_HOME": os.environ["MEMORY_HOME"]}
    return load_settings({**home, **environment}, project=project).settings


def test_the_environment_goes_before_the_projects_file_and_that_before_the_users(
    run: Run, project: Path, own_file: Path, theirs: Path
) -> None:
    """The nearer to the session, the more it counts."""
    own_file.write_text("bootstrap_tokens = 700\ncontext_topn = 7\nmerge_topk = 7\n", "utf-8")
    theirs.write_text("context_topn = 8\nmerge_topk = 8\n", "utf-8")
    assert run("trust", "--yes")[0] == 0
    settings = read(project, ATOMIC_MEMORY_MERGE_TOPK="9")

    assert settings.warnings == ()
    assert settings.opening.bootstrap_tokens == 700
    assert settings.opening.topn == 8
    assert settings.merging.topk == 9


def test_what_the_command_git_chose_is_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nobody could tell why memory does not follow git."""
    assert run("config", "MEMORY_GIT")[1].startswith("MEMORY_GIT: not set\n")
    assert run("git", "off")[0] == 0
    assert "MEMORY_GIT: off, set by `memory-mcp git off`\n" in run("config", "git")[1]
    (row,) = as_json(run, "config")["settings"][-1:]
    assert (row["value"], row["setBy"]) == ("off", "`memory-mcp git off`")
    monkeypatch.setenv("MEMORY_GIT", "follow")
    assert "MEMORY_GIT: follow, set by the environment\n" in run("config", "git")[1]


def test_a_value_may_be_text_number_flag_list_or_table(project: Path, own_file: Path) -> None:
    """As one writes it in TOML; it means what the same text means in the environment."""
    own_file.write_text(
        "\ufefftoolsets = ['branches', 'session']\nmerge_fallback_enabled = false\n"
        "rerank_weights = {recency = 2, pinned = 0.5}\nsupermemory_timeout = 2.5\n"
        "episodic_max_per_day = 3\nuser = 'ada'\nmode = ''\n",
        "utf-8",
    )
    settings = read(project)

    assert settings.warnings == ()
    assert settings.toolsets == ("branches", "session")
    assert settings.merging.fallback_enabled is False
    assert (settings.weights.recency, settings.weights.pinned) == (2, 0.5)
    assert settings.remote_timeout == 2.5
    assert settings.episode_settings.per_day == 3
    assert (settings.user, settings.meta) == ("ada", False)


def test_a_projects_file_counts_only_where_the_user_trusts_the_project(
    run: Run, project: Path, theirs: Path
) -> None:
    """It came with the repository, from whoever wrote that."""
    theirs.write_text("bootstrap_tokens = 800\nprovider = 'supermemory'\n", "utf-8")
    assert read(project).opening.bootstrap_tokens == 500
    noted = as_json(run, "status")["warnings"]
    assert len(noted) == 1
    assert noted[0].startswith(
        "What .claude/memory.toml sets (bootstrap_tokens) counts for nothing"
    )
    asked = run("trust", "--json")[1]
    assert "Its .claude/memory.toml will set: bootstrap_tokens." in asked

    assert run("trust", "--yes")[0] == 0
    assert read(project).opening.bootstrap_tokens == 800
    assert run("trust", "--revoke")[0] == 0
    assert read(project).opening.bootstrap_tokens == 500


def test_a_trusted_file_that_changes_counts_no_more_until_it_is_looked_at(
    run: Run, project: Path, theirs: Path
) -> None:
    """A pull changes it as it brings it. What only looks otherwise sets what it set."""
    assert run("trust", "--yes")[0] == 0
    theirs.write_text("bootstrap_tokens = 800\n", "utf-8")
    assert read(project).opening.bootstrap_tokens == 500, "it came after the yes"
    assert run("trust", "--yes")[0] == 0
    theirs.write_text("# how much a session begins with\r\nbootstrap_tokens = 800\r\n", "utf-8")
    assert read(project).opening.bootstrap_tokens == 800

    theirs.write_text("bootstrap_tokens = 4000\n", "utf-8")
    assert read(project).opening.bootstrap_tokens == 500
    waits = "What .claude/memory.toml sets (bootstrap_tokens) counts for nothing until you have"
    assert as_json(run, "status")["warnings"][0].startswith(waits)
    (found,) = as_json(run, "doctor")["findings"]
    assert (found["code"], found["severity"]) == ("settings-wait", "should")
    assert found["what"].startswith(waits)
    assert "not trusted as it is now" in run("config")[1]
    asked = run("trust", "--json")[1]
    assert "Its .claude/memory.toml will set: bootstrap_tokens." in asked

    assert run("trust", "--yes")[0] == 0
    assert read(project).opening.bootstrap_tokens == 4_000
    assert as_json(run, "doctor")["findings"] == []
    theirs.unlink()
    assert as_json(run, "status").get("warnings", []) == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [n for n in SETTINGS if not may_stand_in(n, "project")])
def test_a_projects_file_moves_sends_and_reveals_nothing(
    run: Run, project: Path, theirs: Path, name: str
) -> None:
    """Even in a trusted project: a pull brings a new one."""
    usual = read(project)
    theirs.write_text(f"{name_key(name)} = 'auto'\n", "utf-8")
    assert run("trust", "--yes")[0] == 0
    settings = read(project)

    assert vars(settings) | {"warnings": ()} == vars(usual)
    (warning,) = settings.warnings
    meant = {"ATOMIC_PHASE": "MEMORY_PHASE"}.get(name, name)  # the other name has no key
    assert f"is ignored there. Set {meant} " in warning or "is no setting." in warning


@pytest.mark.parametrize("whose", ["user", "project"])
def test_what_is_no_setting_is_named_with_the_nearest(
    run: Run, project: Path, own_file: Path, theirs: Path, whose: str
) -> None:
    """A misspelt key that does nothing would look as if it did."""
    file = own_file if whose == "user" else theirs
    file.write_text("merge_topc = 3\nweather = 'fine'\n[merge]\ntopk = 3\n", "utf-8")
    assert run("trust", "--yes")[0] == 0

    assert read(project).warnings == (
        f"merge_topc in {file} is no setting. Did you mean merge_topk? It is ignored.",
        f"weather in {file} is no setting. It is ignored.",
        f"merge in {file} is no setting. It is ignored.",
    )


@pytest.mark.parametrize("key", ["MEMORY_MODE", "memory_mode", "ATOMIC_MEMORY_MODE", "Mode"])
def test_the_name_of_a_variable_in_a_file_is_told_as_its_key(
    project: Path, own_file: Path, key: str
) -> None:
    """The tables list the variables; a wrong guess would leave a session that was to read only."""
    own_file.write_text(f"{key} = 'meta'\n", "utf-8")

    assert read(project).warnings == (
        f"{key} in {own_file} is no setting. Write it as mode. It is ignored.",
    )


def test_a_variable_that_may_not_stand_in_a_file_is_told_to_be_misplaced(
    project: Path, own_file: Path
) -> None:
    """It is a setting; only not there."""
    own_file.write_text("MEMORY_HOME = '/elsewhere'\n", "utf-8")

    assert read(project).warnings == (
        f"MEMORY_HOME in {own_file} is ignored there. Set MEMORY_HOME in the environment.",
    )


def test_a_misspelt_provider_sends_nothing(project: Path, own_file: Path) -> None:
    """As in the environment: it may have been meant to keep all on this machine."""
    own_file.write_text("provder = 'local'\n", "utf-8")
    settings = read(project, SUPERMEMORY_API_KEY="sm_zebra")

    assert settings.cloud_off == f"provder in {own_file}"
    assert "Did you mean provider?" in settings.warnings[0]


def test_every_answer_says_that_the_provider_is_misspelt(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory works on, here alone, and nobody can believe it is mirrored."""
    monkeypatch.setenv("MEMORY_PROVIDER", "supermemroy")
    status, out, error = run("add", "Orders live in PostgreSQL.", "--json")

    assert status == 0
    assert len(records(project)) == 1
    assert "it must be one of auto, local, supermemory, postgres" in error
    assert json.loads(out)["note"] == error.removeprefix("memory-mcp: ").rstrip("\n")


def test_a_wrong_value_names_its_file_and_costs_that_setting_alone(
    project: Path, own_file: Path
) -> None:
    """The same choices as for a variable."""
    own_file.write_text("merge_topk = 99\nmerge_mode = 2026-11-23\ncontext_topn = 6\n", "utf-8")
    settings = read(project)

    assert settings.opening.topn == 6
    merge_topk, merge_mode = settings.warnings
    assert merge_topk.startswith(f"merge_topk in {own_file} is 99; it must be a number from 0 ")
    assert f"in {own_file} is '2026-11-23'; it must be one of recreate, update." in merge_mode


@pytest.mark.parametrize(
    "text",
    [
        b"mode = ", b"\xff", b"a = 1\na = 2", b"[" * 5_000, b"x" * 70_000,
        b"a = 0x" + b"f" * 4_000, b".".join([b"a"] * 5_000) + b" = 1",
    ],
    ids=range(7),
)  # fmt: skip
def test_a_broken_file_of_the_user_keeps_memory_off(
    run: Run, project: Path, own_file: Path, text: bytes
) -> None:
    """It may say so; in a project's file nothing of the kind can stand."""
    own_file.write_bytes(text)
    settings = read(project)

    assert not settings.enabled
    assert settings.warnings[0].startswith(f"{own_file} cannot be read: ")
    assert settings.warnings[0].endswith("Until then memory is off, because it may be meant so.")
    assert run("add", "x")[0] == 1
    answer = hook("session-start", {"source": "startup"}, project)
    assert f"{own_file} cannot be read: " in answer["systemMessage"]


@pytest.mark.parametrize(
    "text", [b"a = 0x" + b"f" * 4_000, b".".join([b"a"] * 5_000) + b" = 1"], ids=["hex", "dots"]
)
def test_a_bomb_in_a_project_that_nobody_trusts_is_looked_past(
    run: Run, theirs: Path, text: bytes
) -> None:
    """It is read before trust is asked about, so it must stop no command."""
    theirs.write_bytes(text)

    assert [run(command)[0] for command in ("status", "config", "list")] == [0, 0, 0]


def test_no_password_in_an_address_is_shown(run: Run, own_file: Path) -> None:
    """Nor a key in its query."""
    own_file.write_text('llm_base_url = "https://user:hunter2@h.example/v1?key=zzz9"\n', "utf-8")
    shown = str([run("config"), run("config", "--json"), run("config", "llm_base_url")])

    assert "hunter2" not in shown
    assert "zzz9" not in shown


def test_a_broken_file_of_the_project_sets_nothing(run: Run, project: Path, theirs: Path) -> None:
    """And nothing else comes to a stop for it."""
    theirs.write_bytes(b"mode = ")
    assert run("trust", "--yes")[0] == 0
    settings = read(project)

    assert settings.enabled
    assert len(settings.warnings) == 1
    assert settings.warnings[0].startswith(f"{theirs} cannot be read: it is no TOML in UTF-8: ")


@pytest.mark.skipif(os.name == "nt", reason="links need a right there that tests do not have")
def test_a_projects_file_is_no_link(run: Run, project: Path, theirs: Path, tmp_path: Path) -> None:
    """It would read a file of the user's, and its errors would quote it."""
    (tmp_path / "secret.toml").write_text("bootstrap_tokens = 800\n", "utf-8")
    theirs.symlink_to(tmp_path / "secret.toml")
    assert run("trust", "--yes")[0] == 0

    assert read(project).opening.bootstrap_tokens == 500
    assert "it is a link, which is not followed" in read(project).warnings[0]


@pytest.mark.skipif(os.name == "nt", reason="a folder is refused in other words there")
def test_a_hook_words_a_file_that_cannot_be_read_as_a_command_does(
    run: Run, project: Path, own_file: Path
) -> None:
    """One function reads the file for both."""
    own_file.mkdir()
    said = f"{own_file} cannot be read: a folder stands where a file must be"

    assert said in hook("session-start", {"source": "startup"}, project)["systemMessage"]
    assert said in run("status")[2]
    assert said in run("config")[1]


def test_hooks_obey_the_users_file(project: Path, own_file: Path) -> None:
    """A hook and the server of one session see the same settings."""
    own_file.write_text("enabled = false\n", "utf-8")
    assert hook("session-start", {"source": "startup"}, project) == {}
    own_file.write_text("checkpoint_interval = 1\n", "utf-8")
    assert "consolidate" in str(hook("stop", {}, project))
    own_file.write_text("checkpoint_interval = 0\n", "utf-8")
    assert hook("stop", {}, project) == {}


@pytest.mark.anyio
async def test_the_python_api_obeys_them(project: Path, own_file: Path) -> None:
    """A program is a client like any other."""
    own_file.write_text("mode = 'meta'\n", "utf-8")  # noqa: ASYNC240  # before anything runs
    async with Memory.open(project) as memory:
        assert "meta" in str(vars(await memory.add_memory("Orders live in PostgreSQL.")))
    async with Memory.open(project, {"MEMORY_MODE": "normal"}) as memory:
        assert "record" in vars(await memory.add_memory("Orders live in PostgreSQL."))


def test_config_shows_what_is_set_and_by_whom(
    run: Run, own_file: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no key."""
    own_file.write_text("llm_model = 'qwen3'\nllm_api_key = 'sk-zebra'\n", "utf-8")
    theirs.write_text("context_topn = 8\n", "utf-8")
    monkeypatch.setenv("MEMORY_CONTEXT_TOPK", "30")
    monkeypatch.delenv("MEMORY_HOME")
    monkeypatch.setenv("ATOMIC_MEMORY_HOME", str(own_file.parent))
    assert run("trust", "--yes")[0] == 0
    status, out, error = run("config")
    lines = [tuple(re.split(r" {2,}", line)) for line in out.splitlines()]

    assert (status, error) == (0, "")
    assert lines == [
        (f"Your file: {own_file} (2 keys)",),
        (f"The project's file: {theirs} (1 key)",),
        ("",),
        ("MEMORY_HOME", str(own_file.parent), "the environment"),
        ("MEMORY_CONTEXT_TOPK", "30", "the environment"),
        ("MEMORY_CONTEXT_TOPN", "8", str(theirs)),
        ("MEMORY_LLM_MODEL", "qwen3", str(own_file)),
        ("MEMORY_LLM_API_KEY", "set, and not shown", str(own_file)),
        ("60 other settings have the default: memory-mcp config --all",),
    ]
    assert "zebra" not in str([run("config", "--all"), run("config", "--json")])


def test_config_shows_the_value_in_force_and_why_another_is_refused(
    run: Run, own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value that does nothing must not look as if it did."""
    own_file.write_text("merge_topk = 99\n", "utf-8")
    monkeypatch.setenv("MEMORY_PROVIDER", "locla")
    why = (
        "MEMORY_PROVIDER is 'locla'; it must be one of auto, local, supermemory, postgres. Correct "
        "it and start again. Until then nothing is sent to the cloud: the memory works on this "
        "machine alone."
    )
    status, out, error = run("config")
    lines = [tuple(re.split(r" {2,}", line)) for line in out.splitlines()]

    assert (status, error) == (0, ""), "each is said once, beside the settings"
    assert ("MEMORY_PROVIDER", "local", "see below") in lines
    assert ("MEMORY_MERGE_TOPK", "5", "see below") in lines
    assert lines.count((why,)) == 1
    assert f"memory-mcp: {why}\n" in run("status")[2]
    assert run("config", "provider")[1].startswith(f"MEMORY_PROVIDER: local. {why}\n")

    shown = {row["name"]: row for row in json.loads(run("config", "--json")[1])["settings"]}
    assert shown["MEMORY_PROVIDER"]["value"] == "local"
    assert "setBy" not in shown["MEMORY_PROVIDER"]
    assert shown["MEMORY_PROVIDER"]["refused"] == {
        "value": "locla", "setBy": "MEMORY_PROVIDER", "why": why
    }  # fmt: skip
    assert shown["MEMORY_MERGE_TOPK"]["refused"]["value"] == "99"
    assert "value" not in shown["MEMORY_MERGE_TOPK"], "the default"


def test_config_tells_all_about_one_setting(run: Run, own_file: Path) -> None:
    """Named as a variable or as a key."""
    own_file.write_text("merge_topk = 7\n", "utf-8")
    expected = (
        f"MEMORY_MERGE_TOPK: 7, set by {own_file}\n"
        "How many of the most similar memories are compared with a new one, up to 10. 0: none.\n"
        "Default: 5\n"
        "In a file: merge_topk, in the project's file or your file\n"
    )
    assert run("config", "merge_topk")[1] == expected
    assert run("config", "MEMORY_MERGE_TOPK")[1] == expected
    assert as_json(run, "config", "merge_topk")["value"] == "7"
    assert run("config", "home")[1].endswith("It stands in the environment alone.\n")
    assert complaint(run, "config", "topkk", expected=2).startswith(
        "'topkk' is no setting. Nearest: "
    )
    assert "Nearest" not in complaint(run, "config", "nope", expected=2)
    near = complaint(run, "config", "memory_mod", expected=2)
    assert near.startswith("'memory_mod' is no setting. Nearest: MEMORY_MODE. ")


def test_a_file_that_cannot_be_read_is_named_once_and_memory_shown_as_off(
    run: Run, own_file: Path
) -> None:
    """Who looks why memory is off must not be told that every setting has its default."""
    own_file.write_text("mode = meta\n", "utf-8")
    status, out, error = run("status")

    assert (status, out) == (1, "")
    assert error.count(str(own_file)) == 1
    assert "line 1" in error
    _, out, _ = run("status", "--json")
    assert json.loads(out) == {"success": False, "message": error[len("memory-mcp: ") : -1]}
    _, out, _ = run("config")
    assert re.search(r"^MEMORY_ENABLED +false +see below$", out, re.MULTILINE)
    assert error.removeprefix("memory-mcp: ") in out


def test_the_table_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is longer is cut there, and whole everywhere else."""
    whole = run("config", "--all")[1]
    monkeypatch.setattr("memory_mcp.cli.config.find_width", lambda: 80)
    cut = run("config", "--all")[1].split("\n\n")[1].splitlines()

    assert max(map(len, cut)) <= 80
    assert "…" not in whole.split("\n\n")[1]
    assert any("…" in line for line in cut)


def test_each_setting_is_described_and_has_a_key_of_its_own() -> None:
    """`config` and the documentation list the same."""
    assert set(load_descriptions()) == set(SETTINGS)
    for name in SETTINGS:
        if may_stand_in(name, "user"):
            assert name_setting(name_key(name)) == name


def test_the_users_file_is_where_its_system_keeps_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless MEMORY_HOME moves all that is the user's."""
    monkeypatch.setattr("sys.platform", "linux")
    assert find_user_file({"XDG_CONFIG_HOME": "/c"}).replace("\\", "/") == (
        "/c/memory-mcp/config.toml"
    )
    monkeypatch.setattr("sys.platform", "win32")
    assert find_user_file({"APPDATA": "/r"}).replace("\\", "/") == "/r/memory-mcp/config.toml"
    monkeypatch.setattr("sys.platform", "darwin")
    assert "Application Support/memory-mcp" in find_user_file({}).replace("\\", "/")
    assert (
        find_user_file({"MEMORY_HOME": "h", "CLAUDE_PROJECT_DIR": "/p"})
        .replace("\\", "/")
        .endswith("/p/h/config.toml")
    )
