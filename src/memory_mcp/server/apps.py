"""The page inside a client that shows MCP Apps; other clients see nothing of it.

A client that says it shows apps finds `_meta.ui.resourceUri` on the tools whose answers the page
shows, and reads the document from there. The page asks for what it shows by reading resources that
no list has, and does what it does by calling the tools.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from mcp.server.apps import APP_MIME_TYPE, client_supports_apps
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import ListToolsResult
from pydantic_core import to_json

from memory_mcp.engine.workspace import Workspace

TIMELINE: Final = "ui://memory/timeline"
_READS: Final = "memory://page/"

LINK: Final[Mapping[str, Any]] = {"ui": {"resourceUri": TIMELINE}}
"""What links a tool to the page."""

_JSON: Final = "application/json"

Request = ServerRequestContext[Workspace, Any]


async def hide_from_others(ctx: Request, call_next: CallNext) -> HandlerResult:
    """Middleware: a client that shows no apps is told of none."""
    result = await call_next(ctx)
    if ctx.method != "tools/list" or client_supports_apps(ctx):
        return result
    match result:
        case ListToolsResult(tools=tools):
            plain = [tool.model_copy(update={"meta": None}) for tool in tools]
            return result.model_copy(update={"tools": plain})
        case {"tools": [*tools]}:
            fields = [
                {name: value for name, value in tool.items() if name != "_meta"} for tool in tools
            ]
            return {**result, "tools": fields}
        case _:
            return result


def find_app_type(uri: str) -> str | None:
    """The type of what the page is or reads; None if it is neither."""
    if uri == TIMELINE:
        return APP_MIME_TYPE
    return _JSON if uri.startswith(_READS) else None


async def read_app_resource(workspace: Workspace, uri: str) -> str:
    """The page, or what it reads, whose name and arguments stand in the address.

    Raises:
        InvalidRequestError: the page has no such read.
    """
    # most sessions never show it
    from memory_mcp.server.page import build_app_document, read_page  # noqa: PLC0415

    if uri == TIMELINE:
        return build_app_document()
    asked = urlsplit(uri.removeprefix(_READS))
    return to_json(await read_page(workspace, asked.path, dict(parse_qsl(asked.query)))).decode()
