"""Who may enter: the identity behind a request, by its token alone.

A token comes in one `Authorization: Bearer` header: not in the address, a cookie or a second
header. All that is wrong gets the same answer.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Final

from memory_mcp.config.values import Network
from memory_mcp.patterns import compile_later
from memory_mcp.server.http.asgi import Scope, find_headers
from memory_mcp.server.http.issuer import Issuer
from memory_mcp.server.tokens import Identity, TokenFile

_BEARER: Final = compile_later(rb"bearer +([!-~]+)", re.IGNORECASE)


class Authenticator:
    """The tokens of this server, and the issuer that it believes."""

    def __init__(self, tokens: TokenFile, issuer: Issuer | None = None) -> None:
        self._tokens = tokens
        self._issuer = issuer

    @property
    def issuer(self) -> Issuer | None:
        """The issuer, if there is one."""
        return self._issuer

    async def identify(self, scope: Scope) -> Identity | None:
        """Whose request it is; None if its token lets nobody in.

        Raises:
            StoreError: the tokens cannot be read.
        """
        match find_headers(scope, b"authorization"):
            case [value] if found := _BEARER.fullmatch(value):
                sent = found[1].decode("ascii")
            case _:
                return None
        identity = self._tokens.find(sent, datetime.now(UTC))
        if identity is None and self._issuer:
            identity = await self._issuer.find(sent)
        return identity

    def holds(self, identity: Identity) -> bool:
        """Whether what an identity entered with still lets it in."""
        now = datetime.now(UTC)
        if identity.credential.startswith("token:"):
            return self._tokens.holds(identity, now)
        return not identity.expired(now)


def find_client(scope: Scope, proxies: Sequence[Network]) -> str:
    """The address of the client; what a proxy says of it counts only if that proxy was named."""
    client = scope.get("client")
    address = client[0] if client else ""
    if not is_among(address, proxies):
        return address
    passed = b",".join(find_headers(scope, b"x-forwarded-for")).decode("latin-1").split(",")
    for hop in reversed([each.strip() for each in passed]):
        if not _is_address(hop):
            break  # what stands before it was written by nobody who can be named
        address = hop
        if not is_among(hop, proxies):
            break
    return address


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_among(address: str, networks: Sequence[Network]) -> bool:
    """Whether it is an address of one of these networks."""
    return _is_address(address) and any(ip_address(address) in network for network in networks)
