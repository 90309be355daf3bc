"""The cloud's key in the system's keyring, one for each base URL.

The library `keyring` is optional, slow to import, and may ask the user to unlock something. So
`keyring.json` names the base URLs that have a key, never a key: a process that does not find its
URL there does not import the library at all.

The file is written before the key is stored, and after it is removed. A cut in between leaves a
URL without a key, and `read` says what to do; it never leaves a key that nobody knows of.
"""

import json
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, cast

from pydantic import SecretStr

from memory_mcp.disk import Disk
from memory_mcp.errors import StoreUnavailableError

KEY_CHARS_MAX: Final = 1_024
"""The Windows keyring holds no more than 1,280 characters."""

KEY: Final = re.compile(rf"[!-~]{{1,{KEY_CHARS_MAX}}}")
"""What a header can carry. A client that is given more repeats it in its error message."""

MARKER_FILE: Final = "keyring.json"

KeyOrigin = Literal["environment", "keyring", "none"]

_SERVICE: Final = "memory-mcp"
_INSTEAD: Final = "or set SUPERMEMORY_API_KEY instead"


@dataclass(frozen=True)
class KeySource:
    """Where the cloud's key comes from, and how to get it.

    `read` may take long (somebody may have to unlock the keyring) and raises
    `StoreUnavailableError`: call it in a thread. It returns None only where the origin is none.
    """

    origin: KeyOrigin
    read: Callable[[], SecretStr | None]


class SystemKeyring:
    """Keys of this login of the system; `home` is where the file that names their URLs is.

    What the keyring or the disk refuses raises `StoreUnavailableError`; every method but `knows`
    may wait for the user to unlock something.
    """

    def __init__(self, home: Path, disk: Disk) -> None:
        self._marker = home / MARKER_FILE
        self._disk = disk

    def knows(self, base_url: str) -> bool:
        """Whether a key was stored. Reads the file only; one that cannot be read names none."""
        return base_url in self._urls()

    def store(self, base_url: str, key: SecretStr) -> str:
        """Keep the key in place of an older one; the name of the keyring that has it now."""
        with _backend() as backend:  # before the first change: it may not be there at all
            name = backend.name
        before = self._urls()
        self._mark(before | {base_url})
        try:
            _keep(base_url, key.get_secret_value(), name)
        except StoreUnavailableError:
            self._mark(before)
            raise
        return name

    def read(self, base_url: str) -> SecretStr:
        """The key that was stored; from the keyring, so it may take long."""
        with _backend() as backend:
            kept = backend.get_password(_SERVICE, base_url)
        if kept is None or not KEY.fullmatch(kept):
            raise StoreUnavailableError(
                f"The keyring holds no usable key for {base_url} any more. "
                f"Run `memory-mcp login` again, {_INSTEAD}."
            )
        return SecretStr(kept)

    def remove(self, base_url: str) -> bool:
        """Leave no key; whether there was one. A lost file does not keep one from being removed."""
        urls = self._urls()
        try:
            with _backend() as backend:
                kept = backend.get_password(_SERVICE, base_url) is not None
                if kept:
                    backend.delete_password(_SERVICE, base_url)
        except _NoKeyringError:
            if base_url in urls:
                raise
            return False
        if base_url in urls:
            self._mark(urls - {base_url})
        return kept

    def _urls(self) -> frozenset[str]:
        try:
            fields: Any = json.loads(self._marker.read_bytes())
            return frozenset(map(str, fields["base_urls"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return frozenset()

    def _mark(self, urls: frozenset[str]) -> None:
        if urls:
            fields = {"base_urls": sorted(urls)}
            self._disk.write(self._marker, (json.dumps(fields, indent=1) + "\n").encode())
        else:
            self._disk.remove(self._marker)


class _Backend(Protocol):
    """What we use of the library's `KeyringBackend`, which has no whole types."""

    name: str

    def get_password(self, service: str, username: str) -> str | None: ...

    def set_password(self, service: str, username: str, password: str) -> None: ...

    def delete_password(self, service: str, username: str) -> None: ...


class _NoKeyringError(StoreUnavailableError):
    """There is nothing that could hold a key."""


def _keep(base_url: str, key: str, name: str) -> None:
    with _backend() as backend:
        backend.set_password(_SERVICE, base_url, key)
        kept = backend.get_password(_SERVICE, base_url)
    if kept != key:  # there is a keyring that does nothing
        raise StoreUnavailableError(
            f"The keyring ({name}) did not keep the key. Choose another one in the settings of "
            f"the library keyring, {_INSTEAD}."
        )


@contextmanager
def _backend() -> Generator[_Backend]:
    """The system's keyring. What it says itself is not repeated: that might hold the key."""
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
    except Exception as error:  # noqa: BLE001  # a keyring is anybody's code
        raise StoreUnavailableError(
            f"The system's keyring refused ({type(error).__name__}). Mend that, {_INSTEAD}."
        ) from None
