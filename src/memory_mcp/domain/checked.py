"""Values whose fields are checked when they are made, by the core of pydantic alone.

To import pydantic and to let it read our classes takes longer than a short command may. The core
needs neither: it checks by a schema, and here the schema of a class is made from its annotations,
when the first value of it is. pydantic's own models and forms may hold such values, and use the
same annotations.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from datetime import datetime
from functools import cache, partial
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    NewType,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

from memory_mcp.checker import SchemaSerializer, SchemaValidator
from memory_mcp.frozen import give_fields

T = TypeVar("T")

Schema = dict[str, Any]
"""How the core checks a value, as `pydantic_core.core_schema` describes it."""


class Change:
    """Changes the schema of the type that it annotates."""

    def __init__(self, change: Callable[[Schema], Schema]) -> None:
        self.change = change

    def __get_pydantic_core_schema__(self, source: object, handler: Any) -> Any:
        """Change the schema in a model of pydantic's as well."""
        return self.change(handler(source))


def constrain(**limits: object) -> Change:
    """Let the core keep to these: `max_length`, `pattern`, `ge`, `le`, `strict` and so on."""
    return Change(lambda schema: {**schema, **limits})


def check_with(check: Callable[[Any], object]) -> Change:
    """Let a function replace each value that is valid so far, or refuse it by a `ValueError`."""
    function = {"type": "no-info", "function": check}
    return Change(lambda schema: {"type": "function-after", "function": function, "schema": schema})


def write_with(write: Callable[[Any], str]) -> Change:
    """Let a function write the value as a text, in JSON and elsewhere."""
    how = {"type": "function-plain", "function": write, "return_schema": {"type": "str"}}
    return Change(lambda schema: {**schema, "serialization": how})


class _Built(Generic[T]):
    """An attribute of a class that is built when it is first asked for."""

    def __init__(self, build: Callable[[type], T]) -> None:
        self._build = build

    def __get__(self, _value: object, owner: type) -> T:
        return self._build(owner)


@cache
def build_validator(form: Any) -> SchemaValidator:
    """What checks values of a class or an annotation."""
    schema: Any = _describe(form)
    return SchemaValidator(schema, {"title": getattr(form, "__name__", "value")})


@cache
def _build_serializer(form: Any) -> SchemaSerializer:
    schema: Any = _describe(form)
    return SchemaSerializer(schema)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class FrozenModel:
    """Base of stored values. Fields of a later version are ignored, never rewritten.

    A value is equal to, hashed and shown by its fields. Its methods are named as pydantic names
    them, whose `ValidationError` tells what is wrong with a field.
    """

    __slots__ = (
        "__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__",
    )  # fmt: skip
    __pydantic_validator__ = _Built(build_validator)
    __pydantic_serializer__ = _Built(_build_serializer)

    def __init_subclass__(cls) -> None:
        give_fields(cls)

    def __init__(self, **values: Any) -> None:
        self.__pydantic_validator__.validate_python(values, self_instance=self)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """The fields, as name and value."""
        return ((name, getattr(self, name)) for name in _list_names(type(self)))

    def check(self) -> None:
        """Raise a `ValueError` for fields that are valid, but not beside each other."""

    @classmethod
    def model_validate(cls, value: object) -> Self:
        """The value in these fields. Raises a `ValidationError`."""
        return cls.__pydantic_validator__.validate_python(value)

    @classmethod
    def model_validate_json(cls, data: str | bytes) -> Self:
        """The value in this JSON. Raises a `ValidationError`."""
        return cls.__pydantic_validator__.validate_json(data)

    @classmethod
    def model_construct(cls, **values: Any) -> Self:
        """A value of fields that are known to be valid."""
        made = object.__new__(cls)
        made.__dict__ = {
            each.name: values[each.name] if each.name in values else _make_default(each)
            for each in fields(cls)  # pyright: ignore[reportArgumentType]  # it has fields
        }
        return made

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """The value with other fields, which are known to be valid."""
        made = object.__new__(type(self))
        made.__dict__ = {**dict(self), **update}
        return made

    def list_json(self, *, exclude_defaults: bool = False) -> dict[str, Any]:
        """The fields as JSON has them: what `model_dump(mode="json")` returns, at less cost.

        With the first value that the core dumps it imports all of `pydantic_core`, and that takes
        a fourteenth of the processor time of a command that stores a record.
        """
        listed = dict(self)
        if exclude_defaults:
            for name, default in _list_defaults(type(self)):
                if listed[name] == default:
                    del listed[name]
        for name, write in _list_writers(type(self), exclude_defaults):
            if name in listed:
                listed[name] = write(listed[name])
        return listed

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """The fields, by the options of pydantic's method."""
        return self.__pydantic_serializer__.to_python(self, **options)

    def model_dump_json(self, **options: Any) -> str:
        """The fields as JSON, by the options of pydantic's method."""
        return self.__pydantic_serializer__.to_json(self, **options).decode()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> Any:
        """Let a model of pydantic's hold such values."""
        return _describe(cls)


@cache
def _list_names(cls: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(cls))


_Write = Callable[[Any], Any]
"""Makes what JSON has in the place of a value."""


@cache
def _list_defaults(cls: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((of.name, _make_default(of)) for of in fields(cls) if _has_default(of))


@cache
def _list_writers(cls: Any, exclude_defaults: bool) -> tuple[tuple[str, _Write], ...]:  # noqa: FBT001  # a cache has no names
    """What writes each field of a class that is not in JSON as it is here."""
    made = ((of.name, _make_writer(_describe_field(of), exclude_defaults)) for of in fields(cls))
    return tuple((name, write) for name, write in made if write)


def _make_writer(schema: Schema, exclude_defaults: bool) -> _Write | None:  # noqa: FBT001
    """What writes the values of a schema; None if they are the same in JSON."""
    match schema:
        case {"serialization": how}:
            return how["function"]
        case {"type": "str" | "int" | "bool" | "literal" | "none"}:
            return None
        case {"type": "model"}:
            return partial(FrozenModel.list_json, exclude_defaults=exclude_defaults)
        case {"type": "function-after" | "function-before" | "default"}:
            return _make_writer(schema["schema"], exclude_defaults)
        case {"type": "nullable" | "tuple" | "frozenset" | "dict"}:
            return _make_part_writer(schema, exclude_defaults)
        case _:  # of a form that few values have
            serializer: Any = SchemaSerializer(cast("Any", schema))
            return lambda value: serializer.to_python(value, mode="json")


def _make_part_writer(schema: Schema, exclude_defaults: bool) -> _Write | None:  # noqa: FBT001
    """What writes values of which each part is written by a schema of its own."""
    parts = schema.get("values_schema") or schema.get("items_schema") or schema["schema"]
    write = _make_writer(parts[0] if schema["type"] == "tuple" else parts, exclude_defaults)
    match schema["type"]:
        case "nullable":
            return write and (lambda value: None if value is None else write(value))
        case "dict":
            return write and (lambda values: {key: write(each) for key, each in values.items()})
        case _:
            return (lambda values: [*map(write, values)]) if write else list


def _has_default(of: "Field[Any]") -> bool:
    return of.default is not MISSING or of.default_factory is not MISSING


def _make_default(of: "Field[Any]") -> Any:
    if of.default_factory is not MISSING:
        return of.default_factory()
    if of.default is not MISSING:
        return of.default
    raise TypeError(f"{of.name} is missing")


_PLAIN: Final[Mapping[Any, str]] = {
    Any: "any", str: "str", int: "int", float: "float", bool: "bool", datetime: "datetime",
    None: "none", type(None): "none",
}  # fmt: skip


@cache
def _describe(form: Any) -> Schema:
    """The schema of a class or an annotation."""
    if form in _PLAIN:
        return {"type": _PLAIN[form]}
    if isinstance(form, NewType):
        return _describe(form.__supertype__)
    if get_origin(form) is None:
        return _describe_class(form)
    return _describe_parts(get_origin(form), get_args(form))


def _describe_parts(origin: Any, parts: tuple[Any, ...]) -> Schema:
    match origin:
        case _ if origin is Annotated:
            schema = _describe(parts[0])
            for change in parts[1:]:
                schema = change.change(schema)
            return schema
        case _ if origin is Literal:
            return {"type": "literal", "expected": [*parts]}
        case _ if origin is tuple:  # of any length
            items = [_describe(parts[0])]
            return {"type": "tuple", "items_schema": items, "variadic_item_index": 0}
        case _ if origin is frozenset:
            return {"type": "frozenset", "items_schema": _describe(parts[0])}
        case _ if origin is dict:
            key, value = map(_describe, parts)
            return {"type": "dict", "keys_schema": key, "values_schema": value}
        case _:
            return _describe_union(parts)


def _describe_union(parts: tuple[Any, ...]) -> Schema:
    choices = [_describe(part) for part in parts if part is not type(None)]
    every = choices[0] if len(choices) == 1 else {"type": "union", "choices": choices}
    return every if len(choices) == len(parts) else {"type": "nullable", "schema": every}


def _describe_class(cls: Any) -> Schema:
    each = {of.name: {"type": "model-field", "schema": _describe_field(of)} for of in fields(cls)}
    model = {
        "type": "model",
        "cls": cls,
        "config": {"title": cls.__name__},
        "schema": {"type": "model-fields", "fields": each, "extra_behavior": "ignore"},
    }
    if cls.check is FrozenModel.check:
        return model

    def check(value: FrozenModel) -> FrozenModel:
        value.check()
        return value

    return check_with(check).change(model)


def _describe_field(of: "Field[Any]") -> Schema:
    schema = _describe(of.type)
    if of.default_factory is not MISSING:
        return {"type": "default", "schema": schema, "default_factory": of.default_factory}
    if of.default is not MISSING:
        if isinstance(of.default, FrozenModel):  # all may share it, and the core would copy it
            return {"type": "default", "schema": schema, "default_factory": lambda: of.default}
        return {"type": "default", "schema": schema, "default": of.default}
    return schema
