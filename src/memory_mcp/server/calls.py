"""Run a tool call: check arguments, bound its time, turn errors into text a model can use.

An error that a better request or the user's choice would have avoided is an ordinary answer, in the
form of its tool: clients add the whole schema to an error. Any other expected failure is a
`ToolError`, and so are arguments that do not fit the schema. The SDK shows a model nothing else: a
bug stays in the log. Unknown arguments, which the SDK would drop in silence, are refused.

Every call has a deadline around the tool itself, not around a question to the user.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial, wraps
from typing import Any, Final, Literal, ParamSpec, TypeVar, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError, create_model
from pydantic_core import to_json

from memory_mcp.deadlines import run_with_deadline
from memory_mcp.domain.json_input import InputForm
from memory_mcp.domain.limits import READ_CALL_SECONDS_MAX, WRITE_CALL_SECONDS_MAX
from memory_mcp.domain.record import drop_empty
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import ConflictError, InvalidRequestError, MemoryMcpError

P = ParamSpec("P")
T = TypeVar("T")
Form = Literal["data", "prose"]
"""What a tool answers: fields, or text alone."""


class AnsweringTool(Tool):
    """A tool whose anticipated failures reach the model as sentences.

    `says`: whether it answers in data or in prose.
    """

    says: Form = "data"

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: FBT001, FBT002  # the SDK's signature
    ) -> Any:
        """Run, and say what went wrong in our words."""
        arguments = {name: given for name, given in arguments.items() if given is not None}
        known = list(self.fn_metadata.arg_model.model_fields)
        for name in arguments:
            if name not in known:
                guess = get_close_matches(name, known, n=1)
                hint = f" Did you mean {guess[0]!r}?" if guess else ""
                raise ToolError(
                    f"{self.name} has no argument {name!r}.{hint} Known: {', '.join(known)}."
                )
        warnings = cast("Workspace", context.request_context.lifespan_context).policy.warnings
        try:
            return _add_note(await super().run(arguments, context, convert_result), warnings)
        except UnexpectedToolError as error:
            match error.__cause__:
                case InvalidRequestError() | ConflictError() as refusal:
                    return _add_note(self._refused(str(refusal)), warnings)
                case MemoryMcpError() as failure:
                    raise ToolError(str(failure)) from error
                case _:
                    raise
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            complaint = _describe_errors(self.name, error.__cause__)
            if all(e["type"] in _UNKNOWN_VALUES for e in error.__cause__.errors()):
                return _add_note(self._refused(complaint), warnings)
            raise ToolError(complaint) from error.__cause__

    def _refused(self, why: str) -> CallToolResult:
        return answer({"success": False, "error": why}) if self.says == "data" else prose(why)


def make_tool(
    function: Callable[..., Any], annotations: ToolAnnotations, says: Form = "data"
) -> AnsweringTool:
    """The tool of a function, with the smallest schema that says the same, and its deadline."""
    tool = cast(
        "AnsweringTool",
        AnsweringTool.from_function(function, annotations=annotations, structured_output=False),
    )
    # within the model: the SDK also takes an object that came as JSON in a text
    plain = tool.fn_metadata.arg_model
    made = create_model(plain.__name__, __base__=(plain, InputForm))
    tool.fn_metadata.arg_model = cast("type[ArgModelBase]", made)
    tool.description = " ".join((function.__doc__ or "").split())
    tool.parameters = _shrink_schema(tool.parameters, tool.parameters.get("$defs", {}))
    tool.parameters["additionalProperties"] = False
    tool.says = says
    tool.fn = with_deadline(function, tool.name, writes=not annotations.read_only_hint)
    return tool


def with_deadline(
    function: Callable[P, Awaitable[T]], name: str, *, writes: bool = False
) -> Callable[P, Awaitable[T]]:
    """The function, with the deadline that it has as (a part of) a call."""
    seconds = WRITE_CALL_SECONDS_MAX if writes else READ_CALL_SECONDS_MAX

    @wraps(function)
    async def bounded(*args: P.args, **kwargs: P.kwargs) -> T:
        return await run_with_deadline(
            seconds, partial(function, *args, **kwargs), name=name, writes=writes
        )

    return bounded


def answer(fields: Mapping[str, Any]) -> CallToolResult:
    """Data for a client: the same fields as structure and as compact JSON text, no nulls."""
    said = {"success": fields.get("success", True), **drop_empty(dict(fields))}
    if "results" in fields:  # an empty list of results is an answer
        said["results"] = fields["results"]
    text = to_json(said).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=said)


def prose(text: str) -> CallToolResult:
    """Text for a model to read."""
    return CallToolResult(content=[TextContent(type="text", text=text)])


def _add_note(said: object, warnings: Sequence[str]) -> object:
    """The answer, with a note of what is wrong with the settings, if there is anything."""
    if not warnings or not isinstance(said, CallToolResult):  # a question to the user, for one
        return said
    note = " ".join(warnings)
    if said.structured_content is not None:
        return answer({**said.structured_content, "note": note})
    text = "".join(each.text for each in said.content if isinstance(each, TextContent))
    return said if text.startswith("{") else prose(f"{text}\n\nNote: {note}")


def _describe_errors(tool: str, error: ValidationError) -> str:
    wrong = error.errors(include_url=False)
    return f"{tool}: " + "; ".join(
        f"{'.'.join(map(str, e['loc']))} {_WRONG.get(e['type'], e['msg'])}"
        + ("" if e["type"] == "missing" else f" (got {_short(e['input'])})")
        for e in wrong[:3]
    )


_TIME: Final = "must be a time, such as 2026-01-31 or 2026-01-31T14:30:00Z"
_WRONG: Final = {
    "datetime_from_date_parsing": _TIME,
    "datetime_parsing": _TIME,
    "datetime_object_invalid": _TIME,
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "sequence_str": "must be a list",
    "is_instance_of": "must be a list",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "extra_forbidden": "is no name that is known here",
    "missing": "is missing",
}
"""What is wrong, in our words; anything else in those of the validator."""
_UNKNOWN_VALUES: Final = (
    "literal_error",
    *(kind for kind, said in _WRONG.items() if said == _TIME),
)
"""A text, as was asked for, but one that means nothing: an answer names those that do."""


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}…"  # noqa: PLR2004  # one line of a log


_Schema = dict[str, Any]


def _shrink_schema(schema: _Schema, definitions: Mapping[str, Any]) -> _Schema:
    """Without titles, empty defaults, null alternatives and references: shorter, more portable."""
    if reference := schema.get("$ref"):
        said = {name: schema[name] for name in ("description",) if name in schema}
        found: _Schema = dict(definitions[reference.rsplit("/", 1)[-1]])
        found.pop("description", None)  # for whoever reads the code: the field says what it is
        return _shrink_schema(found, definitions) | said
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
