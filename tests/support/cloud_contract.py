"""The contract of the cloud service, checked on every request and every answer.

Knows the OpenAPI document beside it and nothing of the fake that it judges: a request or an answer
is held against the schemas as plain JSON. Validators are made once for each process.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final, Literal, NoReturn, cast
from urllib.parse import parse_qsl, unquote

import yaml
from jsonschema import Draft202012Validator, FormatChecker, exceptions
from paths import DATA

DOCUMENT: Final = DATA / "supermemory-openapi.yaml"
_METHODS: Final = ("get", "post", "put", "patch", "delete")
_INTEGER: Final = re.compile(r"-?[0-9]{1,20}")
_JSON: Final = "application/json"

Json = dict[str, Any]
_Check = Callable[[Any], list[str]]
"""The first thing that is wrong with a value, and where; empty if nothing is."""


@dataclass(frozen=True)
class Violation:
    """One way in which a request or an answer is not what the contract says."""

    of: Literal["request", "answer"]
    method: str
    path: str
    what: str


@dataclass(frozen=True)
class Call:
    """A request as the contract reads it; only a call without `problems` may be carried out.

    `status` is what a refusal should be: 404 or 405 where there is no such operation, else 400.
    """

    operation: str
    parameters: Json
    body: Any = None
    problems: tuple[str, ...] = ()
    status: int = 400
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Parameter:
    name: str
    required: bool
    schema: Json
    wrong: _Check


@dataclass(frozen=True)
class _Operation:
    name: str
    path: tuple[str, ...]
    method: str
    in_path: tuple[_Parameter, ...]
    in_query: tuple[_Parameter, ...]
    body: _Check | None
    body_required: bool
    answers: Mapping[int, _Check]

    def matches(self, segments: list[str]) -> bool:
        if len(segments) != len(self.path):
            return False
        pairs = zip(self.path, segments, strict=True)
        return all(said.startswith("{") or said == sent for said, sent in pairs)


class Contract:
    """The operations that the document declares."""

    def __init__(self, document: Json) -> None:
        self._document = document
        self._resolved: dict[str, Any] = {}
        found = [
            self._operation(path, method, item)
            for path, item in document["paths"].items()
            for method in _METHODS
            if method in item
        ]
        # A concrete path is matched before a templated one, as OpenAPI has it.
        self._operations = sorted(found, key=lambda o: sum(s.startswith("{") for s in o.path))

    def request(
        self, method: str, raw_path: str, query: str, content_type: str, body: bytes
    ) -> Call:
        """What is asked, or what is wrong with the question."""
        segments = raw_path.split("/")
        on_path = [operation for operation in self._operations if operation.matches(segments)]
        if not on_path:
            return Call("", {}, problems=(f"no such path: {raw_path!r}",), status=404)
        concrete = [operation for operation in on_path if operation.path == on_path[0].path]
        chosen = next((o for o in concrete if o.method == method), None)
        if chosen is None:
            allowed = tuple(operation.method for operation in concrete)
            what = f"no {method} on this path"
            return Call("", {}, problems=(what,), status=405, allowed=allowed)
        problems: list[str] = []
        parameters = {
            **_read(chosen.in_path, _in_path(chosen, segments), problems),
            **_read(chosen.in_query, parse_qsl(query, keep_blank_values=True), problems),
        }
        sent = _body(chosen, content_type, body, problems)
        return Call(chosen.name, parameters, sent, tuple(problems))

    def answer(self, call: Call, status: int, content_type: str, body: bytes) -> list[str]:
        """What is wrong with the answer to a call."""
        operation = next((o for o in self._operations if o.name == call.operation), None)
        if operation is None:
            return []
        if status not in operation.answers:
            return [f"{operation.name} declares no answer {status}"]
        if _media_type(content_type) != _JSON:
            return [f"{operation.name} answers {_JSON}, not {content_type!r}"]
        try:
            sent = _parsed(body)
        except ValueError as error:
            return [f"{operation.name} answered what is not JSON: {error}"]
        return [f"answer {status}: {what}" for what in operation.answers[status](sent)]

    def _operation(self, path: str, method: str, item: Json) -> _Operation:
        said: Json = self._inlined(item[method])
        shared: list[Json] = self._inlined(item.get("parameters", []))
        body: Json | None = said.get("requestBody")
        parameters = [(p["in"], _parameter(p)) for p in [*shared, *said.get("parameters", [])]]
        return _Operation(
            name=said["operationId"],
            path=tuple(path.split("/")),
            method=method.upper(),
            in_path=tuple(p for where, p in parameters if where == "path"),
            in_query=tuple(p for where, p in parameters if where == "query"),
            body=_check(body["content"][_JSON]["schema"]) if body else None,
            body_required=bool(body and body.get("required")),
            answers={
                int(status): _check(answer["content"][_JSON]["schema"])
                for status, answer in said["responses"].items()
            },
        )

    def _inlined(self, node: Any) -> Any:
        """The node with each reference replaced by what it names: the document is not recursive."""
        if isinstance(node, list):
            return [self._inlined(value) for value in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        fields = cast("Json", node)
        if "$ref" not in fields:
            return {name: self._inlined(value) for name, value in fields.items()}
        reference: str = fields["$ref"]
        if reference not in self._resolved:
            named: Any = self._document
            for step in reference.removeprefix("#/").split("/"):
                named = named[step]
            self._resolved[reference] = self._inlined(named)
        return self._resolved[reference]


@cache
def contract() -> Contract:
    """The contract, read once."""
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader  # the fast one
    return Contract(yaml.load(DOCUMENT.read_bytes(), loader))  # noqa: S506  # both are safe


def _parameter(said: Json) -> _Parameter:
    schema = said["schema"]
    return _Parameter(said["name"], bool(said.get("required")), schema, _check(schema))


_formats = FormatChecker(formats=())


@_formats.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


def _check(schema: Json) -> _Check:
    validator: Any = Draft202012Validator(schema, format_checker=_formats)

    def wrong(value: Any) -> list[str]:
        if validator.is_valid(value):
            return []
        error = cast("Any", exceptions).best_match(validator.iter_errors(value))
        return [f"{error.json_path}: {error.message}"[:500]]

    return wrong


def _in_path(operation: _Operation, segments: list[str]) -> list[tuple[str, str]]:
    pairs = zip(operation.path, segments, strict=True)
    return [(said[1:-1], unquote(sent)) for said, sent in pairs if said.startswith("{")]


def _read(
    declared: tuple[_Parameter, ...], sent: list[tuple[str, str]], problems: list[str]
) -> Json:
    """The values by name, with the defaults; what is wrong is added to the problems."""
    known = {parameter.name for parameter in declared}
    problems += [f"parameter {name!r} is not declared" for name, _ in sent if name not in known]
    read: Json = {}
    for parameter in declared:
        texts = [text for name, text in sent if name == parameter.name]
        if not texts:
            if parameter.required:
                problems.append(f"parameter {parameter.name!r} is missing")
            read[parameter.name] = parameter.schema.get("default")
            continue
        value = _value(parameter.schema, texts)
        problems += [f"{parameter.name} {what}" for what in parameter.wrong(value)]
        read[parameter.name] = value
    return read


def _value(schema: Json, texts: list[str]) -> Any:
    """The value in the type that the schema wants, or a value that the schema will refuse."""
    if schema["type"] == "array":
        return texts
    if len(texts) > 1:
        return texts
    if schema["type"] == "integer" and _INTEGER.fullmatch(texts[0]):
        return int(texts[0])
    return texts[0]


def _body(operation: _Operation, content_type: str, body: bytes, problems: list[str]) -> Any:
    if not body:
        if operation.body_required:
            problems.append("a body is required")
        return None
    if operation.body is None:
        problems.append("no body is declared")
        return None
    if _media_type(content_type) != _JSON:
        problems.append(f"the body must be {_JSON}, not {content_type!r}")
        return None
    try:
        sent = _parsed(body)
    except ValueError as error:
        problems.append(f"the body is not JSON: {error}")
        return None
    problems += operation.body(sent)
    return sent


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _parsed(body: bytes) -> Any:
    return json.loads(body, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
