"""Tokens of an external issuer (OAuth 2.1): JWTs, checked with the keys that it publishes.

This server is a resource server: it hands out no token and asks nobody for a password. The claims
say what may be seen:

    sub                 the user, who is `<sub>@<host of the issuer>` here
    memory_team         the team, if there is one
    memory_projects     names of projects
    scope or scp        with `memory:write` it may write, else it reads
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast
from urllib.parse import urlsplit

import jwt
from pydantic import ValidationError

from memory_mcp.errors import InvalidRequestError
from memory_mcp.server.tokens import Identity, Project

_LOG: Final = logging.getLogger("memory_mcp")

FetchJson = Callable[[str], Awaitable[Any]]

_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384",
                      "ES512", "EdDSA")  # fmt: skip
"""Of public keys alone: with a shared secret, whoever checks a token could make one."""

_TOKEN_CHARS_MAX: Final = 16_384
_DOCUMENT_BYTES_MAX: Final = 1_000_000
_FETCH_SECONDS_MAX: Final = 5.0

_REFRESH_SECONDS_MIN: Final = 30.0
"""Between two looks at the issuer's keys, however many unknown ones are named."""

_REFRESH_SECONDS_MAX: Final = 3_600.0
"""A key that the issuer withdrew counts for no longer."""

_WRITES: Final = "memory:write"
SCOPES: Final = ("memory:read", _WRITES)


class Issuer:
    """Whose token was sent, by the keys of one issuer."""

    def __init__(self, url: str, audience: str, fetch: FetchJson | None = None) -> None:
        self.url = url
        self._audience = audience
        self._fetch = fetch or fetch_json
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: float | None = None
        self._fetching = asyncio.Lock()

    async def find(self, sent: str) -> Identity | None:
        """Whose token was sent, if it holds. An issuer that is away lets nobody new in."""
        if len(sent) > _TOKEN_CHARS_MAX:
            return None
        try:
            header = jwt.get_unverified_header(sent)
            key = await self._find_key(header)
            if key is None or key.algorithm_name not in _ALGORITHMS:
                return None
            claims = jwt.decode(
                sent,
                key,
                algorithms=[key.algorithm_name],
                audience=self._audience,
                issuer=self.url,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            return _read_claims(claims, self.url)
        except (jwt.PyJWTError, ValidationError, InvalidRequestError, ValueError, TypeError):
            return None  # which of its parts was wrong is nobody's business

    async def _find_key(self, header: Mapping[str, Any]) -> jwt.PyJWK | None:
        named = header.get("kid")
        kid = named if isinstance(named, str) else ""
        async with self._fetching:
            age = self._age()
            wanted = kid not in self._keys
            if age > _REFRESH_SECONDS_MAX or (wanted and age > _REFRESH_SECONDS_MIN):
                await self._refresh()
        if not kid and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    def _age(self) -> float:
        if self._fetched_at is None:
            return float("inf")
        return asyncio.get_running_loop().time() - self._fetched_at

    async def _refresh(self) -> None:
        self._fetched_at = asyncio.get_running_loop().time()  # a failure waits as well
        try:
            async with asyncio.timeout(_FETCH_SECONDS_MAX):
                found = await self._fetch(await self._find_key_address())
            keys = jwt.PyJWKSet.from_dict(found).keys
            self._keys = {key.key_id or "": key for key in keys}
        except (OSError, TimeoutError, jwt.PyJWTError, KeyError, ValueError, TypeError) as error:
            _LOG.warning("The keys of the issuer could not be read: %s.", type(error).__name__)

    async def _find_key_address(self) -> str:
        """Where the keys are, by either of the two documents that an issuer may publish."""
        parts = urlsplit(self.url)
        base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        for address in (
            f"{base}{path}/.well-known/openid-configuration",
            f"{base}/.well-known/oauth-authorization-server{path}",
        ):
            try:
                document = cast("dict[str, Any]", await self._fetch(address))
            except (OSError, ValueError):
                continue
            if document["issuer"] != self.url:
                raise ValueError("another issuer's document")
            keys = str(document["jwks_uri"])
            if urlsplit(keys).scheme != parts.scheme:
                raise ValueError("keys that anybody on the way could replace")
            return keys
        raise OSError("no document")


def _read_claims(claims: Mapping[str, Any], issuer: str) -> Identity:
    """What the claims of a checked token let its bearer see."""
    user = f"{claims['sub']}@{urlsplit(issuer).hostname}"
    names = claims.get("memory_projects") or ()
    if not isinstance(names, list | tuple):
        raise TypeError("memory_projects is no list")
    scopes = claims.get("scope") or claims.get("scp") or ""
    given = scopes.split() if isinstance(scopes, str) else scopes
    return Identity(
        credential=f"issuer:{user}",
        user=user,
        team=claims.get("memory_team") or None,
        projects=tuple(Project(name=name) for name in cast("list[str]", names)),
        read_only=_WRITES not in given,
        expires_at=datetime.fromtimestamp(int(claims["exp"]), UTC),
    )


async def fetch_json(address: str) -> Any:
    """A small document: no redirect is followed.

    Raises:
        OSError: it cannot be had.
        ValueError: it is too large, or no JSON.
    """
    import httpx  # noqa: PLC0415  # only where there is an issuer

    try:
        async with (
            httpx.AsyncClient(timeout=_FETCH_SECONDS_MAX) as client,
            client.stream("GET", address) as response,
        ):
            if response.status_code != 200:  # noqa: PLR2004  # anything else is no document
                raise OSError(f"status {response.status_code}")
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > _DOCUMENT_BYTES_MAX:
                    raise ValueError("too large")
    except httpx.HTTPError as error:
        raise OSError(type(error).__name__) from error
    return json.loads(body)
