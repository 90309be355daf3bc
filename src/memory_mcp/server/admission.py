"""Whether a server may be reached at all: who may enter is settled before its port opens."""

import errno
import socket
from datetime import UTC, datetime
from ipaddress import ip_address

from memory_mcp.config.settings import Settings, require_home
from memory_mcp.domain.hosts import is_loopback
from memory_mcp.errors import InvalidRequestError
from memory_mcp.server.http.authentication import Authenticator
from memory_mcp.server.http.issuer import Issuer
from memory_mcp.server.tokens import TokenFile, open_tokens


def find_authenticator(settings: Settings, host: str, path: str) -> Authenticator | None:
    """Who may enter; None if the programs of this machine may, without a token.

    Tokens are asked for as soon as there was ever one, an issuer is set, or the server can be
    reached from elsewhere.

    Raises:
        InvalidRequestError: the server could be reached from elsewhere and nobody could enter, or
            anybody.
    """
    require_home(settings)  # whose tokens would open another memory
    http = settings.http
    for refused in settings.refused:
        if refused.name.startswith("MEMORY_HTTP_"):  # what it meant to close must not stand open
            raise InvalidRequestError(refused.why)
    tokens = open_tokens(settings)
    stored = tokens.list()
    near = is_loopback(host)
    if near and not (stored or http.issuer or http.url):
        return None
    if not http.issuer and not any(each.holds(datetime.now(UTC)) for each in stored):
        raise InvalidRequestError(_explain_refusal(host, tokens if stored else None, near=near))
    if not http.url and (http.issuer or _is_any(host)):
        raise InvalidRequestError(
            f"It cannot be told by which address clients reach host {host!r}. Set MEMORY_HTTP_URL, "
            f"for example https://memory.example.com{path}."
        )
    issuer = Issuer(http.issuer, http.audience or http.url) if http.issuer else None
    return Authenticator(tokens, issuer)


def _explain_refusal(host: str, used: TokenFile | None, *, near: bool) -> str:
    """Why nobody could enter, and every way that leads on; `used` has tokens that hold no more."""
    if near and used:
        return (
            "this server is refused: it asked for tokens until now, and none holds any more. Run "
            "`memory-mcp token add NAME`; or, if every program of this machine may enter without "
            f"one again, move {used.path} away."
        )
    alone = "take MEMORY_HTTP_URL away" if near else "take --host 127.0.0.1"
    return (
        f"{'MEMORY_HTTP_URL' if near else f'host {host!r}'} is refused: it would be open to "
        "whoever reaches the port, and no token lets anybody in. Run `memory-mcp token add NAME`, "
        f"or set MEMORY_HTTP_ISSUER; or, to serve this machine alone, {alone}."
    )


def refuse_taken_port(host: str, port: int) -> None:
    """Refuse with a sentence; the web server would exit with a status of its own."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.getaddrinfo(host or None, port, family)
        socket.create_server((host, port), family=family).close()
    except (socket.gaierror, UnicodeError) as error:
        raise InvalidRequestError(
            f"Cannot serve at host {host!r}: no address is known by that name. Name one of this "
            "machine's with --host (default 127.0.0.1, this machine only)."
        ) from error
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise InvalidRequestError(
                f"Cannot serve at host {host!r}: it is no address of this machine. Name one that "
                "is with --host (default 127.0.0.1, this machine only)."
            ) from error
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            return  # the web server knows better
        raise InvalidRequestError(
            f"Cannot serve on port {port} of {host}: {error.strerror}. End the program that holds "
            "it, or choose another port with --port (0: any free one)."
        ) from error


def _is_any(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return host == ""
