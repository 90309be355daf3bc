"""Serve resources, prompts, completions and subscriptions: the protocol's methods beside the tools.

They are registered as handlers below the SDK's decorators. Through the decorators a static
resource, the list of resources and a completion would not learn who asks, and errors would not
reach the model in words. This is the only module that uses the SDK's inner server.

A completion offers ids of what is visible here, the newest first. A memory is found by the
beginning of its id or by words of it.
"""

import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
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
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplateReference,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)

from memory_mcp.domain.limits import COMPLETIONS_MAX
from memory_mcp.domain.record import MEMORY_KINDS, Record
from memory_mcp.domain.search import Filters
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.head import load_head, load_view
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError, MemoryMcpError
from memory_mcp.server.calls import with_deadline
from memory_mcp.server.elicitation import workspace_for
from memory_mcp.server.prompts import PROMPTS, list_prompts, prompt_text
from memory_mcp.server.resources import (
    CHECKPOINT,
    MEMORY,
    list_resources,
    list_templates,
    mime_type_of,
    read_resource,
)
from memory_mcp.server.subscriptions import Telling, connection_of
from memory_mcp.timeline.plans import START

_LOOKED_AT: Final = 300
"""Memories whose words are compared: a keystroke must not read a whole store."""

_WORDS_CHARS_MAX: Final = 500
"""Of a memory without a title so much is compared."""


async def completion(
    workspace: Workspace,
    ref: PromptReference | ResourceTemplateReference,
    argument: str,
    typed: str,
) -> Completion:
    """What may be meant, at most a hundred values."""
    typed = typed.strip()
    if refuse_reads(workspace):
        return Completion(values=[], total=0, has_more=False)
    match ref, argument:
        case ResourceTemplateReference(uri=uri), "id" if uri == MEMORY:
            return await _complete_memory(workspace, typed)
        case ResourceTemplateReference(uri=uri), "id" if uri == CHECKPOINT:
            found = _checkpoint_ids((await load_head(workspace)).timeline, workspace)
        case PromptReference(name="review_backtrack"), "to":
            found = _backtrack_targets((await load_head(workspace)).timeline, workspace)
        case PromptReference(name="close_phase"), "phase":
            found = _phases((await load_head(workspace)).timeline, workspace)
        case _:
            return Completion(values=[], total=0, has_more=False)
    return _as_completion([each for each in found if typed.casefold() in each.casefold()])


async def _complete_memory(workspace: Workspace, typed: str) -> Completion:
    filters = Filters(kinds=MEMORY_KINDS)
    looked_at = _LOOKED_AT if typed else COMPLETIONS_MAX + 1
    looked = await load_newest(workspace, await load_view(workspace), filters, looked_at)
    words = typed.casefold().split()
    found = [r.id for r in looked.records if r.id.startswith(typed) or _has_words(r, words)]
    return _as_completion(found, more=len(looked.records) == looked_at)


def _has_words(record: Record, words: Sequence[str]) -> bool:
    text = f"{record.title} {record.content[:_WORDS_CHARS_MAX]}".casefold()
    return all(word in text for word in words)


def _checkpoint_ids(timeline: Timeline, workspace: Workspace) -> Sequence[str]:
    """The checkpoints that can be read, the newest first."""
    branch = workspace.caller.branch
    return [c.id for c in [*timeline.valid(branch), *timeline.pending(branch)]][::-1]


def _backtrack_targets(timeline: Timeline, workspace: Workspace) -> list[str]:
    """Where a backtrack can lead: checkpoints and their phases, roads that were left, the start."""
    branch = workspace.caller.branch
    valid = timeline.valid(branch)[::-1]
    phases = [f"phase {c.phase}" for c in valid if c.phase is not None]
    lines = [line.id for line in timeline.left_lines() if line.branch == branch][::-1]
    lost = [c.id for c in timeline.invalidated(branch)][::-1]
    return _without_repeats([*(c.id for c in valid), *phases, *lines, *lost, START])


def _phases(timeline: Timeline, workspace: Workspace) -> list[str]:
    """The phase that is worked on, then the one after the last that was sealed."""
    sealed = [c.phase for c in timeline.valid(workspace.caller.branch) if c.phase is not None]
    known = [workspace.policy.phase, sealed[-1] + 1 if sealed else 1]
    return _without_repeats(str(phase) for phase in known if phase is not None)


def _without_repeats(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _as_completion(found: Sequence[str], *, more: bool = False) -> Completion:
    """No more than the protocol allows; the total is said where all were looked at."""
    return Completion(
        values=list(found[:COMPLETIONS_MAX]),
        total=None if more else len(found),
        has_more=more or len(found) > COMPLETIONS_MAX,
    )


_LOG: Final = logging.getLogger("memory_mcp.server")

Request = ServerRequestContext[Workspace, Any]
_Capabilities = dict[str, dict[str, Any]]


def add_handlers(server: MCPServer[Workspace], telling: Telling) -> None:
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
        experimental_capabilities: _Capabilities | None = None,
        extensions: _Capabilities | None = None,
    ) -> InitializationOptions:
        """Tell a client of 2025 that the list of resources changes: else it is told never."""
        changing = notification_options or NotificationOptions(resources_changed=True)
        return as_it_is(changing, experimental_capabilities, extensions)

    low.create_initialization_options = options


async def _list_resources(ctx: Request, _: PaginatedRequestParams) -> ListResourcesResult:
    async with _plain_errors():
        resources = await with_deadline(list_resources, "resources/list")(_workspace_of_caller(ctx))
    return ListResourcesResult(resources=resources)


async def _list_templates(_: Request, __: PaginatedRequestParams) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=list(list_templates()))


async def _read(ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
    async with _plain_errors(params.uri):
        text = await with_deadline(read_resource, params.uri)(_workspace_of_caller(ctx), params.uri)
    content = TextResourceContents(uri=params.uri, text=text, mime_type=mime_type_of(params.uri))
    return ReadResourceResult(contents=[content])


async def _list_prompts(_: Request, __: PaginatedRequestParams) -> ListPromptsResult:
    return ListPromptsResult(prompts=list(list_prompts()))


async def _get_prompt(ctx: Request, params: GetPromptRequestParams) -> GetPromptResult:
    given = params.arguments or {}
    async with _plain_errors():
        bounded = with_deadline(prompt_text, params.name)
        text = await bounded(_workspace_of_caller(ctx), params.name, given)
    said = TextContent(type="text", text=text)
    return GetPromptResult(
        description=next(each.description for each in PROMPTS if each.name == params.name),
        messages=[PromptMessage(role="user", content=said)],
    )


async def _complete(ctx: Request, params: CompleteRequestParams) -> CompleteResult:
    argument = params.argument
    async with _plain_errors():
        bounded = with_deadline(completion, "completion/complete")
        found = await bounded(_workspace_of_caller(ctx), params.ref, argument.name, argument.value)
    return CompleteResult(completion=found)


async def _subscribe(telling: Telling, ctx: Request, params: SubscribeRequestParams) -> EmptyResult:
    async with _plain_errors(params.uri):
        await telling.watch_of(ctx.lifespan_context).subscribe(connection_of(ctx), params.uri)
    return EmptyResult()


async def _unsubscribe(
    telling: Telling, ctx: Request, params: UnsubscribeRequestParams
) -> EmptyResult:
    telling.watch_of(ctx.lifespan_context).unsubscribe(connection_of(ctx), params.uri)
    return EmptyResult()


def _workspace_of_caller(ctx: Request) -> Workspace:
    """The workspace, as the client that asks sees it."""
    return workspace_for(Context[Workspace](request_context=ctx))


@asynccontextmanager
async def _plain_errors(uri: str = "") -> AsyncGenerator[None]:
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
