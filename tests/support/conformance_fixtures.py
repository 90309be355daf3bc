"""What the protocol's conformance suite wants a server to have, mounted on ours for tests alone.

Names, texts and schemas are those that the suite compares with.
"""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    MissingRequiredClientCapabilityErrorData,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    SamplingMessage,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

from memory_mcp.engine.workspace import Workspace

Server = MCPServer[Workspace]
Request = Context[Workspace]

_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8"
    "z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
_SILENCE = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0"
).decode()


def mount_fixtures(server: Server) -> None:
    """Add the tools, resources and prompts of the suite to a server of ours."""
    for tool in (*_CONTENT, *_ASKING, *_ROUNDS):
        server.add_tool(tool, structured_output=False)
    _mount_schema_tool(server)
    low = server._lowlevel_server  # pyright: ignore[reportPrivateUsage]
    low.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)
    prompts = low.get_request_handler("prompts/get")
    resources = low.get_request_handler("resources/read")
    assert prompts
    assert resources

    async def get_prompt(ctx: Any, params: GetPromptRequestParams) -> Any:
        made = _make_prompt(ctx, params)
        return made or await prompts.handler(ctx, params)

    async def read_resource(ctx: Any, params: ReadResourceRequestParams) -> Any:
        made = _make_resource(params.uri)
        return made or await resources.handler(ctx, params)

    low.add_request_handler("prompts/get", GetPromptRequestParams, get_prompt)
    low.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)


# Tools that answer at once.


def test_simple_text() -> str:
    """Text."""
    return "This is a simple text response for testing."


def test_image_content() -> list[ImageContent]:
    """An image."""
    return [ImageContent(type="image", data=_PIXEL, mime_type="image/png")]


def test_audio_content() -> list[AudioContent]:
    """A sound."""
    return [AudioContent(type="audio", data=_SILENCE, mime_type="audio/wav")]


def test_embedded_resource() -> list[EmbeddedResource]:
    """A resource."""
    return [
        _embed("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ]


def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """One of each."""
    return [
        TextContent(type="text", text="Multiple content types test:"),
        ImageContent(type="image", data=_PIXEL, mime_type="image/png"),
        _embed("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ]


def test_error_handling() -> str:
    """An error."""
    raise ToolError("This tool intentionally returns an error for testing")


async def test_tool_with_logging(ctx: Request) -> str:
    """Three lines of a log."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(line)  # pyright: ignore[reportDeprecated]
    return "done"


async def test_tool_with_progress(ctx: Request) -> str:
    """Three steps."""
    for step in (0, 50, 100):
        await ctx.report_progress(step, 100, f"Completed step {step} of 100")
    return "done"


async def test_reconnection(ctx: Request) -> str:
    """A stream that is closed in the middle of its call."""
    await ctx.close_sse_stream()
    return "Reconnection test completed successfully."


def test_headers(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
) -> str:
    """An argument that a header repeats."""
    return region


def _embed(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(
        type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    )


_CONTENT: tuple[Callable[..., Any], ...] = (
    test_simple_text, test_image_content, test_audio_content, test_embedded_resource,
    test_multiple_content_types, test_error_handling, test_tool_with_logging,
    test_tool_with_progress, test_reconnection, test_headers,
)  # fmt: skip


# Tools that ask the client of 2025 in the middle of a call.


class _Person(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class _Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def _titled(options: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in options.items()]


class _Enums(BaseModel):
    untitledSingle: str = Field(json_schema_extra={"enum": ["option1", "option2", "option3"]})  # noqa: N815
    titledSingle: str = Field(  # noqa: N815
        json_schema_extra={"oneOf": _titled({"value1": "First Option", "value2": "Second Option"})}  # pyright: ignore[reportArgumentType]
    )
    legacyEnum: str = Field(  # noqa: N815
        json_schema_extra={"enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]}
    )
    untitledMulti: list[str] = Field(  # noqa: N815
        json_schema_extra={"items": {"type": "string", "enum": ["option1", "option2", "option3"]}}
    )
    titledMulti: list[str] = Field(  # noqa: N815
        json_schema_extra={"items": {"anyOf": _titled({"value1": "First", "value2": "Second"})}}  # pyright: ignore[reportArgumentType]
    )


async def _ask(ctx: Request, message: str, form: type[BaseModel], lead: str) -> str:
    answer = await ctx.elicit(message, form)
    content = answer.data.model_dump_json() if answer.action == "accept" else "{}"
    return f"{lead}: action={answer.action}, content={content}"


async def test_elicitation(message: str, ctx: Request) -> str:
    """A question."""
    return await _ask(ctx, message, _Person, "User response")


async def test_elicitation_sep1034_defaults(ctx: Request) -> str:
    """A question whose fields are filled in."""
    return await _ask(ctx, "Check these", _Defaults, "Elicitation completed")


async def test_elicitation_sep1330_enums(ctx: Request) -> str:
    """A question with choices of every form."""
    return await _ask(ctx, "Choose", _Enums, "Elicitation completed")


async def test_sampling(prompt: str, ctx: Request) -> str:
    """A question to the client's model."""
    asked = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    said = await ctx.session.create_message([asked], max_tokens=100)  # pyright: ignore[reportDeprecated]
    return f"LLM response: {getattr(said.content, 'text', '')}"


_ASKING: tuple[Callable[..., Any], ...] = (
    test_elicitation, test_elicitation_sep1034_defaults, test_elicitation_sep1330_enums,
    test_sampling,
)  # fmt: skip


# Tools of 2026 that answer with what they need.


def _question(message: str, field: str, kind: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _sample(text: str, tokens: int) -> CreateMessageRequest:
    asked = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=[asked], max_tokens=tokens)
    )


def _need(state: str = "", **requests: Any) -> InputRequiredResult:
    return InputRequiredResult(input_requests=requests or None, request_state=state or None)


def _given(ctx: Request, *names: str) -> list[Any] | None:
    """The answers of these names, if all are there."""
    answers = ctx.input_responses or {}
    return [answers[name] for name in names] if all(name in answers for name in names) else None


async def test_input_required_result_elicitation(ctx: Request) -> str | InputRequiredResult:
    """One question."""
    if (answers := _given(ctx, "user_name")) is None:
        return _need(user_name=_question("What is your name?", "name"))
    said: dict[str, Any] = answers[0].content or {}
    return f"Hello, {said.get('name')}!"


async def test_input_required_result_sampling(ctx: Request) -> str | InputRequiredResult:
    """One question to the model."""
    if (answers := _given(ctx, "capital_question")) is None:
        return _need(capital_question=_sample("What is the capital of France?", 100))
    return str(getattr(answers[0].content, "text", answers[0].content))


async def test_input_required_result_list_roots(ctx: Request) -> str | InputRequiredResult:
    """The client's roots."""
    if (answers := _given(ctx, "client_roots")) is None:
        return _need(client_roots=ListRootsRequest())
    return " ".join(f"{root.uri} {root.name}" for root in answers[0].roots)


async def test_input_required_result_request_state(ctx: Request) -> str | InputRequiredResult:
    """A question, and a state that comes back."""
    if _given(ctx, "confirm") is None or ctx.request_state != "confirming":
        return _need("confirming", confirm=_question("Please confirm", "ok", "boolean"))
    return "state-ok"


async def test_input_required_result_multiple_inputs(ctx: Request) -> str | InputRequiredResult:
    """Three questions at once."""
    if _given(ctx, "user_name", "greeting", "client_roots") is None:
        return _need(
            "several",
            user_name=_question("What is your name?", "name"),
            greeting=_sample("Generate a greeting", 50),
            client_roots=ListRootsRequest(),
        )
    return "All inputs received."


async def test_input_required_result_multi_round(ctx: Request) -> str | InputRequiredResult:
    """Two questions, one after the other."""
    if ctx.request_state == "two" and _given(ctx, "step2"):
        return "Both steps are done."
    if ctx.request_state == "one" and _given(ctx, "step1"):
        return _need("two", step2=_question("Step 2: What is your favorite color?", "color"))
    return _need("one", step1=_question("Step 1: What is your name?", "name"))


async def test_input_required_result_tampered_state(ctx: Request) -> str | InputRequiredResult:
    """A state that nobody may change."""
    if _given(ctx, "confirm") is None:
        return _need("sealed", confirm=_question("Please confirm", "ok", "boolean"))
    return f"The state is {ctx.request_state}."


async def test_input_required_result_capabilities(ctx: Request) -> str | InputRequiredResult:
    """Only what the client can answer."""
    can = ctx.client_capabilities
    wanted: dict[str, Any] = {}
    if can and can.sampling is not None:
        wanted["sample"] = _sample("Say hello", 10)
    if can and can.elicitation is not None:
        wanted["ask"] = _question("What is your name?", "name")
    return _need(**wanted) if wanted and not ctx.input_responses else "Nothing to ask."


async def test_missing_capability(ctx: Request) -> str:
    """What only a client that samples may call."""
    if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        data = MissingRequiredClientCapabilityErrorData.model_validate(needed)
        raise MCPError(-32021, "Sampling is needed", data.model_dump(by_alias=True, mode="json"))
    return "done"


_ROUNDS: tuple[Callable[..., Any], ...] = (
    test_input_required_result_elicitation, test_input_required_result_sampling,
    test_input_required_result_list_roots, test_input_required_result_request_state,
    test_input_required_result_multiple_inputs, test_input_required_result_multi_round,
    test_input_required_result_tampered_state, test_input_required_result_capabilities,
    test_missing_capability,
)  # fmt: skip


def _mount_schema_tool(server: Server) -> None:
    """A tool whose schema uses what JSON Schema 2020-12 has."""

    def json_schema_2020_12_tool(name: str = "") -> str:
        """A tool with features of JSON Schema 2020-12."""
        return name

    server.add_tool(json_schema_2020_12_tool, structured_output=False)
    text = {"type": "string"}
    address = {"$anchor": "addressDef", "type": "object",
               "properties": {"street": text, "city": text}}  # fmt: skip
    tool = server._tool_manager.get_tool("json_schema_2020_12_tool")  # pyright: ignore[reportPrivateUsage]
    assert tool
    tool.parameters = {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "$defs": {"address": address},
        "properties": {"name": text, "address": {"$ref": "#/$defs/address"},
                       "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                       "phone": text, "email": text},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]}, "else": {"required": ["email"]},
        "additionalProperties": False,
    }  # fmt: skip


# Resources, prompts and the rest.


async def _set_level(_ctx: Any, _params: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()


def _make_resource(uri: str) -> ReadResourceResult | None:
    text, mime_type = "", "text/plain"
    match uri.removeprefix("test://").split("/"):
        case ["static-text"]:
            text = "This is the content of the static text resource."
        case ["static-binary"]:
            blob = BlobResourceContents(uri=uri, mime_type="image/png", blob=_PIXEL)
            return ReadResourceResult(contents=[blob])
        case ["template", found, "data"]:
            mime_type = "application/json"
            text = json.dumps({"id": found, "templateTest": True, "data": f"Data for ID: {found}"})
        case _:
            return None
    return ReadResourceResult(
        contents=[TextResourceContents(uri=uri, mime_type=mime_type, text=text)]
    )


def _make_prompt(
    ctx: Any, params: GetPromptRequestParams
) -> GetPromptResult | InputRequiredResult | None:
    given = params.arguments or {}
    content: Any
    match params.name:
        case "test_simple_prompt":
            content = [TextContent(type="text", text="This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            said = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
            content = [TextContent(type="text", text=said)]
        case "test_prompt_with_embedded_resource":
            uri = given.get("resourceUri", "")
            text = TextContent(type="text", text="Please process the embedded resource above.")
            content = [_embed(uri, "text/plain", "Embedded resource content for testing."), text]
        case "test_prompt_with_image":
            text = TextContent(type="text", text="Please analyze the image above.")
            content = [ImageContent(type="image", data=_PIXEL, mime_type="image/png"), text]
        case "test_input_required_result_prompt":
            if not (params.input_responses or {}).get("user_context"):
                question = "What context should the prompt use?"
                return _need(user_context=_question(question, "context"))
            content = [TextContent(type="text", text="The context is known.")]
        case _:
            return None
    del ctx
    return GetPromptResult(messages=[PromptMessage(role="user", content=each) for each in content])
