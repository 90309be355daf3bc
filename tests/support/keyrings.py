"""Keyrings as the library knows them: they hold keys in memory, or fail as real ones do."""

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError, PasswordSetError

__all__ = ["LockedKeyring", "MemoryKeyring", "RefusingKeyring"]


class MemoryKeyring(KeyringBackend):
    """Works. Never chosen by the library itself: only named or handed in."""

    priority = -1  # pyright: ignore[reportAssignmentType]  # how the library's own backends say it

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        try:
            del self.kept[service, username]
        except KeyError:
            raise PasswordDeleteError("No such password!") from None


class LockedKeyring(MemoryKeyring):
    """The user did not unlock it."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked(f"Failed to unlock the collection for {service} {username}!")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked(f"Failed to unlock the collection for {service} {username}!{password}")


class RefusingKeyring(MemoryKeyring):
    """Takes no new key, and repeats it while saying so."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise PasswordSetError(f"Cannot store {password!r} for {service} {username}")
