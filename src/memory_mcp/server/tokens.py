"""Tokens that let clients in over HTTP: shown once, stored as digests, revoked at once.

    <home>/tokens.json    {"tokens": [{"id", "name", "identity", "digest", …}]}, this user's alone

A token is `mcpt_<id>_<secret>`. The secret has 256 random bits, so that one round of SHA-256 is as
good as many. A revoked or expired token stays in the file: while there is one, the server lets
nobody in without a token.

The command line uses this without the SDK.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from pydantic_core import ValidationError

from memory_mcp.config.settings import Settings, find_home_folder
from memory_mcp.disk import Disk, LockHeldError, hold_lock, unavailable
from memory_mcp.domain.checked import FrozenModel, check_with, constrain
from memory_mcp.domain.fields import Name
from memory_mcp.domain.record import Timestamp
from memory_mcp.errors import InvalidRequestError, StoreDamagedError, StoreUnavailableError
from memory_mcp.patterns import compile_later

TOKENS_FILE: Final = "tokens.json"

TOKENS_MAX: Final = 10_000
"""The file is read whole when it has changed."""

PROJECTS_OF_ONE_MAX: Final = 100

_TOKEN: Final = compile_later(r"mcpt_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_PROJECT: Final = compile_later(r"[a-z0-9](?:[a-z0-9_-]|\.(?!\.)){0,62}", re.ASCII)
_ID_BYTES: Final = 6
_SECRET_BYTES: Final = 32
_LOCK_SECONDS_MAX: Final = 10.0

_NO_DIGEST: Final = "0" * 64
"""Compared with where there is no such token, so that the time does not tell."""


def check_project_name(name: str) -> str:
    """The name of a project.

    Raises:
        InvalidRequestError: it could lead out of its folder, or not be written in an address.
    """
    if not _PROJECT.fullmatch(name):
        raise InvalidRequestError(
            f"{name[:80]!r} is no name of a project. Use small letters, digits, `-`, `_` and "
            "single dots, at most 63 of them; or name a folder that exists, with a slash in it."
        )
    return name


class Project(FrozenModel):
    """A project that an identity may open: its name, and its folder if it is a checkout here."""

    name: Annotated[str, check_with(check_project_name)]
    folder: str = ""


class Identity(FrozenModel):
    """Who is asking, and all that may be seen.

    `credential` tells apart what was given to enter. A project belongs to the team, if there is
    one, else to the user. `figures`: it reads `/metrics` and nothing else.
    """

    credential: str = ""
    user: Name
    team: Name | None = None
    projects: Annotated[tuple[Project, ...], constrain(max_length=PROJECTS_OF_ONE_MAX)] = ()
    read_only: bool = False
    figures: bool = False
    expires_at: Timestamp | None = None

    def expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now


class StoredToken(FrozenModel):
    """A token as it is stored: whose it is, and the digest of its secret."""

    id: str
    name: Name
    identity: Identity
    created_at: Timestamp
    digest: str
    revoked_at: Timestamp | None = None

    def holds(self, now: datetime) -> bool:
        """Whether it lets its client in."""
        return self.revoked_at is None and not self.identity.expired(now)


class _StoredTokens(FrozenModel):
    schema_version: int = 1
    tokens: tuple[StoredToken, ...] = ()


_Tokens = dict[str, StoredToken]


class TokenFile:
    """The tokens of a server. What the file system refuses raises a `StoreError`."""

    def __init__(self, home: Path, disk: Disk) -> None:
        self.path = home / TOKENS_FILE
        self._disk = disk
        self._cached: tuple[tuple[int, int, int], _Tokens] | None = None

    def list(self) -> Sequence[StoredToken]:
        """Every token, the oldest first; revoked and expired ones too."""
        return [*self._load().values()]

    def add(self, name: str, identity: Identity, now: datetime) -> tuple[StoredToken, str]:
        """Add a token; it, and the only copy of what a client sends.

        Raises:
            InvalidRequestError: there is one of that name already, or too many.
        """
        token_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        owned = identity.model_copy(update={"credential": f"token:{token_id}"})
        token = StoredToken(
            id=token_id, name=name, identity=owned, created_at=now, digest=_digest(secret)
        )
        with self._changing() as tokens:
            if any(other.name == name and other.holds(now) for other in tokens.values()):
                raise InvalidRequestError(
                    f"There is a token {name!r} already. Choose another name, or revoke that one "
                    f"first: `memory-mcp token revoke {name}`."
                )
            if len(tokens) >= TOKENS_MAX:
                raise InvalidRequestError(f"There are {TOKENS_MAX:,} tokens, which is the most.")
            tokens[token_id] = token
        return token, f"mcpt_{token_id}_{secret}"

    def revoke(self, name: str, now: datetime) -> StoredToken:
        """Revoke a token by its name or id. Servers look at the file with each request.

        Raises:
            InvalidRequestError: there is none that still holds.
        """
        with self._changing() as tokens:
            for token in tokens.values():
                if name in (token.name, token.id) and token.revoked_at is None:
                    tokens[token.id] = token.model_copy(update={"revoked_at": now})
                    return tokens[token.id]
            known = ", ".join(t.name for t in tokens.values() if t.holds(now)) or "none"
            raise InvalidRequestError(f"There is no token {name!r}. Those that hold: {known}.")

    def find(self, sent: str, now: datetime) -> Identity | None:
        """Whose token was sent, if it holds."""
        found = _TOKEN.fullmatch(sent)
        token_id, secret = found.groups() if found else ("", "")
        token = self._load().get(token_id)
        same = hmac.compare_digest(_digest(secret), token.digest if token else _NO_DIGEST)
        return token.identity if token and same and token.holds(now) else None

    def holds(self, identity: Identity, now: datetime) -> bool:
        """Whether the token behind an identity still holds."""
        token = self._load().get(identity.credential.removeprefix("token:"))
        return token is not None and token.holds(now)

    @contextmanager
    def _changing(self) -> Generator[_Tokens]:
        """The tokens, under a lock between processes; stored at the end of the block."""
        self._disk.prepare(self.path.parent)
        lock = self.path.with_suffix(".lock")
        try:
            with hold_lock(lock, _LOCK_SECONDS_MAX):
                tokens = dict(self._load())
                yield tokens
                stored = _StoredTokens(tokens=tuple(tokens.values()))
                text = stored.model_dump_json(indent=1, exclude_defaults=True)
                self._disk.write(self.path, text.encode())
        except LockHeldError as error:
            raise StoreUnavailableError(
                f"{self.path} is being changed by another process. Try again."
            ) from error
        except OSError as error:  # of the lock's own file; what else fails says so itself
            raise unavailable(error, lock, "store", "MEMORY_HOME") from error

    def _load(self) -> _Tokens:
        try:
            found = self.path.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._cached is None or self._cached[0] != stamp:
                stored = _StoredTokens.model_validate_json(self.path.read_bytes())
                self._cached = stamp, {token.id: token for token in stored.tokens}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise unavailable(error, self.path, "read", "MEMORY_HOME") from error
        except (ValidationError, InvalidRequestError) as error:
            raise StoreDamagedError(
                f"{self.path} cannot be read as tokens, so nobody is let in. Restore it from a "
                "backup, or move it away and add tokens anew."
            ) from error
        return self._cached[1]


def open_tokens(settings: Settings) -> TokenFile:
    """The tokens of this user's servers."""
    home = find_home_folder(settings)
    disk = Disk()
    disk.private = (home,)
    return TokenFile(home, disk)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
