"""Serve over HTTP: who may enter, and the server of each tenant.

A tenant who is not at this machine has no hooks, no nudges from a queue, no cloud and no rendered
files: those belong to the user here, and what they hold is not for whoever calls from elsewhere.
"""

import logging
import signal
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from memory_mcp.build import build_embedder
from memory_mcp.config.places import find_held_project
from memory_mcp.config.settings import Settings
from memory_mcp.domain.limits import DATABASE_CONNECTIONS_OF_TENANT_MAX
from memory_mcp.server.admission import find_authenticator, refuse_taken_port
from memory_mcp.server.http import Address, make_web_server
from memory_mcp.server.http.authentication import Authenticator
from memory_mcp.server.http.front import Front, Limits
from memory_mcp.server.http.gate import Names
from memory_mcp.server.http.tenants import MESSAGES, Tenant, TenantLimits, Tenants
from memory_mcp.server.logs import log_without_content
from memory_mcp.server.main import make_server
from memory_mcp.server.observation import Calls
from memory_mcp.server.tools import load_tools
from memory_mcp.shutdown import ENDING_SECONDS_MAX, end_on_signal, leave_at_once, leave_in_order

_LOG: Final = logging.getLogger("memory_mcp")

_UNCHECKED: Final = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""Turns off the SDK's own check, which is weaker than that of `Gate`."""


HttpTransport = Literal["sse", "streamable-http"]


def serve_over_http(
    settings: Settings, transport: HttpTransport, host: str, port: int, path: str
) -> None:
    """Serve until the process is asked to end.

    Raises:
        InvalidRequestError: who may enter is not settled, or the address is not to be had.
    """
    path = path or ("/sse" if transport == "sse" else "/mcp")
    authenticator = find_authenticator(settings, host, path)
    refuse_taken_port(host, port)
    log_without_content(settings.log_level, settings.http.log_format)
    for warning in settings.warnings:
        _LOG.warning("%s", warning)
    make_server(settings)  # what is wrong with the settings is said before the port opens
    end_on_signal(settings.http.drain_seconds + ENDING_SECONDS_MAX)
    signal.signal(signal.SIGINT, leave_at_once)  # both once connections are closed
    signal.signal(signal.SIGTERM, leave_in_order)
    front = build_front(settings, transport, host, path, authenticator)
    make_web_server(
        front,
        Address(host, port, path),
        log_level=settings.log_level,
        drain_seconds=settings.http.drain_seconds,
    ).run()


def build_front(
    settings: Settings,
    transport: HttpTransport,
    host: str,
    path: str,
    authenticator: Authenticator | None,
    *,
    limits: TenantLimits = TenantLimits(),  # noqa: B008  # frozen
) -> Front:
    """Everything that answers. Without an `authenticator` the process serves its own user."""
    by_stream = transport == "sse"
    calls = Calls(frozenset(tool.name for tool in load_tools(settings.toolsets)))
    embedder = build_embedder(settings) if authenticator else None

    async def close_shared() -> None:
        if embedder:
            await embedder.aclose()

    def build(tenant: Tenant) -> Starlette:
        own = settings_of(settings, tenant)
        server = make_server(own, calls, hosted=not tenant.alone, embedder=embedder)
        if by_stream:
            return server.sse_app(
                sse_path=path, message_path=MESSAGES, host=host, transport_security=_UNCHECKED
            )
        return server.streamable_http_app(
            streamable_http_path=path, host=host, transport_security=_UNCHECKED,
            max_sessions=limits.sessions,
        )  # fmt: skip

    return Front(
        Tenants(build, path, limits, by_stream=by_stream, close_shared=close_shared),
        calls,
        Names(host, settings.http.url, settings.http.pages),
        authenticator,
        Limits(per_minute=settings.http.per_minute, proxies=settings.http.proxies),
    )


def settings_of(settings: Settings, tenant: Tenant) -> Settings:
    """The settings of a tenant's workspace, and of no other."""
    if tenant.alone:
        return settings
    folder, name = _find_project(settings, tenant)
    return replace(
        settings,
        user=tenant.user,
        team=tenant.team or "",
        hosted=True,
        project_dir=folder,
        project_missing=folder is None,  # else the folder that the server runs in would count
        project_name=name,
        state_dir=None,
        memory_dir=None,
        branch="main",
        session="",
        meta=settings.meta or tenant.read_only,
        toolsets=tuple(each for each in settings.toolsets if each != "hooks"),
        provider="local" if settings.provider in ("auto", "supermemory") else settings.provider,
        postgres_connections=DATABASE_CONNECTIONS_OF_TENANT_MAX,
        nudge_queue="",
        untrusted=(),
        warnings=(),  # they are for whoever runs the server, whose log has them
        refused=(),
    )


def _find_project(settings: Settings, tenant: Tenant) -> tuple[Path | None, str]:
    project = tenant.project
    if project is None:
        return None, ""
    if project.folder:
        return Path(project.folder), ""
    owner = f"team-{tenant.team}" if tenant.team else f"user-{tenant.user}"
    return find_held_project(settings, owner, project.name), f"{owner}/{project.name}"
