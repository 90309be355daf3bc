"""The cloud's key in the system's keyring, one for each base URL.

The library `keyring` is optional, slow to import, and may ask the user to unlock something. So
`keyring.json` names the base URLs that have a key, never a key. A process that does not find its
URL there does not import the library.

The file is written before the key is stored, and after it is removed. A cut in between leaves a
URL without a key, and `read` says what to do; it never leaves a key that nobody knows of.
"""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Protocol, cast

from memory_mcp.disk import Disk
from memory_mcp.domain.secret import Secret
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later

KEY_CHARS_MAX: Final = 1_024
"""The Windows keyring holds no more than 1,280 characters."""

KEY: Final = compile_later(rf"[!-~]{{1,{KEY_CHARS_MAX}}}")
"""What a header can carry. httpx repeats anything else in its error message."""

MARKER_FILE: Final = "keyring.json"

KeyOrigin = Literal["environment", "keyring", "none"]

_SERVICE: Final = "memory-mcp"
_INSTEAD: Final = "or set SUPERMEMORY_API_KEY instead"


@frozen
class KeySource:
    """Where the cloud's key comes from, and how to get it.

    `read` may wait for the user to unlock the keyring, so call it in a thread. It raises
    `StoreUnavailableError`, and returns None only if the origin is none.
    """

    origin: KeyOrigin
    read: Callable[[], Secret | None]


class SystemKeyring:
    """The keys in the keyring of this login; `home` has the file that names their URLs.

    What the keyring or the disk refuses raises `StoreUnavailableError`. Every method but `knows`
    may wait for the user to unlock the keyring.
    """

    def __init__(self, home: Path, disk: Disk) -> None:
        self._marker = home / MARKER_FILE
        self._disk = disk

    def knows(self, base_url: str) -> bool:
        """Whether a key was stored. Reads only the file; one that cannot be read names none."""
        return base_url in self._load_urls()

    def store(self, base_url: str, key: Secret) -> str:
        """Store the key in place of an older one; return the keyring's name."""
        with _open_keyring() as backend:  # before the first change: it may not be there at all
            name = backend.name
        before = self._load_urls()
        self._save_urls(before | {base_url})
        try:
            _store_key(base_url, key.get_secret_value(), name)
        except StoreUnavailableError:
            self._save_urls(before)
            raise
        return name

    def read(self, base_url: str) -> Secret:
        """The key that was stored."""
        with _open_keyring() as backend:
            stored = backend.get_password(_SERVICE, base_url)
        if stored is None or not KEY.fullmatch(stored):
            raise StoreUnavailableError(
                f"The keyring holds no usable key for {base_url} any more. "
                f"Run `memory-mcp cloud login` again, {_INSTEAD}."
            )
        return Secret(stored)

    def remove(self, base_url: str) -> bool:
        """Remove the key, even if the file is lost; return whether there was one."""
        urls = self._load_urls()
        try:
            with _open_keyring() as backend:
                stored = backend.get_password(_SERVICE, base_url) is not None
                if stored:
                    backend.delete_password(_SERVICE, base_url)
        except _NoKeyringError:
            if base_url in urls:
                raise
            return False
        if base_url in urls:
            self._save_urls(urls - {base_url})
        return stored

    def _load_urls(self) -> frozenset[str]:
        try:
            fields: Any = json.loads(self._marker.read_bytes())
            return frozenset(map(str, fields["base_urls"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return frozenset()

    def _save_urls(self, urls: frozenset[str]) -> None:
        if urls:
            fields = {"base_urls": sorted(urls)}
            self._disk.write(self._marker, (json.dumps(fields, indent=1) + "\n").encode())
        else:
            self._disk.remove(self._marker)


class _Backend(Protocol):
    """What we use of the library's `KeyringBackend`, which is not fully typed."""

    name: str

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


class _NoKeyringError(StoreUnavailableError):
    """There is nothing that could hold a key."""


def _store_key(base_url: str, key: str, name: str) -> None:
    with _open_keyring() as backend:
        backend.set_password(_SERVICE, base_url, key)
        stored = backend.get_password(_SERVICE, base_url)
    if stored != key:  # some keyrings do nothing
        raise StoreUnavailableError(
            f"The keyring ({name}) did not keep the key. Choose another one in the settings of "
            f"the library keyring, {_INSTEAD}."
        )


@contextmanager
def _open_keyring() -> Generator[_Backend]:
    """The system's keyring. Its own error messages are not repeated: they might hold the key."""
    try:
        import keyring  # noqa: PLC0415  # see the module's docstring
        from keyring import errors  # noqa: PLC0415
    except ImportError as error:
        raise _NoKeyringError(
            "The system's keyring needs a library that is not installed: "
            f"pip install 'backtrack-memory[keyring]', {_INSTEAD}."
        ) from error
    try:
        yield cast("_Backend", keyring.get_keyring())
    except errors.NoKeyringError:
        raise _NoKeyringError(
            "This system has no keyring that can be used here. Set SUPERMEMORY_API_KEY instead."
        ) from None
    except errors.KeyringLocked:
        raise StoreUnavailableError(
            f"The system's keyring is locked. Unlock it and try again, {_INSTEAD}."
        ) from None
    except Exception as error:  # noqa: BLE001  # a keyring may raise anything
        raise StoreUnavailableError(
            f"The system's keyring refused ({type(error).__name__}). Mend that, {_INSTEAD}."
        ) from None
