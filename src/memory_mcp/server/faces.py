"""What a server shows beside its tools: resources, prompts, completion, subscriptions.

They are registered as handlers of the protocol's own methods, below the SDK's decorators: a static
resource would not be told who is asking, the list of resources and a completion neither, and what
goes wrong would not reach the model in words. This is the only module that reaches there.
"""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.mcpserver import Context
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)

from memory_mcp.app.rooms import Rooms
from memory_mcp.errors import InvalidRequestError, MemoryMcpError
from memory_mcp.server.asks import rooms_of
from memory_mcp.server.completions import completion
from memory_mcp.server.notifications import Telling, connection_of
from memory_mcp.server.prompts import PROMPTS, listed_prompts, prompt_text
from memory_mcp.server.resources import listed, mime_type_of, read, templates
from memory_mcp.server.speak import timely

_LOG: Final = logging.getLogger("memory_mcp.server")

Request = ServerRequestContext[Rooms, Any]
_Told = dict[str, dict[str, Any]]


def show_faces(server: MCPServer[Rooms], telling: Telling) -> None:
    """Serve resources, prompts and completions, and tell clients what changes."""
    low = server._lowlevel_server  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # see above
    low.add_request_handler("resources/list", PaginatedRequestParams, _list_resources)
    low.add_request_handler("resources/templates/list", PaginatedRequestParams, _list_templates)
    low.add_request_handler("resources/read", ReadResourceRequestParams, _read)
    low.add_request_handler("prompts/list", PaginatedRequestParams, _list_prompts)
    low.add_request_handler("prompts/get", GetPromptRequestParams, _get_prompt)
    low.add_request_handler("completion/complete", CompleteRequestParams, _complete)
    # of 2025 only: a later client listens instead, which the SDK serves from `telling.bus`
    subscribe, unsubscribe = partial(_subscribe, telling), partial(_unsubscribe, telling)
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
    as_it_is = low.create_initialization_options

    def options(
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: _Told | None = None,
        extensions: _Told | None = None,
    ) -> InitializationOptions:
        """Tell a client of 2025 that the list of resources changes: else it is told never."""
        changing = notification_options or NotificationOptions(resources_changed=True)
        return as_it_is(changing, experimental_capabilities, extensions)

    low.create_initialization_options = options


async def _list_resources(ctx: Request, _: PaginatedRequestParams) -> ListResourcesResult:
    async with _said_plainly():
        resources = await timely(listed, "resources/list")(_asking(ctx))
    return ListResourcesResult(resources=resources)


async def _list_templates(_: Request, __: PaginatedRequestParams) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=list(templates()))


async def _read(ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
    async with _said_plainly(params.uri):
        text = await timely(read, params.uri)(_asking(ctx), params.uri)
    content = TextResourceContents(uri=params.uri, text=text, mime_type=mime_type_of(params.uri))
    return ReadResourceResult(contents=[content])


async def _list_prompts(_: Request, __: PaginatedRequestParams) -> ListPromptsResult:
    return ListPromptsResult(prompts=list(listed_prompts()))


async def _get_prompt(ctx: Request, params: GetPromptRequestParams) -> GetPromptResult:
    given = params.arguments or {}
    async with _said_plainly():
        bounded = timely(prompt_text, params.name)
        text = await bounded(_asking(ctx), params.name, given)
    said = TextContent(type="text", text=text)
    return GetPromptResult(
        description=next(each.description for each in PROMPTS if each.name == params.name),
        messages=[PromptMessage(role="user", content=said)],
    )


async def _complete(ctx: Request, params: CompleteRequestParams) -> CompleteResult:
    argument = params.argument
    async with _said_plainly():
        bounded = timely(completion, "completion/complete")
        found = await bounded(_asking(ctx), params.ref, argument.name, argument.value)
    return CompleteResult(completion=found)


async def _subscribe(telling: Telling, ctx: Request, params: SubscribeRequestParams) -> EmptyResult:
    async with _said_plainly(params.uri):
        await telling.watch_of(ctx.lifespan_context).subscribe(connection_of(ctx), params.uri)
    return EmptyResult()


async def _unsubscribe(
    telling: Telling, ctx: Request, params: UnsubscribeRequestParams
) -> EmptyResult:
    telling.watch_of(ctx.lifespan_context).unsubscribe(connection_of(ctx), params.uri)
    return EmptyResult()


def _asking(ctx: Request) -> Rooms:
    """The rooms, as the client that asks sees them."""
    return rooms_of(Context[Rooms](request_context=ctx))


@asynccontextmanager
async def _said_plainly(uri: str = "") -> AsyncGenerator[None]:
    """What goes wrong within reaches the client as a sentence; a bug stays in the log."""
    data = {"uri": uri} if uri else None
    try:
        yield
    except InvalidRequestError as error:
        raise MCPError(INVALID_PARAMS, str(error), data) from error
    except MemoryMcpError as error:
        raise MCPError(INTERNAL_ERROR, str(error), data) from error
    except MCPError:
        raise
    except Exception as error:
        _LOG.exception("A bug of memory-mcp")
        said = "This is a bug of memory-mcp; what happened is in its log. Go on without it."
        raise MCPError(INTERNAL_ERROR, said, data) from error
