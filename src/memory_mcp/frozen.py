"""Frozen dataclasses that cost little to define.

`dataclass(frozen=True)` compiles six functions for each class: for our two hundred classes a fifth
of the processor time of a short command. Here `__init__` alone is compiled, once the first value is
made, because a process uses few of the classes that it imports. What compares and shows a value is
shared. That nobody assigns to a field is checked by pyright, not at run time, which makes a value
cheaper too.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class with annotated fields a value: equal, hashed and shown by its fields."""
    made: Any = dataclass(init=False, eq=False, repr=False)(cls)
    read: Any = attrgetter(*made.__dataclass_fields__ or ("__class__",))

    def init_first(self: object, *values: object, **named: object) -> None:
        made.__init__ = _compile_init(made)
        made.__init__(self, *values, **named)

    def is_equal(self: object, other: object) -> bool:
        return read(self) == read(other) if other.__class__ is self.__class__ else NotImplemented

    def compute_hash(self: object) -> int:
        return hash(read(self))

    made.__init__, made.__repr__ = init_first, _show
    made.__eq__, made.__hash__ = is_equal, compute_hash
    return made


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
