"""Fetching from a hub over a bad line: what came is kept, what is wrong is thrown away."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest
from hub import Hub, held, hub_serving, refusal
from tiny_model import silent, tiny_vendor

from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.install import fetch_files
from memory_mcp.models.minilm import TOKENIZER, WEIGHTS, Recipe


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
