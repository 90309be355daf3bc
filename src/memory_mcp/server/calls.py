"""Run calls: bind the caller, bound the time, turn errors into text that a model can use.

An error that a better request or the user's choice would have avoided, wrong arguments included, is
an ordinary answer of a tool, in the form of that tool: clients add the whole schema to an error.
Any other expected failure is a `ToolError`. The SDK shows a model nothing else: a bug stays in the
log. Unknown arguments, which the SDK would drop in silence, are refused.

Every call has a deadline around the use case itself, not around a question to the user.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial, wraps
from hashlib import sha256
from typing import Any, Final, Literal, ParamSpec, TypeVar, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError, create_model
from pydantic_core import to_json

from memory_mcp import sessions
from memory_mcp.deadlines import run_with_deadline
from memory_mcp.domain.input_form import InputForm, describe_errors
from memory_mcp.domain.limits import READ_CALL_SECONDS_MAX, WRITE_CALL_SECONDS_MAX
from memory_mcp.domain.record import drop_empty
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import ConflictError, InvalidRequestError, MemoryMcpError, describe_unknown
from memory_mcp.text.drafts import check_branch

P = ParamSpec("P")
T = TypeVar("T")
AnswerForm = Literal["data", "prose"]
"""What a tool answers: fields, or text alone."""

_LOG: Final = logging.getLogger("memory_mcp.server")
_CONVERSATION_DIGITS: Final = 32
"""As many as those of a random UUID."""


def bind_caller(ctx: Context[Workspace]) -> Workspace:
    """The workspace, as the calling client sees it.

    Over HTTP the address may name a branch (`/mcp?branch=NAME`): a request of the stateless
    revision belongs to no conversation that could be put on one.

    Raises:
        InvalidRequestError: what the address names cannot be a branch.
    """
    workspace = ctx.request_context.lifespan_context
    query: Mapping[str, str] = getattr(ctx.request_context.request, "query_params", {})
    conversation = _find_conversation(ctx, query)
    named = query.get("branch", "")
    begun_on = check_branch(named) if named else workspace.conversations.begun_on
    branch = workspace.conversations.branch_of(conversation) or begun_on
    params = ctx.session.client_params
    client = "cli" if ctx.headers is None else "unknown"  # the former is the user, who is here
    if params:
        client = f"{params.client_info.name}/{params.client_info.version}"
    caller = replace(workspace.caller, branch=branch, client=client, conversation=conversation)
    return replace(workspace, caller=caller)


async def follow_rewinds(ctx: Context[Workspace]) -> None:
    """Take out of sight what turns wrote that the user has taken back, before anything is read."""
    if ctx.request_context.lifespan_context.conversations.prompts.watched and ctx.headers is None:
        await sessions.follow_conversation(bind_caller(ctx))


def _find_conversation(ctx: Context[Workspace], query: Mapping[str, str]) -> str | None:
    """The name of the conversation that a request belongs to.

    Over stdio there is one, without a name. Over HTTP it is a hash of the session id: whoever knows
    the id itself may speak in the session. A request of the stateless revision belongs to none.
    """
    if ctx.headers is None:
        return ""
    session = ctx.headers.get("mcp-session-id") or query.get("session_id")  # the latter over SSE
    return sha256(session.encode()).hexdigest()[:_CONVERSATION_DIGITS] if session else None


def with_deadline(
    function: Callable[P, Awaitable[T]], name: str, *, writes: bool = False
) -> Callable[P, Awaitable[T]]:
    """The function, with the deadline that it has as (a part of) a call."""

    @wraps(function)
    async def bounded(*args: P.args, **kwargs: P.kwargs) -> T:
        seconds = WRITE_CALL_SECONDS_MAX if writes else READ_CALL_SECONDS_MAX
        return await run_with_deadline(
            seconds, partial(function, *args, **kwargs), name=name, writes=writes
        )

    return bounded


@asynccontextmanager
async def explain_errors(uri: str = "") -> AsyncGenerator[None]:
    """Send errors of a call that is no tool to the client as sentences; a bug stays in the log."""
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
        message = "This is a bug of memory-mcp; what happened is in its log. Go on without it."
        raise MCPError(INTERNAL_ERROR, message, data) from error


class MemoryTool(Tool):
    """A tool whose expected failures reach the model as sentences."""

    answer_form: AnswerForm = "data"

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: FBT001, FBT002  # the SDK's signature
    ) -> Any:
        """Run, and answer with a sentence where the call could have been a better one."""
        arguments = {name: value for name, value in arguments.items() if value is not None}
        workspace = cast("Workspace", context.request_context.lifespan_context)
        await follow_rewinds(context)
        try:
            if unknown := self._describe_unknown(arguments):
                answer = self._answer_error(unknown)
            else:
                answer = await super().run(arguments, context, convert_result)
        except UnexpectedToolError as error:
            match error.__cause__:
                case InvalidRequestError() | ConflictError() as refusal:
                    answer = self._answer_error(str(refusal))
                case MemoryMcpError() as failure:
                    raise ToolError(str(failure)) from error
                case _:
                    raise
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            answer = self._answer_error(f"{self.name}: {describe_errors(error.__cause__)}")
        told = workspace.git.take_notes() if workspace.git else []
        return _add_note(answer, (*workspace.policy.warnings, *told))

    def _describe_unknown(self, arguments: Mapping[str, Any]) -> str:
        """The first argument that the tool does not have, and those that it has; '' if none."""
        known = self.fn_metadata.arg_model.model_fields
        unknown = next((name for name in arguments if name not in known), None)
        if unknown is None:
            return ""
        return describe_unknown(f"{self.name} has no argument", unknown, known)

    def _answer_error(self, why: str) -> CallToolResult:
        if self.answer_form == "prose":
            return answer_text(why)
        return answer_fields({"success": False, "message": why})


def make_tool(
    function: Callable[..., Any],
    annotations: ToolAnnotations,
    answer_form: AnswerForm = "data",
    meta: Mapping[str, Any] | None = None,
) -> MemoryTool:
    """The tool of a function, with the smallest schema that says the same, and its deadline."""
    tool = cast(
        "MemoryTool",
        MemoryTool.from_function(function, annotations=annotations, structured_output=False),
    )
    # within the model: the SDK also takes an object that came as JSON in a text
    model = tool.fn_metadata.arg_model
    without_nulls = create_model(model.__name__, __base__=(model, InputForm))
    tool.fn_metadata.arg_model = cast("type[ArgModelBase]", without_nulls)
    tool.description = " ".join((function.__doc__ or "").split())
    tool.parameters = _shrink_schema(tool.parameters, tool.parameters.get("$defs", {}))
    tool.parameters["additionalProperties"] = False
    tool.answer_form = answer_form
    tool.meta = dict(meta) if meta else None
    tool.fn = with_deadline(function, tool.name, writes=not annotations.read_only_hint)
    return tool


def answer_fields(fields: Mapping[str, Any]) -> CallToolResult:
    """Data for a client: the same fields as structure and as compact JSON text, no nulls."""
    said = {"success": fields.get("success", True), **drop_empty(dict(fields))}
    if "results" in fields:  # an empty list of results is an answer
        said["results"] = fields["results"]
    text = to_json(said).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=said)


def answer_text(text: str) -> CallToolResult:
    """Text for a model to read."""
    return CallToolResult(content=[TextContent(type="text", text=text)])


def _add_note(answer: object, warnings: Sequence[str]) -> object:
    """The answer, with a note of what is wrong with the settings, if there is anything."""
    if not warnings or not isinstance(answer, CallToolResult):  # a question to the user, for one
        return answer
    note = " ".join(warnings)
    if answer.structured_content is not None:
        return answer_fields({**answer.structured_content, "note": note})
    text = "".join(each.text for each in answer.content if isinstance(each, TextContent))
    return answer if text.startswith("{") else answer_text(f"{text}\n\nNote: {note}")


_Schema = dict[str, Any]


def _shrink_schema(schema: _Schema, definitions: Mapping[str, Any]) -> _Schema:
    """Without titles, empty defaults, null alternatives and references: shorter, more portable."""
    if reference := schema.get("$ref"):
        target: _Schema = dict(definitions[reference.rsplit("/", 1)[-1]])
        target.pop("description", None)  # it is for the reader of the code; the field has its own
        own = {"description": schema["description"]} if "description" in schema else {}
        return _shrink_schema(target, definitions) | own
    slim: _Schema = {}
    for name, value in schema.items():
        match name, value:
            case ("$defs", _) | ("title", str()) | ("default", None | "" | [] | False):
                pass
            case "anyOf", [*options]:
                slim |= _shrink_options(cast("list[_Schema]", options), definitions)
            case "properties", {**fields}:
                inner = cast("dict[str, _Schema]", fields)
                slim[name] = {
                    key: _shrink_schema(field, definitions) for key, field in inner.items()
                }
            case _, {**inner}:
                slim[name] = _shrink_schema(cast("_Schema", inner), definitions)
            case _:
                slim[name] = value
    return slim


def _shrink_options(options: list[_Schema], definitions: Mapping[str, Any]) -> _Schema:
    real = [
        _shrink_schema(option, definitions) for option in options if option.get("type") != "null"
    ]
    return real[0] if len(real) == 1 else {"anyOf": real}
