"""Keys in the system's keyring: kept there and nowhere else, found without waking it."""

import json
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import keyring
import pytest
from doors import files_with, names_in
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyrings import LockedKeyring, MemoryKeyring, RefusingKeyring

from memory_mcp.build import build_keyring, find_cloud_key, is_cloud_chosen
from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk
from memory_mcp.domain.secret import Secret
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.storage.supermemory.keys import MARKER_FILE, SystemKeyring

URL = "https://api.supermemory.ai"
OTHER = "https://memory.example"
KEY = "sm_zebra42"

Trouble = Callable[[pytest.MonkeyPatch], object]


def _not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)


def _is(backend: Callable[[], KeyringBackend]) -> Trouble:
    return lambda _: keyring.set_keyring(backend())


def _misconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_such_backend() -> KeyringBackend:
        raise ModuleNotFoundError("No module named 'no_such_backend'")

    monkeypatch.setattr(keyring, "get_keyring", no_such_backend)


_TROUBLES: dict[str, tuple[Trouble, str]] = {
    "not installed": (
        _not_installed,
        "pip install 'backtrack-memory[keyring]', or set SUPERMEMORY_",
    ),
    "no backend": (_is(fail.Keyring), "no keyring that can be used here. Set SUPERMEMORY_API_KEY"),
    "locked": (_is(LockedKeyring), "is locked. Unlock it and try again, or set SUPERMEMORY_API_"),
    "refusing": (_is(RefusingKeyring), "refused (PasswordSetError). Mend that, or set SUPERMEMOR"),
    "keeping nothing": (_is(null.Keyring), "did not keep the key. Choose another one in the sett"),
    "misconfigured": (_misconfigured, "refused (ModuleNotFoundError). Mend that, or set SUPERMEM"),
}


@pytest.fixture
def system() -> Iterator[MemoryKeyring]:
    """The keyring of this system, and never the one of whoever runs the tests."""
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(fail.Keyring())


@pytest.fixture
def keys(system: MemoryKeyring, tmp_path: Path) -> SystemKeyring:
    """Ours, over it."""
    del system
    return SystemKeyring(tmp_path / "home", Disk())


def test_a_key_is_kept_for_its_address_and_can_be_removed(
    keys: SystemKeyring, system: MemoryKeyring, tmp_path: Path
) -> None:
    """A key sent to another address is a key given away."""
    assert keys.store(URL, Secret(KEY)) == "keyrings MemoryKeyring"
    keys.store(OTHER, Secret("sm_yak"))
    assert system.kept == {("memory-mcp", URL): KEY, ("memory-mcp", OTHER): "sm_yak"}
    assert keys.read(URL) == Secret(KEY)
    assert keys.knows(URL)

    assert keys.remove(URL) is True
    assert (keys.knows(URL), keys.knows(OTHER)) == (False, True)
    assert keys.remove(URL) is False
    assert keys.remove(OTHER) is True
    assert system.kept == {}
    assert names_in(tmp_path / "home") == []


def test_a_newer_key_takes_the_place_of_the_older(keys: SystemKeyring) -> None:
    """Keys are rotated."""
    keys.store(URL, Secret("sm_old"))
    keys.store(URL, Secret(KEY))

    assert keys.read(URL).get_secret_value() == KEY


def test_the_file_names_addresses_and_no_key(keys: SystemKeyring, tmp_path: Path) -> None:
    """It lies in a folder that is backed up and synchronised."""
    keys.store(URL, Secret(KEY))

    assert names_in(tmp_path / "home") == [MARKER_FILE]
    assert json.loads((tmp_path / "home" / MARKER_FILE).read_bytes()) == {"base_urls": [URL]}


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("trouble", _TROUBLES)
def test_a_keyring_that_cannot_says_what_to_do_and_nothing_is_left(
    keys: SystemKeyring,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    trouble: str,
) -> None:
    """Half a login would make every later start look for a key that is not there."""
    caplog.set_level(logging.DEBUG)
    make, said = _TROUBLES[trouble]
    make(monkeypatch)
    with pytest.raises(StoreUnavailableError) as caught:
        keys.store(URL, Secret(KEY))

    assert said in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value)) + caplog.text
    assert not keys.knows(URL)
    assert [name for name in names_in(tmp_path) if name != "home"] == []


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("trouble", ["not installed", "no backend", "locked", "misconfigured"])
def test_a_key_that_cannot_be_reached_is_not_a_key_that_is_not_there(
    keys: SystemKeyring, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """The library was uninstalled, the desktop is locked: it is still known."""
    keys.store(URL, Secret(KEY))
    make, said = _TROUBLES[trouble]
    make(monkeypatch)
    for act in (keys.read, keys.remove):
        with pytest.raises(StoreUnavailableError, match=said.split("[", 1)[0].split("(", 1)[0]):
            act(URL)
    assert keys.knows(URL)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("trouble", ["not installed", "no backend"])
def test_removing_what_never_was_works_without_any_keyring(
    keys: SystemKeyring, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """`logout` in a container has nothing to do and no reason to fail."""
    _TROUBLES[trouble][0](monkeypatch)

    assert keys.remove(URL) is False


@pytest.mark.parametrize("kept", [None, "", "sm zebra42", "sm_zebra42\n"], ids=ascii)
def test_a_key_that_was_changed_behind_our_back_is_not_used(
    keys: SystemKeyring, system: MemoryKeyring, kept: str | None
) -> None:
    """An HTTP client repeats a key it cannot send in its error."""
    keys.store(URL, Secret(KEY))
    system.kept = {} if kept is None else {("memory-mcp", URL): kept}
    with pytest.raises(StoreUnavailableError) as caught:
        keys.read(URL)

    assert f"no usable key for {URL} any more. Run `memory-mcp cloud login` again" in str(
        caught.value
    )
    assert "zebra" not in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"base_urls": 1}', b"\xff", b"[" * 100_000])
def test_a_damaged_file_names_no_key_and_the_next_login_mends_it(
    keys: SystemKeyring, tmp_path: Path, data: bytes
) -> None:
    """The server starts all the same: the file is no truth, the keyring is."""
    keys.store(URL, Secret(KEY))
    (tmp_path / "home" / MARKER_FILE).write_bytes(data)
    assert not keys.knows(URL)
    assert keys.remove(URL) is True, "a key is removed even where the file does not know it"

    keys.store(URL, Secret(KEY))
    assert keys.knows(URL)


class _Cut(Disk):
    """The power goes at one of the steps of a write."""

    def __init__(self, at: str) -> None:
        self._at = at

    def step(self, name: str) -> None:
        if name == self._at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["write", "fsync", "rename", "fsync folder"])
def test_a_login_that_is_cut_leaves_no_key_that_nobody_knows(
    system: MemoryKeyring, tmp_path: Path, step: str
) -> None:
    """`status` would say that there is none, and it would stay for ever."""
    with pytest.raises(KeyboardInterrupt):
        SystemKeyring(tmp_path / "home", _Cut(step)).store(URL, Secret(KEY))

    assert system.kept == {}
    assert files_with(tmp_path, KEY) == []


def test_the_environment_comes_first_then_the_keyring_then_none(
    system: MemoryKeyring, settings: Settings
) -> None:
    """A container or a test overrides what the desktop knows, without touching it."""
    assert (find_cloud_key(settings).origin, find_cloud_key(settings).read()) == ("none", None)

    build_keyring(settings).store(URL, Secret("sm_kept"))
    kept = find_cloud_key(settings)
    assert (kept.origin, kept.read()) == ("keyring", Secret("sm_kept"))
    assert find_cloud_key(replace(settings, base_url=OTHER)).origin == "none"

    keyring.set_keyring(LockedKeyring())
    given = find_cloud_key(replace(settings, api_key=Secret(KEY)))
    assert (given.origin, given.read()) == ("environment", Secret(KEY))
    assert find_cloud_key(settings).origin == "keyring", "finding out where it is does not read it"
    assert KEY not in repr(given) + repr(find_cloud_key(settings))
    assert system.kept == {("memory-mcp", URL): "sm_kept"}


@pytest.mark.files
@pytest.mark.usefixtures("system")
def test_the_provider_is_what_was_said_or_what_there_is_all_for(settings: Settings) -> None:
    """`auto` sends nothing that nobody gave a key for."""
    key = Secret(KEY)
    here = "http://localhost:6767"
    chosen = [
        is_cloud_chosen(each, find_cloud_key(each))
        for each in (
            settings,
            replace(settings, api_key=key),
            replace(settings, base_url=here),
            replace(settings, provider="local", api_key=key, base_url=here),
            replace(settings, provider="supermemory"),
        )
    ]

    assert chosen == [False, True, True, False, True]
