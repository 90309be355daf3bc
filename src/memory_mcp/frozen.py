"""Frozen and other dataclasses that cost little to define.

`dataclass(frozen=True)` compiles six functions for each class: for our two hundred classes a fifth
of the processor time of a short command. Here the fields are read once the first value is made,
because a process uses few of the classes that it imports, and `__init__` is compiled once some
values are, because it makes few of most of those. What compares and shows a value is shared. That
nobody assigns to a field is checked by pyright, not at run time, which makes a value cheaper too.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from operator import attrgetter
from threading import RLock
from typing import Any, Final, TypeVar, dataclass_transform

T = TypeVar("T")

_MADE_SLOWLY: Final = 20
"""So many values of a class are made before its `__init__` is compiled, which takes as long as
these together."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class with annotated fields a value: equal, hashed and shown by its fields."""
    _compile_init_later(cls)
    give_fields(cls)
    return cls


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """Make a class whose annotated fields change: what has them is equal to itself alone."""
    _compile_init_later(cls)
    _complete_later(cls)
    return cls


def _compile_init_later(cls: type) -> None:
    made: Any = cls
    left = [None] * _MADE_SLOWLY

    def init_first(self: object, *values: object, **named: object) -> None:
        if left and _set_fields(made, self, values, named):
            del left[-1:]  # of an empty list, too: another thread may have been here
            return
        made.__init__ = _compile_init(made)
        made.__init__(self, *values, **named)

    made.__init__ = init_first


def _set_fields(cls: Any, value: Any, values: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Set the fields as the compiled `__init__` does; False for arguments that it will refuse."""
    every = fields(cls)
    given = dict(zip((each.name for each in every), values, strict=False))
    if len(given) < len(values) or not given.keys().isdisjoint(named):
        return False
    given.update(named)
    for each in every:
        if each.name in given:
            new = given.pop(each.name)
        elif each.default is not MISSING:
            new = each.default
        elif each.default_factory is not MISSING:
            new = each.default_factory()
        else:
            return False
        setattr(value, each.name, new)
    return not given


def give_fields(cls: type) -> None:
    """Let the values of a class with annotated fields be equal, hashed and shown by these."""
    made: Any = cls
    made.__repr__, made.__eq__, made.__hash__ = _show, _is_equal, _compute_hash
    _complete_later(cls)


def _complete_later(cls: type) -> None:
    for name in _COMPLETED:
        setattr(cls, name, _Incomplete(cls, name))


_COMPLETED: Final = ("__dataclass_fields__", "__match_args__", "_read_fields")
_completing: Final = RLock()


class _Incomplete:
    """Stands for an attribute of a class that follows from its fields, until it is asked for."""

    def __init__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, _value: object, _owner: type) -> Any:
        with _completing:  # a class is read once: what makes a default leaves the class with it
            if self._owner.__dict__[self._name] is self:
                _complete(self._owner)
        return self._owner.__dict__[self._name]


def _complete(cls: Any) -> None:
    made: Any = dataclass(init=False, eq=False, repr=False, match_args=False)(cls)
    names = tuple(each.name for each in fields(made))
    read = staticmethod(attrgetter(*names or ("__class__",)))
    made._read_fields = read  # noqa: SLF001  # the methods below are the class's own
    made.__match_args__ = names


def _is_equal(self: Any, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    read = self._read_fields
    return read(self) == read(other)


def _compute_hash(self: Any) -> int:
    return hash(self._read_fields(self))


def _compile_init(cls: Any) -> Callable[..., None]:
    """The function that sets each field, to what is given or to its default."""
    names: dict[str, Any] = {"_absent": MISSING}
    parameters, lines = ["self"], ["pass"]
    for each in fields(cls):
        name, default, value = each.name, "", each.name
        if each.default is not MISSING:
            names[f"_default_{name}"] = each.default
            default = f"=_default_{name}"
        elif each.default_factory is not MISSING:
            names[f"_make_{name}"] = each.default_factory
            default, value = "=_absent", f"_make_{name}() if {name} is _absent else {name}"
        parameters.append(name + default)
        lines.append(f"self.{name} = {value}")
    code = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines)
    exec(code, names)  # noqa: S102  # of the names of fields alone, as a dataclass does it
    names["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return names["__init__"]


def _show(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self))
    return f"{type(self).__qualname__}({shown})"
