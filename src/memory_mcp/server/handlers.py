"""Serve resources, prompts, completions and subscriptions: the protocol's methods beside the tools.

They are registered as handlers below the SDK's decorators. Through the decorators a static
resource, the list of resources and a completion would not learn who asks, and errors would not
reach the model in words. This is the only module that uses the SDK's inner server.

A completion offers ids of what is visible here, the newest first. A memory is found by the
beginning of its id or by words of it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.mcpserver import Context
from mcp.server.models import InitializationOptions
from mcp_types import (
    CompleteRequestParams,
    CompleteResult,
    Completion,
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
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.head import load_head, load_view
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.server.apps import find_app_type, read_app_resource
from memory_mcp.server.calls import bind_caller, explain_errors, follow_rewinds, with_deadline
from memory_mcp.server.prompts import PROMPTS, list_prompts, render_prompt
from memory_mcp.server.resources import (
    CHECKPOINT,
    MEMORY,
    find_mime_type,
    list_resources,
    list_templates,
    read_resource,
)
from memory_mcp.server.subscriptions import Subscriptions
from memory_mcp.timeline.plans import START

_COMPARED_MAX: Final = 300
"""How many memories are compared with what was typed: a keystroke must not read a whole store."""

_COMPARED_CHARS_MAX: Final = 500
"""How much of each memory's text is compared."""


async def complete(
    workspace: Workspace,
    ref: PromptReference | ResourceTemplateReference,
    argument: str,
    typed: str,
) -> Completion:
    """The values that what was typed may stand for; the protocol allows a hundred."""
    typed = typed.strip()
    if refuse_reads(workspace):
        return _make_completion([])
    match ref, argument:
        case ResourceTemplateReference(uri=uri), "id" if uri == MEMORY:
            return await _complete_memory(workspace, typed)
        case ResourceTemplateReference(uri=uri), "id" if uri == CHECKPOINT:
            values = _list_checkpoint_ids((await load_head(workspace)).timeline, workspace)
        case PromptReference(name="review_backtrack"), "to":
            values = _list_backtrack_targets((await load_head(workspace)).timeline, workspace)
        case PromptReference(name="close_phase"), "phase":
            values = await _list_phases((await load_head(workspace)).timeline, workspace)
        case _:
            return _make_completion([])
    return _make_completion([each for each in values if typed.casefold() in each.casefold()])


async def _complete_memory(workspace: Workspace, typed: str) -> Completion:
    filters = Filters(kinds=MEMORY_KINDS)
    limit = _COMPARED_MAX if typed else COMPLETIONS_MAX + 1
    loaded = await load_newest(workspace, await load_view(workspace), filters, limit)
    words = typed.casefold().split()
    ids = [r.id for r in loaded.records if r.id.startswith(typed) or _has_words(r, words)]
    return _make_completion(ids, more=len(loaded.records) == limit)


def _has_words(record: Record, words: Sequence[str]) -> bool:
    text = f"{record.title} {record.content[:_COMPARED_CHARS_MAX]}".casefold()
    return all(word in text for word in words)


def _list_checkpoint_ids(timeline: Timeline, workspace: Workspace) -> Sequence[str]:
    """The checkpoints that can be read, the newest first."""
    branch = workspace.caller.branch
    return [c.id for c in [*timeline.valid(branch), *timeline.pending(branch)]][::-1]


def _list_backtrack_targets(timeline: Timeline, workspace: Workspace) -> list[str]:
    """Checkpoints and their phases, left lines, invalidated checkpoints, the start."""
    branch = workspace.caller.branch
    valid = timeline.valid(branch)[::-1]
    phases = [f"phase {c.phase}" for c in valid if c.phase is not None]
    lines = [line.id for line in timeline.left_lines() if line.branch == branch][::-1]
    invalidated = [c.id for c in timeline.invalidated(branch)][::-1]
    return list(dict.fromkeys([*(c.id for c in valid), *phases, *lines, *invalidated, START]))


async def _list_phases(timeline: Timeline, workspace: Workspace) -> list[str]:
    """The phase that is worked on, then the one after the last that was sealed."""
    valid = timeline.valid(workspace.caller.branch)
    here = (await place_checkpoints(workspace, valid)).select_here(valid)
    sealed = [c.phase for c in here if c.phase is not None]
    phases = [workspace.policy.phase, sealed[-1] + 1 if sealed else 1]
    return list(dict.fromkeys(str(phase) for phase in phases if phase is not None))


def _make_completion(values: Sequence[str], *, more: bool = False) -> Completion:
    """As many values as the protocol allows, and the total unless there may be `more`."""
    return Completion(
        values=list(values[:COMPLETIONS_MAX]),
        total=None if more else len(values),
        has_more=more or len(values) > COMPLETIONS_MAX,
    )


Request = ServerRequestContext[Workspace, Any]
P = ParamSpec("P")
T = TypeVar("T")


def add_handlers(server: MCPServer[Workspace], subscriptions: Subscriptions) -> None:
    """Serve resources, prompts and completions, and notify clients of changes."""
    low = server._lowlevel_server  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # see above
    low.add_request_handler("resources/list", PaginatedRequestParams, _list_resources)
    low.add_request_handler("resources/templates/list", PaginatedRequestParams, _list_templates)
    low.add_request_handler("resources/read", ReadResourceRequestParams, _read_resource)
    low.add_request_handler("prompts/list", PaginatedRequestParams, _list_prompts)
    low.add_request_handler("prompts/get", GetPromptRequestParams, _get_prompt)
    low.add_request_handler("completion/complete", CompleteRequestParams, _complete)
    # of 2025 only: a later client listens instead, which the SDK serves from `subscriptions.bus`
    low.add_request_handler(
        "resources/subscribe", SubscribeRequestParams, subscriptions.handle_subscribe
    )
    low.add_request_handler(
        "resources/unsubscribe", UnsubscribeRequestParams, subscriptions.handle_unsubscribe
    )
    # clients of 2025 learn from these options alone that the list of resources changes
    create_options = low.create_initialization_options

    def create_options_with_changes(
        notification_options: NotificationOptions | None = None, *rest: Any, **named: Any
    ) -> InitializationOptions:
        changing = notification_options or NotificationOptions(resources_changed=True)
        return create_options(changing, *rest, **named)

    low.create_initialization_options = create_options_with_changes


async def _list_resources(ctx: Request, _: PaginatedRequestParams) -> ListResourcesResult:
    async with explain_errors():
        resources = await _run_bounded(ctx, "resources/list", list_resources)
    return ListResourcesResult(resources=resources)


async def _list_templates(_: Request, __: PaginatedRequestParams) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=list_templates())


async def _read_resource(ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
    uri = params.uri
    async with explain_errors(uri):
        app_type = find_app_type(uri)
        read = read_app_resource if app_type else read_resource
        text = await _run_bounded(ctx, uri, read, uri)
    content = TextResourceContents(uri=uri, text=text, mime_type=app_type or find_mime_type(uri))
    return ReadResourceResult(contents=[content])


async def _list_prompts(_: Request, __: PaginatedRequestParams) -> ListPromptsResult:
    return ListPromptsResult(prompts=list_prompts())


async def _get_prompt(ctx: Request, params: GetPromptRequestParams) -> GetPromptResult:
    name, arguments = params.name, params.arguments or {}
    async with explain_errors():
        text = await _run_bounded(ctx, name, render_prompt, name, arguments)
    content = TextContent(type="text", text=text)
    return GetPromptResult(
        description=next(each.description for each in PROMPTS if each.name == name),
        messages=[PromptMessage(role="user", content=content)],
    )


async def _complete(ctx: Request, params: CompleteRequestParams) -> CompleteResult:
    name, typed = params.argument.name, params.argument.value
    async with explain_errors():
        completion = await _run_bounded(
            ctx, "completion/complete", complete, params.ref, name, typed
        )
    return CompleteResult(completion=completion)


async def _run_bounded(
    ctx: Request,
    name: str,
    read: Callable[Concatenate[Workspace, P], Awaitable[T]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Read from the workspace as the calling client sees it, within the deadline of a call."""
    context = Context[Workspace](request_context=ctx)
    await follow_rewinds(context)
    return await with_deadline(read, name)(bind_caller(context), *args, **kwargs)
