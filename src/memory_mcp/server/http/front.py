"""Behind the gate: who asks, how much at once, and which tenant answers.

A request passes in this order: Host and Origin (`Gate`), token, rate, body (`Gate`), project,
tenant. A token that is revoked meanwhile ends what it has open.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import AnyHttpUrl
from starlette.datastructures import QueryParams

from memory_mcp.config.values import Network
from memory_mcp.domain.limits import (
    HTTP_CONNECTIONS_OF_ONE_MAX,
    HTTP_FAILURES_PER_MINUTE_MAX,
    HTTP_RATE_PER_MINUTE_DEFAULT,
    HTTP_REQUESTS_OF_ONE_MAX,
    HTTP_REVOKED_SECONDS_MAX,
)
from memory_mcp.errors import StoreError
from memory_mcp.frozen import frozen
from memory_mcp.server.http.asgi import Message, Receive, Reply, Scope, Send, find_headers, reply
from memory_mcp.server.http.authentication import Authenticator, find_client
from memory_mcp.server.http.figures import Figures, render_figures
from memory_mcp.server.http.gate import Gate, Names
from memory_mcp.server.http.issuer import SCOPES
from memory_mcp.server.http.rates import Rates
from memory_mcp.server.http.tenants import ALONE, Tenant, Tenants, find_tenant
from memory_mcp.server.observation import Calls
from memory_mcp.server.tokens import Identity, Project

_LOG: Final = logging.getLogger("memory_mcp.http")

_PROJECT: Final = b"memory-project"
_METRICS: Final = "/metrics"
_METADATA: Final = "/.well-known/oauth-protected-resource"

_BURST_SHARE: Final = 0.25
"""So much of what may come in a minute may come at once."""

_NO_TENANT: Final = Reply(404, "Not found.")
_ONE_MEMORY: Final = Reply(403, "This server has one memory; no project can be chosen.")
_TWO_PROJECTS: Final = Reply(400, "The request names two projects. Name one.")


@frozen
class Limits:
    """What one identity, and one address, may do; whom the server believes about addresses."""

    per_minute: float = HTTP_RATE_PER_MINUTE_DEFAULT
    requests_of_one: int = HTTP_REQUESTS_OF_ONE_MAX
    requests_from_one: int = HTTP_CONNECTIONS_OF_ONE_MAX
    proxies: tuple[Network, ...] = ()


@dataclass(eq=False)
class _Request:
    """A request that is being answered. `cut` says that it was ended from here."""

    identity: Identity | None
    client: str = ""
    task: asyncio.Task[None] | None = None
    status: int = 0
    cut: bool = False


class Front:
    """What answers behind the gate. Without an `authenticator` the process serves its own user."""

    def __init__(
        self, tenants: Tenants, calls: Calls, names: Names,
        authenticator: Authenticator | None = None,
        limits: Limits = Limits(),  # noqa: B008  # frozen
    ) -> None:  # fmt: skip
        self.calls = calls
        self.gate = Gate(self, names, self._live)
        self._figures = Figures()
        self._names = names
        self._tenants = tenants
        self._authenticator = authenticator
        self._limits = limits
        self._rates = Rates(limits.per_minute, max(1, limits.per_minute * _BURST_SHARE))
        self._failures = Rates(HTTP_FAILURES_PER_MINUTE_MAX, HTTP_FAILURES_PER_MINUTE_MAX)
        self._requests: set[_Request] = set()

    @property
    def proxies(self) -> tuple[Network, ...]:
        """Who passes on the requests of others."""
        return self._limits.proxies

    async def admit(self, scope: Scope) -> Reply | None:
        """Note who asks; or the answer, before anything of the body is read."""
        found = await self._admit(scope)
        if found:
            self._figures.note(found.status)
        return found

    async def _admit(self, scope: Scope) -> Reply | None:
        client = find_client(scope, self._limits.proxies)
        from_there = sum(request.client == client for request in self._requests)
        if from_there >= self._limits.requests_from_one:
            return _slow_down("Too many requests at once from this address.", 5)
        if self._authenticator is None:
            return None if self._tenants.serves(scope["path"]) else _NO_TENANT
        if scope["path"].startswith(_METADATA) and self._authenticator.issuer:
            return _describe_resource(self._names.url, self._authenticator.issuer.url)
        match await self._identify(self._authenticator, scope):
            case Reply() as refused:
                return refused
            case identity:
                return self._limit(identity) or self._choose(identity, scope)

    async def _identify(self, authenticator: Authenticator, scope: Scope) -> Identity | Reply:
        """Who asks, or why that is not looked at or known."""
        try:
            identity = await authenticator.identify(scope)
        except StoreError as error:
            _LOG.error("%s", error)
            return Reply(503, "The server cannot look at its tokens. Its log says why.")
        if identity is None:  # a right token is let in, whoever else tries wrong ones from there
            client = find_client(scope, self._limits.proxies)
            if self._failures.take(client, asyncio.get_running_loop().time()):
                return _slow_down("Too many wrong tokens. Try again in a minute.", 60)
            return self._ask_for_token(scope)
        return identity

    def _limit(self, identity: Identity) -> Reply | None:
        if wait := self._rates.take(identity.user, asyncio.get_running_loop().time()):
            return _slow_down("Too many requests. Slow down.", int(wait) + 1)
        if self._count_open(identity.user) >= self._limits.requests_of_one:
            return _slow_down("Too many requests at once.", 5)
        return None

    def _choose(self, identity: Identity, scope: Scope) -> Reply | None:
        """Note who asks and which tenant answers; or why none does."""
        token = AccessToken(
            token="", client_id=identity.credential, scopes=[], subject=identity.user
        )
        scope["user"] = AuthenticatedUser(token)  # the SDK binds sessions and questions to it
        scope["memory_mcp.identity"] = identity
        if scope["path"] == _METRICS and identity.figures:
            text = render_figures(self._figures, self.calls, self._tenants, len(self._requests))
            return Reply(200, text)
        if identity.figures or not self._tenants.serves(scope["path"]):
            return _NO_TENANT
        if found := self._tenants.find_of_session(scope, identity):
            scope["memory_mcp.tenant"] = found
            return None
        match choose_project(identity, find_project_names(scope)):
            case Reply() as refused:
                return refused
            case project:
                scope["memory_mcp.tenant"] = find_tenant(identity, project)
                return None

    def _count_open(self, user: str) -> int:
        identities = [each.identity for each in self._requests]
        return sum(each is not None and each.user == user for each in identities)

    def _ask_for_token(self, scope: Scope) -> Reply:
        parts = ['realm="memory-mcp"']
        if find_headers(scope, b"authorization"):
            parts.append('error="invalid_token"')
        if self._authenticator and self._authenticator.issuer:
            where = build_resource_metadata_url(AnyHttpUrl(self._names.url))
            parts.append(f'resource_metadata="{where}"')
        challenge = f"Bearer {', '.join(parts)}".encode()
        reason = "A token is needed: send `Authorization: Bearer TOKEN`."
        return Reply(401, reason, ((b"www-authenticate", challenge),))

    async def answer(self, scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
        """Answer a request that was admitted; note how, and end it if it may not go on."""
        client = find_client(scope, self._limits.proxies)
        request = _Request(scope.get("memory_mcp.identity"), client)
        tenant: Tenant | None = scope.get("memory_mcp.tenant")
        began = asyncio.get_running_loop().time()

        async def send_and_note(message: Message) -> None:
            request.status = message.get("status", request.status)
            await send(message)

        work = self._answer(tenant, scope, receive, send_and_note, body)
        request.task = asyncio.create_task(work)
        self._requests.add(request)
        try:
            await request.task
        except asyncio.CancelledError:
            if not request.cut:
                raise
            await _end_cut(request, send)
        finally:
            self._requests.discard(request)
            self._figures.note(request.status)
            seconds = asyncio.get_running_loop().time() - began
            who = request.identity.credential if request.identity else "this machine"
            _LOG.info("%s %s for %s in %.0f ms", scope["method"], request.status, who,
                      seconds * 1000)  # fmt: skip

    async def _answer(
        self, tenant: Tenant | None, scope: Scope, receive: Receive, send: Send, body: bytes
    ) -> None:
        if tenant is None and find_project_names(scope):
            await reply(send, _ONE_MEMORY)
            return
        await self._tenants.answer(tenant or ALONE, scope, receive, send, body)

    async def end_all(self) -> None:
        """End every request that is still open."""
        await _cut([*self._requests])

    async def _live(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI's lifespan: what runs beside the requests, from the start to the end."""
        await receive()
        if self._authenticator is None:
            self._tenants.begin(ALONE)
        works = [asyncio.create_task(self._tenants.keep_swept())]
        if self._authenticator:
            works.append(asyncio.create_task(self._keep_checked(self._authenticator)))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for work in works:
            work.cancel()
        await asyncio.wait(works)
        await self._tenants.close_all()
        await send({"type": "lifespan.shutdown.complete"})

    async def _keep_checked(self, authenticator: Authenticator) -> None:
        """End what is open under a token that no longer holds, until it is cancelled."""
        while True:
            await asyncio.sleep(HTTP_REVOKED_SECONDS_MAX)
            by_credential: dict[str, list[_Request]] = {}
            for request in self._requests:
                if request.identity:
                    by_credential.setdefault(request.identity.credential, []).append(request)
            for requests in by_credential.values():
                identity = requests[0].identity
                if identity and not _holds(authenticator, identity):
                    await _cut(requests)


def _holds(authenticator: Authenticator, identity: Identity) -> bool:
    try:
        return authenticator.holds(identity)
    except StoreError as error:  # nobody new is let in meanwhile
        _LOG.error("%s", error)  # expected, and it says what to do
        return True


async def _cut(requests: list[_Request]) -> None:
    tasks = [request.task for request in requests if request.task]
    for request in requests:
        request.cut = True
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_CUT_SECONDS_MAX)


async def _end_cut(request: _Request, send: Send) -> None:
    """End the answer of a request that was cut, as if it were complete."""
    with suppress(OSError, RuntimeError):  # the connection may be gone
        if request.status:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await reply(send, Reply(503, "The server ends this request."))


def find_project_names(scope: Scope) -> frozenset[str]:
    """The projects that a request names, in its header or its address."""
    named = [value.decode("latin-1") for value in find_headers(scope, _PROJECT)]
    query = QueryParams(scope.get("query_string", b"")).getlist("project")
    return frozenset([*named, *query])


def choose_project(identity: Identity, names: frozenset[str]) -> Project | Reply | None:
    """The project that was named, of those that the identity has; else the first; or a refusal."""
    if not names:
        return next(iter(identity.projects), None)
    if len(names) > 1:
        return _TWO_PROJECTS
    for project in identity.projects:
        if project.name in names:
            return project
    own = ", ".join(project.name for project in identity.projects) or "none"
    return Reply(403, f"This token does not open that project. It opens: {own}.")


def _slow_down(reason: str, seconds: int) -> Reply:
    return Reply(429, reason, ((b"retry-after", b"%d" % seconds),))


def _describe_resource(url: str, issuer: str) -> Reply:
    """Where a client gets a token for this server (RFC 9728)."""
    described = ProtectedResourceMetadata(
        resource=AnyHttpUrl(url),
        authorization_servers=[AnyHttpUrl(issuer)],
        scopes_supported=list(SCOPES),
        bearer_methods_supported=["header"],
    )
    text = described.model_dump_json(exclude_none=True)
    return Reply(200, text, ((b"content-type", b"application/json"),))


_CUT_SECONDS_MAX: Final = 2.0
"""How long a request may take to end once it is cut."""
