"""What a node gives to prompts and reports: resources, the text of a prompt, the final memory."""

import json
import os
import runpy
import subprocess
import sys
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memory_mcp import Memory
from memory_mcp.errors import InvalidRequestError, UnknownTargetError

pytestmark = pytest.mark.anyio

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
EXAMPLE = Path(__file__).parents[2] / "examples" / "tree_search.py"


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    return {"MEMORY_HOME": str(tmp_path / "home"), "MEMORY_EMBEDDER": "none"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with data, a list of resources, and things that it must not read."""
    made = tmp_path / "project"
    (made / "data" / "raw").mkdir(parents=True)
    (made / "data" / "README.md").write_text(f"Digits, 28 by 28.\nkey {TOKEN}\n")
    (made / "data" / "raw" / "digits.bin").write_bytes(b"\x00\x01" * 40)
    (tmp_path / "secret.txt").write_text("not yours")
    (made / "link").symlink_to(tmp_path)
    listed = {
        "local": [
            {"name": "digits", "path": "data"},
            {"name": "gone", "path": "nowhere"},
            {"name": "outside", "host_path": "../secret.txt"},
            {"name": "linked", "path": "link/secret.txt"},
        ],
        "github": [{"name": "bench", "repo": "https://github.com/x/bench", "ref": "v1"}],
        "huggingface": [{"repo_id": "org/tiny", "revision": "main", "dest": "data/raw"}],
    }
    (made / "resources.json").write_text(json.dumps(listed))
    return made


@pytest.fixture
async def memory(project: Path, settings: dict[str, str]) -> AsyncGenerator[Memory]:
    async with Memory.open(project, settings) as opened:
        yield opened


async def test_a_snapshot_says_what_is_here_and_what_is_not(memory: Memory, project: Path) -> None:
    """What is missing or out of bounds is a state, with its reason."""
    snapshot = await memory.build_resource_snapshot("resources.json", {"max_chars": 200})

    items = {item["id"]: item for item in snapshot["items"]}
    states = {id_: (item["class"], item["fetch_status"]) for id_, item in items.items()}
    assert states == {
        "github:bench": ("github", "pending"),
        "huggingface:tiny": ("huggingface", "available"),
        "local_data:digits": ("local_data", "available"),
        "local_data:gone": ("local_data", "failed"),
        "local_data:linked": ("local_data", "failed"),
        "local_data:outside": ("local_data", "failed"),
    }
    digits = items["local_data:digits"]
    assert digits["path"] == str(project / "data")
    assert digits["tree_summary"] == "README.md\nraw/digits.bin"
    assert digits["content_excerpt"].startswith("Digits, 28 by 28.")
    assert "link" in items["local_data:linked"]["note"]
    assert "outside" in items["local_data:outside"]["note"]
    assert items["github:bench"]["source"] == "https://github.com/x/bench@v1"
    assert "not yours" not in json.dumps(snapshot)
    assert TOKEN not in json.dumps(snapshot)
    assert snapshot["config_normalized"] == {"max_chars": 200}
    assert len(snapshot["resource_file_sha"]) == 64


async def test_the_digest_changes_with_what_is_there_and_with_nothing_else(
    memory: Memory, project: Path
) -> None:
    """A program compares it to see whether to look again."""
    first = await memory.build_resource_snapshot("resources.json", {"b": 1, "a": 2})
    again = await memory.build_resource_snapshot("resources.json", {"a": 2, "b": 1})
    (project / "data" / "more.csv").write_text("1,2")
    later = await memory.build_resource_snapshot("resources.json", {"a": 2, "b": 1})

    assert first == again
    assert later["digest"] != first["digest"]
    assert later["resource_file_sha"] == first["resource_file_sha"]
    unseen = await memory.build_resource_snapshot("resources.json", resolve_paths=False)
    assert {item["fetch_status"] for item in unseen["items"]} == {"pending"}


async def test_a_list_that_is_missing_is_empty_and_a_wrong_one_is_an_error(
    memory: Memory, project: Path
) -> None:
    """The message names what is wrong and what would do."""
    none = await memory.build_resource_snapshot("none.json")
    assert (none["items"], none["resource_file_sha"]) == ([], "")
    assert "none.json" in none["note"]

    for text, said in (
        ("{", "no JSON"),
        ("3", "no object of sections"),
        ('{"gitlab": []}', "'gitlab'; there are local"),
    ):
        (project / "wrong.json").write_text(text)
        with pytest.raises(InvalidRequestError, match=said):
            await memory.build_resource_snapshot("wrong.json")
    for place in ("../secret.txt", "link/secret.txt"):
        with pytest.raises(InvalidRequestError):
            await memory.build_resource_snapshot(place)
    with pytest.raises(InvalidRequestError, match="max_files is -1"):
        await memory.build_resource_snapshot("resources.json", {"max_files": -1})


async def fill(memory: Memory) -> None:
    """Two nodes: the second inherits from the first."""
    snapshot = await memory.build_resource_snapshot("resources.json")
    await memory.mem_core_set("resource_index", snapshot["index"])
    await memory.mem_core_set("goal", "beat 0.91", importance=5)
    await memory.add_memory("Report in metric units.", kind="preference", title="units")
    await memory.mem_node_fork(None, "a")
    event = {"summary": "Dropout 0.3 gave 0.902", "kind": "result", "phase": "tuning"}
    await memory.mem_node_write("a", recall_event={**event, "text": "loss 0.31", "refs": ["run/7"]})
    await memory.mem_node_fork("a", "b")
    archived = [{"text": "Learning rates above 1e-3 diverge.", "tags": ["training"]}]
    await memory.mem_node_write("b", core_updates={"plan": "warm up"}, archival_records=archived)
    await memory.track_resource_usage("local_data:digits", "read", "training", branch_id="b")


async def test_a_prompt_of_a_node_has_its_layers_in_order(memory: Memory) -> None:
    """Resources, core with what is inherited and durable, events, the archive."""
    await fill(memory)
    text, log = await memory.render_for_prompt_with_log("b", "do learning rates diverge?", 3_000)

    order = ("github:bench", "goal: beat 0.91", "plan: warm up", "(preference): Report in metric",
             "(a) Dropout 0.3", "read local_data:digits", "(training) Learning rates")  # fmt: skip
    places = [text.index(each) for each in order]
    assert places == sorted(places)
    assert (log.node, log.budget_chars, log.chars) == ("b", 3_000, len(text))
    assert [(each.section, each.whole, each.left_out) for each in log.sections] == [
        ("resources", 6, 0),
        ("core", 3, 0),
        ("recall", 2, 0),
        ("archival", 1, 0),
    ]
    assert await memory.render_for_prompt("b", "do learning rates diverge?", 3_000) == text
    assert "warm up" not in await memory.render_for_prompt("a", "", 3_000)


async def test_a_prompt_is_cut_to_its_budget_and_the_log_says_so(memory: Memory) -> None:
    """A budget of nothing gives nothing; no limit gives everything."""
    await fill(memory)
    await memory.mem_core_set("notes", "It went on and on. " * 100, branch_id="b")

    text, log = await memory.render_for_prompt_with_log("b", "", 700)
    core = log.sections[1]
    assert len(text) <= 700
    assert core.cut + core.left_out > 0
    assert "were this section's share" in core.why
    assert await memory.render_for_prompt("b", "", 0) == ""
    whole = await memory.render_for_prompt("b", "", 10, no_limit=True)
    assert "It went on and on. " * 99 in whole
    with pytest.raises(InvalidRequestError, match="budget_chars is -1"):
        await memory.render_for_prompt("b", "", -1)
    with pytest.raises(UnknownTargetError):
        await memory.render_for_prompt("c", "", 700)


async def test_how_a_resource_is_used_is_one_of_three(memory: Memory) -> None:
    """The three are named."""
    with pytest.raises(InvalidRequestError, match="choose one of: "):
        await memory.track_resource_usage("local_data:digits", "eat")  # type: ignore[arg-type]


async def test_the_final_memory_is_a_text_and_data(memory: Memory, tmp_path: Path) -> None:
    """With what was evicted too: a report tells the whole road."""
    await fill(memory)
    await memory.mem_recall_evict(kind="result", branch_id="b")
    await memory.mem_node_fork("a", "c")
    await memory.mem_node_discard("c", "Dropout 0.9 never learns.")
    paths = await memory.export_final_memory(tmp_path / "out", "b")
    markdown, data = paths

    assert (markdown.name, data.name) == (
        "final_memory_for_paper.md",
        "final_memory_for_paper.json",
    )
    fields = json.loads(data.read_text())
    assert fields["chain"] == ["b", "a", "main"]
    assert fields["core"]["plan"] == "warm up"
    assert [each["summary"] for each in fields["recall"]] == ["read local_data:digits"]
    steps = [each["summary"] for each in fields["experiment_timeline"]]
    assert steps == ["Dropout 0.3 gave 0.902", "read local_data:digits"]
    assert fields["archival_summary"]["count"] == 1
    assert fields["archival_summary"]["tags"] == {"training": 1}
    (used,) = fields["resources_used"]
    assert (used["resource_id"], used["usage"], used["nodes"]) == (
        "local_data:digits",
        {"read": 1},
        ["b"],
    )
    assert fields["lessons"] == ["Dropout 0.9 never learns."]
    text = markdown.read_text()
    for said in ("# Final memory of b", "b < a < main", "**plan**: warm up", "loss 0.31",
                 "run/7", "Learning rates above", "read 1\u00d7 by b", "never learns"):  # fmt: skip
        assert said in text


async def test_the_names_of_the_final_memory_can_be_chosen(memory: Memory, project: Path) -> None:
    """But neither leads elsewhere, nor through a link."""
    paths = await memory.export_final_memory(project / "out", None, "a.md", "a.json")
    assert [path.name for path in paths] == ["a.md", "a.json"]
    for names in (("../a.md", "a.json"), ("a.md", "b/c.json"), ("a", "a"), ("", "a")):
        with pytest.raises(InvalidRequestError):
            await memory.export_final_memory(project / "out", None, *names)
    with pytest.raises(InvalidRequestError, match="link"):
        await memory.export_final_memory(project / "link" / "out")
    assert not (project.parent / "out").exists()


def test_the_command_exports_the_final_memory(project: Path, settings: dict[str, str]) -> None:
    """Of the branch that is named."""
    with Memory.open_sync(project, settings) as memory:
        memory.mem_node_fork(None, "b")
        memory.mem_core_set("plan", "warm up", branch_id="b")
    command = [sys.executable, "-m", "memory_mcp", "export", "--final", "out", "--branch", "b",
               "--project", str(project), "--json"]  # fmt: skip

    def export(*more: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **settings}
        return subprocess.run(
            [*command, *more], env=env, cwd=project, capture_output=True, text=True, check=False
        )

    found, wrong = export(), export("--history")
    said = json.loads(found.stdout)

    assert said["success"]
    assert json.loads(Path(said["json"]).read_text())["core"] == {"plan": "warm up"}
    assert "# Final memory of b" in Path(said["markdown"]).read_text()
    assert "goes with no --format" in wrong.stdout + wrong.stderr
    assert wrong.returncode != 0


def _make_threads(many: int, _context: object) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(many, 2))


@pytest.mark.nightly
@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_the_example_runs_as_its_page_shows(
    workers: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Eight workers fork and write sixty nodes; the winner's values end up in the root.

    Eight processes spend most of their time on imports; two threads of this one show the same.
    """
    if workers == "threads":
        monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", _make_threads)
        monkeypatch.setattr(sys, "argv", [str(EXAMPLE)])
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    else:
        subprocess.run([sys.executable, str(EXAMPLE)], check=True, timeout=540)

    shown, _ = capfd.readouterr()
    page = (EXAMPLE.parents[1] / "docs" / "layers.md").read_text("utf-8")
    assert "60 nodes, 8 processes:" in shown
    for line in shown.strip().splitlines():
        assert line in page
    assert not [*tmp_path.iterdir()], "a look at an example leaves nothing among the user's files"
