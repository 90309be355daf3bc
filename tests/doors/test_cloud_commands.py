"""`login`, `logout` and `status`, as a person and a program use them."""

import getpass
import json
import sys
import warnings
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import keyring
import pytest
from command_line import Run, as_json, complaint
from doors import files_with, names_in
from keyring.backends import fail
from keyrings import MemoryKeyring

URL = "https://api.supermemory.ai"
KEY = "sm_zebra42"


@pytest.fixture(autouse=True)
def system() -> Iterator[MemoryKeyring]:
    """The keyring of this system, and never the one of whoever runs the tests."""
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(fail.Keyring())


def test_login_keeps_a_key_that_is_piped_in_and_shows_it_nowhere(
    run: Run, system: MemoryKeyring, tmp_path: Path
) -> None:
    """As an argument it would stay in the shell's history."""
    status, out, error = run("cloud", "login", stdin=f"{KEY}\r\n")

    assert (status, error) == (0, "")
    assert out == (
        f"The key for {URL} is in the system's keyring (keyrings MemoryKeyring). Sessions that "
        "start from now on use it; `memory-mcp cloud status` shows how things stand.\n"
    )
    assert system.kept == {("memory-mcp", URL): KEY}
    shown = [run(*command) for command in (("cloud",), ("cloud", "status", "--json"), ("add", "x"))]
    assert KEY not in str(shown)
    assert files_with(tmp_path, "zebra") == []


def test_login_and_logout_as_json(run: Run, system: MemoryKeyring) -> None:
    """A program sets machines up."""
    status, out, error = run("--json", "cloud", "login", stdin=KEY)
    assert (status, error) == (0, "")
    said = json.loads(out)
    assert said.pop("message").startswith(f"The key for {URL} is in")
    assert said == {"success": True, "baseUrl": URL, "keyring": "keyrings MemoryKeyring"}

    removed = as_json(run, "cloud", "logout")
    assert removed["removed"] is True
    assert system.kept == {}
    assert as_json(run, "cloud", "logout")["removed"] is False


def test_logout_says_whether_there_was_a_key(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing of a login stays behind, and what is still in use is said."""
    run("cloud", "login", stdin=KEY)
    assert run("cloud", "logout")[:2] == (
        0, f"The key for {URL} is removed. Sessions that are running keep it until they end.\n"
    )  # fmt: skip
    assert run("cloud", "logout")[:2] == (0, f"There was no key for {URL}.\n")
    assert "keyring.json" not in names_in(tmp_path)
    monkeypatch.setenv("SUPERMEMORY_API_KEY", KEY)
    assert run("cloud", "logout")[1].endswith(" SUPERMEMORY_API_KEY is still set.\n")


def test_a_key_is_kept_for_the_address_that_is_set(
    run: Run, monkeypatch: pytest.MonkeyPatch, system: MemoryKeyring
) -> None:
    """A key sent to another address is a key given away."""
    monkeypatch.setenv("SUPERMEMORY_BASE_URL", "https://memory.example")
    run("cloud", "login", stdin=KEY)
    assert system.kept == {("memory-mcp", "https://memory.example"): KEY}
    assert as_json(run, "cloud", "status")["key"] == "keyring"

    monkeypatch.delenv("SUPERMEMORY_BASE_URL")
    assert as_json(run, "cloud", "status")["key"] == "none"


@pytest.mark.parametrize("given", ["", " \n"], ids=["nothing", "blank"])
def test_no_key_is_no_login(run: Run, system: MemoryKeyring, given: str) -> None:
    """An empty file or variable must not replace a key that works."""
    run("cloud", "login", stdin=KEY)
    status, out, error = run("cloud", "login", stdin=given)

    assert (status, out) == (1, "")
    assert error.startswith("memory-mcp: No key was given, so nothing was changed.")
    assert system.kept == {("memory-mcp", URL): KEY}


@pytest.mark.parametrize(
    "given", ["sm zebra", "sm_zebra\nsm_zebra", b"sm_zebra\xff", "sm_zebra" * 1_000], ids=range(4)
)
def test_what_is_no_key_is_refused_and_not_repeated(
    run: Run, system: MemoryKeyring, given: str | bytes
) -> None:
    """The wrong file was piped in; it may hold other secrets."""
    status, out, error = run("cloud", "login", stdin=given)

    assert (status, out) == (1, "")
    assert error.startswith("memory-mcp: The key cannot be used (not shown here); it must be ASCII")
    assert "zebra" not in error
    assert system.kept == {}


def test_login_without_a_keyring_says_what_to_do(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The library is an extra that nobody has by chance."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    status, out, error = run("cloud", "login", stdin=KEY)

    assert (status, out) == (1, "")
    assert "pip install 'backtrack-memory[keyring]', or set SUPERMEMORY_API_KEY instead" in error
    assert "keyring.json" not in names_in(tmp_path)
    assert run("cloud", "logout")[:2] == (0, f"There was no key for {URL}.\n")


def test_a_terminal_that_would_show_the_key_is_not_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The standard library would read it with echo after a warning."""

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    def with_echo(prompt: str) -> str:
        warnings.warn(f"Can not control echo. {prompt}", getpass.GetPassWarning, stacklevel=2)
        return KEY

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", with_echo)
    assert complaint(run, "cloud", "login").startswith(
        "This terminal would show the key. Pipe it in"
    )


_LOGIN_SAYS = {
    "MEMORY_PROVIDER=local": "MEMORY_PROVIDER is local, so it is not used until that changes.",
    "SUPERMEMORY_API_KEY=sm_other": "SUPERMEMORY_API_KEY is set too, and comes first.",
}


@pytest.mark.parametrize("setting", _LOGIN_SAYS)
def test_login_says_when_the_key_will_not_be_used(
    run: Run, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    """Else one waits for memories that never arrive."""
    monkeypatch.setenv(*setting.split("="))

    assert run("cloud", "login", stdin=KEY)[1].endswith(f" {_LOGIN_SAYS[setting]}\n")


def test_status_tells_everything_that_decides(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first question when nothing arrives in the cloud, or when it should not."""
    status, out, error = run("cloud", "status")
    assert (status, error) == (0, "")
    assert out == (
        "Provider:   local (there is no key for the cloud; to use it, set SUPERMEMORY_API_KEY or "
        "run `memory-mcp cloud login`)\n"
        f"Key:        none\nAddress:    {URL}\nContainer:  one for each user and project\n"
        "Extraction: off\nTimeout:    4 s\n"
        "Judge:      rules (MEMORY_LLM_MODEL is not set)\n"
    )
    monkeypatch.setenv("SUPERMEMORY_API_KEY", KEY)
    monkeypatch.setenv("SUPERMEMORY_EXTRACTION", "on")
    monkeypatch.setenv("SUPERMEMORY_TIMEOUT", "2.5")
    monkeypatch.setenv("SUPERMEMORY_CONTAINER_TAG", "repo_shop:1")
    assert run("cloud", "status")[1] == (
        "Provider:   supermemory (there is a key)\nKey:        from SUPERMEMORY_API_KEY\n"
        f"Address:    {URL}\n"
        "Container:  repo_shop:1, for the project's memories (SUPERMEMORY_CONTAINER_TAG)\n"
        "Extraction: on\nTimeout:    2.5 s\n"
        "Judge:      rules (MEMORY_LLM_MODEL is not set)\n"
    )
    assert as_json(run, "cloud", "status") == {
        "success": True,
        "provider": "supermemory",
        "setting": "auto",
        "why": "there is a key",
        "key": "environment",
        "baseUrl": URL,
        "container": "repo_shop:1",
        "extraction": True,
        "timeoutSeconds": 2.5,
        "judge": "rules",
        "warnings": [],
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORY_PROVIDER", "loacl"),
        ("SUPERMEMORY_BASE_URL", "http://example.com"),
        ("SUPERMEMORY_API_KEY", "two words"),
        ("SUPERMEMORY_CONTAINER_TAG", "my.box!"),
        ("SUPERMEMORY_CONTAINER_TGA", "box"),
    ],
)
def test_status_names_the_setting_that_keeps_everything_here(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, system: MemoryKeyring
) -> None:
    """Whoever is told of MEMORY_PROVIDER looks in the wrong place."""
    run("cloud", "login", stdin=KEY)
    monkeypatch.setenv(name, value)
    said = json.loads(run("--json", "cloud", "status")[1])

    assert said["provider"] == "local"
    assert said["why"] == f"{name} is wrong: nothing is sent until it is corrected"
    again = run("cloud", "login", stdin="sm_other")
    if name.endswith("_URL"):
        assert (again[0], set(system.kept.values())) == (1, {KEY})
    else:
        assert f"{name} is wrong, so it is not used until that is corrected." in again[1]


def test_status_says_which_model_judges(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of memories are sent there; nobody is asked to find out, and the key is not shown."""
    monkeypatch.setenv("MEMORY_LLM_MODEL", "qwen3:8b")
    monkeypatch.setenv("MEMORY_LLM_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("MEMORY_LLM_API_KEY", KEY)

    told = run("cloud", "status")[1]
    said = as_json(run, "cloud", "status")

    assert "Judge:      qwen3:8b at http://127.0.0.1:1/v1; rules, when it fails\n" in told
    assert {name: said[name] for name in said if name.startswith("judge")} == {
        "judge": "model",
        "judgeModel": "qwen3:8b",
        "judgeUrl": "http://127.0.0.1:1/v1",
    }
    assert KEY not in f"{told} {said}"


_HOW = "set SUPERMEMORY_API_KEY or run `memory-mcp cloud login`"
_CHOSEN = {
    ("local", "SUPERMEMORY_API_KEY=sm_x"): ("local", "MEMORY_PROVIDER is local: nothing is sent"),
    ("supermemory", "SUPERMEMORY_API_KEY=sm_x"): ("supermemory", "MEMORY_PROVIDER is supermemory"),
    ("postgres", "MEMORY_POSTGRES_URL=postgresql://ada:zebra@db.example/shop"): (
        "postgres",
        "MEMORY_PROVIDER is postgres: all is in postgresql://db.example:5432/shop",
    ),
    ("supermemory", "SUPERMEMORY_API_KEY="): (
        "supermemory",
        f"MEMORY_PROVIDER is supermemory, but there is no key, so all stays here: {_HOW}",
    ),
    ("auto", "SUPERMEMORY_BASE_URL=http://127.0.0.1:6767"): (
        "supermemory",
        "SUPERMEMORY_BASE_URL is on this machine, where no key is needed",
    ),
    ("supermemory", "SUPERMEMORY_BASE_URL=http://127.0.0.1:6767"): (
        "supermemory",
        "MEMORY_PROVIDER is supermemory",
    ),
}


@pytest.mark.parametrize(("provider", "setting"), _CHOSEN)
def test_status_says_why_in_plain_words(
    run: Run, monkeypatch: pytest.MonkeyPatch, provider: str, setting: str
) -> None:
    """Three settings and a keyring decide; nobody should have to work it out."""
    monkeypatch.setenv("MEMORY_PROVIDER", provider)
    monkeypatch.setenv(*setting.split("=", 1))
    said = as_json(run, "cloud", "status")

    assert (said["provider"], said["why"]) == _CHOSEN[provider, setting]
    assert said["setting"] == provider


def test_status_does_not_wake_the_keyring(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be locked, and would ask for a password."""
    run("cloud", "login", stdin=KEY)
    monkeypatch.setitem(sys.modules, "keyring", None)

    assert (
        "Key:        from the system's keyring (memory-mcp cloud login)"
        in run("cloud", "status")[1]
    )
