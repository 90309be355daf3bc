"""The one place that turns our errors, and wrong arguments, into what a model reads.

The SDK shows a model only what is raised as `ToolError`; anything else is a bug and stays in the
log. Unknown arguments, which the SDK would drop in silence, are refused with the known ones.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError
from pydantic_core import to_json

from memory_mcp.domain.record import without_empty
from memory_mcp.errors import MemoryMcpError

__all__ = ["SpeakingTool", "answer", "prose", "speaking"]


class SpeakingTool(Tool):
    """A tool whose anticipated failures reach the model as sentences."""

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: FBT001, FBT002  # the SDK's signature
    ) -> Any:
        """Run, and say what went wrong in our words."""
        known = list(self.fn_metadata.arg_model.model_fields)
        for name in arguments:
            if name not in known:
                guess = get_close_matches(name, known, n=1)
                hint = f" Did you mean {guess[0]!r}?" if guess else ""
                raise ToolError(
                    f"{self.name} has no argument {name!r}.{hint} Known: {', '.join(known)}."
                )
        # null says what leaving it out says, where that may be
        left_out = self._may_be_left_out()
        arguments = {n: v for n, v in arguments.items() if v is not None or n not in left_out}
        try:
            return await super().run(arguments, context, convert_result)
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, MemoryMcpError):
                raise ToolError(str(error.__cause__)) from error
            raise
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_complaint(self.name, error.__cause__)) from error.__cause__
            raise

    def _may_be_left_out(self) -> set[str]:
        fields = self.fn_metadata.arg_model.model_fields
        return {name for name, field in fields.items() if not field.is_required()}


def speaking(function: Callable[..., Any], annotations: ToolAnnotations) -> SpeakingTool:
    """The tool of a function, with the smallest schema that says the same."""
    tool = cast(
        "SpeakingTool",
        SpeakingTool.from_function(function, annotations=annotations, structured_output=False),
    )
    tool.description = " ".join((function.__doc__ or "").split())
    tool.parameters = _slim(tool.parameters, tool.parameters.get("$defs", {}))
    tool.parameters["additionalProperties"] = False
    return tool


def answer(fields: Mapping[str, Any]) -> CallToolResult:
    """Data for a client: the same fields as structure and as compact JSON text, no nulls."""
    said = {"success": fields.get("success", True), **without_empty(dict(fields))}
    if "results" in fields:  # an empty list of results is an answer
        said["results"] = fields["results"]
    text = to_json(said).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=said)


def prose(text: str) -> CallToolResult:
    """Text for a model to read."""
    return CallToolResult(content=[TextContent(type="text", text=text)])


def _complaint(tool: str, error: ValidationError) -> str:
    wrong = error.errors(include_url=False)
    return f"{tool}: " + "; ".join(
        f"{'.'.join(map(str, e['loc']))} {_WRONG.get(e['type'], e['msg'])}"
        + ("" if e["type"] == "missing" else f" (got {_short(e['input'])})")
        for e in wrong[:3]
    )


_WRONG: Final = {
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


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}…"  # noqa: PLR2004  # one line of a log


_Schema = dict[str, Any]


def _slim(schema: _Schema, definitions: Mapping[str, Any]) -> _Schema:
    """Without titles, empty defaults, null alternatives and references: shorter, more portable."""
    if reference := schema.get("$ref"):
        said = {name: schema[name] for name in ("description",) if name in schema}
        return _slim(definitions[reference.rsplit("/", 1)[-1]], definitions) | said
    slim: _Schema = {}
    for name, value in schema.items():
        match name, value:
            case ("$defs", _) | ("title", str()) | ("default", None | "" | []):
                pass
            case "anyOf", [*options]:
                slim |= _one_of(cast("list[_Schema]", options), definitions)
            case "properties", {**fields}:
                inner = cast("dict[str, _Schema]", fields)
                slim[name] = {key: _slim(field, definitions) for key, field in inner.items()}
            case _, {**inner}:
                slim[name] = _slim(cast("_Schema", inner), definitions)
            case _:
                slim[name] = value
    return slim


def _one_of(options: list[_Schema], definitions: Mapping[str, Any]) -> _Schema:
    real = [_slim(option, definitions) for option in options if option.get("type") != "null"]
    return real[0] if len(real) == 1 else {"anyOf": real}
