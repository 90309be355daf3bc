"""Who may enter the page: the browser that was given the token, from the page itself, and nobody.

The address holds a token that counts once; the browser gets a cookie for it. Every request must
come to this very address and port. What is read or done must come from the page itself: another
page cannot send the header without asking, and is refused when it asks.
"""

import hmac
import secrets
from typing import Final

from memory_mcp.server.http.asgi import Headers
from memory_mcp.server.http.gate import Names, refuse_foreign_request

HEADER: Final = b"x-memory-page"
"""Sent by the page's own scripts alone: for a page of another origin the browser asks first."""

HOST: Final = "127.0.0.1"

_SITES: Final = (b"same-origin", b"none")
"""Where a request may come from, by the browser's word: the page, or the user's own hand."""


class PageAccess:
    """The token of one page, which counts once, and the cookie that it is exchanged for."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(24)
        self._cookie = secrets.token_urlsafe(32)
        self._used = False
        self._names = Names(HOST)

    @property
    def origin(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def address(self) -> str:
        """What opens the page, once."""
        return f"{self.origin}/?token={self.token}"

    @property
    def cookie_name(self) -> str:
        """A browser keeps cookies by host alone: two pages on one machine must not share one."""
        return f"memory-page-{self.port}"

    def exchange(self, token: str) -> str | None:
        """The cookie to set for the token; None if it is wrong or was used."""
        if self._used or not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        self._used = True
        return f"{self.cookie_name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"

    def knows(self, cookie: str) -> bool:
        """Whether this cookie is the one that was given."""
        return self._used and hmac.compare_digest(cookie.encode(), self._cookie.encode())

    def refuse(self, headers: Headers, *, scripted: bool, writes: bool) -> tuple[int, str] | None:
        """The status and the reason, if the request is not for this page or not from it."""
        if refused := refuse_foreign_request(headers, self._names):
            return refused
        found: dict[bytes, bytes] = {name.lower(): value.strip() for name, value in headers}
        own = self.origin.encode()
        origin = found.get(b"origin", b"" if writes else own)
        by_page = not scripted or found.get(HEADER) == b"1"
        if b"http://" + found.get(b"host", b"").lower() != own:
            return 421, "Invalid Host header"
        if origin.lower() != own:
            return 403, "Invalid Origin header"
        if not by_page or found.get(b"sec-fetch-site", b"none") not in _SITES:
            return 403, "Only the page itself may ask"
        return None
