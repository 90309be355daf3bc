"""Which embedder is meant, where it is, and what is built of that."""

import re
import sys
import traceback
from pathlib import Path

import pytest
from tiny_model import silent, tiny_store, tiny_vendor

from memory_mcp.build import build_embedder
from memory_mcp.config.settings import EmbedderSettings, Settings, parse_settings, read_settings
from memory_mcp.domain.secret import Secret
from memory_mcp.errors import ModelUnavailableError, SettingError
from memory_mcp.models.embedders import OllamaEmbedder, OpenAiEmbedder
from memory_mcp.models.local import MANIFEST, LocalModel

pytestmark = pytest.mark.anyio

KEY = "sk-zebra42"


def chosen(name: str, **more: str) -> EmbedderSettings:
    """What these settings say of the embedder."""
    given = {f"MEMORY_EMBEDDER_{setting.upper()}": value for setting, value in more.items()}
    return parse_settings({"MEMORY_EMBEDDER": name, **given}).embedder


def refusal(name: str, **more: str) -> str:
    """Why they mean nothing."""
    with pytest.raises(SettingError) as caught:
        chosen(name, **more)
    assert "zebra" not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_each_server_has_its_usual_place() -> None:
    """The shortest settings that can work do work."""
    assert chosen("openai", api_key=KEY) == EmbedderSettings(
        "openai", "https://api.openai.com/v1", "text-embedding-3-small", Secret(KEY)
    )
    assert chosen("ollama", model="nomic-embed-text") == EmbedderSettings(
        "ollama", "http://127.0.0.1:11434", "nomic-embed-text"
    )
    assert KEY not in repr(chosen("openai", api_key=KEY))


def test_a_server_of_ones_own_may_need_no_key() -> None:
    """Many speak OpenAI's interface on this machine."""
    found = chosen("openai", url="http://localhost:8080/v1/", model="bge-m3")

    assert found == EmbedderSettings("openai", "http://localhost:8080/v1", "bge-m3")


@pytest.mark.parametrize(
    "url", ["http://192.168.1.5:11434", "http://10.0.0.2", "http://172.31.0.1", "http://nas.local"]
)
def test_ollama_may_be_in_ones_own_network_as_long_as_no_key_is_shown_to_it(url: str) -> None:
    """It speaks plain http, and often runs on the one machine that has a graphics card."""
    assert chosen("ollama", url=url, model="m").url == url
    for said in (
        refusal("ollama", url=url, model="m", api_key=KEY),
        refusal("openai", url=url),
    ):
        assert f"MEMORY_EMBEDDER_URL is {url!r}; it must be https, because http shows" in said


@pytest.mark.parametrize(
    "url", ["http://8.8.8.8", "http://172.32.0.1", "http://example.com", "http://local"]
)
def test_nobody_elsewhere_reads_along(url: str) -> None:
    """What is sent there is what the memories say."""
    assert "without a key its own network" in refusal("ollama", url=url, model="m")


@pytest.mark.parametrize(
    "url",
    ["api.example", "ftp://x", "https://", "https://h?key=zebra", "https://ada:zebra@h", "https://h//v1",
     "https://h/v1#x", "https://h:0/v1", "https://h/v 1"],
)  # fmt: skip
def test_an_address_is_scheme_host_port_and_path(url: str) -> None:
    """What people paste there may be a secret."""
    said = refusal("openai", url=url)
    assert said.startswith("MEMORY_EMBEDDER_URL cannot be used (not shown here); it must be https")


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("bert", {}, "MEMORY_EMBEDDER is 'bert'; it must be one of auto, none, minilm, local, "),
            ("local", {}, "MEMORY_EMBEDDER_MODEL is ''; it must be the name of a model on this m"),
            ("local", {"model": "../x"}, "MEMORY_EMBEDDER_MODEL is '../x'; it must be the name of"),
            ("local", {"model": "m", "url": "https://h"}, "because MEMORY_EMBEDDER_URL is set"),
        ("ollama", {}, "MEMORY_EMBEDDER_MODEL is ''; it must be the name of an embedding model"),
        ("openai", {}, "MEMORY_EMBEDDER_API_KEY is ''; it must be a key for https://api.openai.c"),
        ("auto", {"url": "https://h"}, "MEMORY_EMBEDDER is 'auto'; it must be openai or ollama, "),
        ("minilm", {"model": "x"}, "because MEMORY_EMBEDDER_MODEL is set (or none). Correct it"),
        ("minilm", {"api_key": KEY}, "because MEMORY_EMBEDDER_API_KEY is set (or none)."),
        ("openai", {"api_key": f"{KEY} x"}, "MEMORY_EMBEDDER_API_KEY cannot be used (not shown"),
    ],
    ids=ascii,
)  # fmt: skip
def test_settings_that_do_not_fit_together_are_refused(
    name: str, more: dict[str, str], said: str
) -> None:
    """Recall by words alone, without a word, is not what was asked for."""
    assert said in refusal(name, **more)


def test_none_needs_nothing_else_to_be_taken_away() -> None:
    """It is the quickest way to look whether the embedder is to blame."""
    assert chosen("none", url="https://h/v1", model="m", api_key=KEY) == EmbedderSettings("none")


def built(tmp_path: Path, **environment: str) -> object:
    """What is built of these settings, with a home of the test's own."""
    return build_embedder(read_settings({"MEMORY_HOME": str(tmp_path), **environment}))


def add_tiny(home: Path) -> None:
    """A model where MiniLM would be."""
    recipe = tiny_vendor(home / "vendor")
    tiny_store(home / "models", recipe).add("minilm", str(home / "vendor"), silent)


def test_auto_is_minilm_once_it_was_added(tmp_path: Path) -> None:
    """Adding it is the wish to use it; nobody has to set anything."""
    assert built(tmp_path) is None
    add_tiny(tmp_path)

    assert isinstance(built(tmp_path), LocalModel)
    assert isinstance(built(tmp_path, MEMORY_EMBEDDER="minilm"), LocalModel)
    assert built(tmp_path, MEMORY_EMBEDDER="none") is None
    assert built(tmp_path, MEMORY_ENABLED="off") is None


def test_servers_are_built_without_asking_them() -> None:
    """A session starts at once, whether they run or not."""
    key = Secret(KEY)
    openai = EmbedderSettings("openai", "https://h/v1", "m", key)
    ollama = EmbedderSettings("ollama", "http://localhost:1", "m")

    assert isinstance(build_embedder(Settings(embedder=openai)), OpenAiEmbedder)
    assert isinstance(build_embedder(Settings(embedder=ollama)), OllamaEmbedder)


async def refused(tmp_path: Path, **environment: str) -> str:
    """What every call of an embedder says that is wanted and not there."""
    found = build_embedder(read_settings({"MEMORY_HOME": str(tmp_path), **environment}))
    assert found is not None
    assert found.identity == "minilm/absent"
    with pytest.raises(ModelUnavailableError) as caught:
        await found.question("tea")
    with pytest.raises(ModelUnavailableError, match=re.escape(str(caught.value))):
        await found.passages(["tea"])
    await found.aclose()
    return str(caught.value)


async def test_minilm_that_is_wanted_and_not_there_says_how_to_add_it(tmp_path: Path) -> None:
    """The search goes on by words and shows this."""
    said = await refused(tmp_path, MEMORY_EMBEDDER="minilm")

    assert said.endswith("Run `memory-mcp models add minilm`.")


async def test_a_model_without_its_libraries_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a model that is only there, `auto` makes no fuss."""
    add_tiny(tmp_path)
    monkeypatch.setattr("memory_mcp.build.is_extra_installed", lambda: False)

    assert built(tmp_path) is None
    assert "backtrack-memory[semantic]" in await refused(tmp_path, MEMORY_EMBEDDER="minilm")


@pytest.mark.parametrize("name", ["auto", "minilm"])
async def test_a_damaged_model_is_said_and_is_no_reason_not_to_start(
    tmp_path: Path, name: str
) -> None:
    """It was added, so somebody counts on it."""
    add_tiny(tmp_path)
    (tmp_path / "models" / "minilm" / MANIFEST).write_bytes(b"{")

    assert "models add minilm" in await refused(tmp_path, MEMORY_EMBEDDER=name)


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be closed like this there")
async def test_a_models_folder_that_cannot_be_read_is_no_reason_not_to_start(
    tmp_path: Path,
) -> None:
    """A folder in place of the file stands for what the file system may refuse."""
    (tmp_path / "models" / "minilm" / MANIFEST).mkdir(parents=True)

    assert "cannot be read" in await refused(tmp_path)
