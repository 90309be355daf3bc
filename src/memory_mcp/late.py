"""Modules of the standard library that are loaded when a name of theirs is first asked for.

asyncio imports what talks TLS, pathlib what parses addresses, inspect what splits source text, and
filelock what a file system without locks needs: a twentieth of the processor time of a short
command, and hardly one of them uses any of it. Who imports such a module gets it as ever; what is
in it is there with the first look.
"""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any, Final

__all__ = ["LATE", "load_late"]

LATE: Final = (
    "ssl", "asyncio.sslproto", "ipaddress", "platform", "secrets", "textwrap", "tokenize",
)  # fmt: skip
"""What imports each of them at the start uses it in functions alone."""


class _LateModule(ModuleType):
    """Runs its source when a name is looked for that is not there yet."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for `__path__`
            raise AttributeError(name=name, obj=self)
        module: Any = self
        found: dict[str, Any] = module.__dict__
        with found["__lock__"]:  # another thread may be running it
            spec: Any = found.pop("__late__", None)
            if spec:
                try:
                    spec.loader.exec_module(module)
                except BaseException:
                    found["__late__"] = spec
                    raise
                module.__class__ = ModuleType
        if name in found:
            return found[name]
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self
        )


def load_late() -> None:
    """Put these modules in their places, but for those that were imported before."""
    for name in LATE:
        spec = None if name in sys.modules else _find_spec(name)
        if spec and spec.loader:
            made: Any = module_from_spec(spec)
            made.__lock__, made.__late__ = RLock(), spec
            made.__class__ = _LateModule
            sys.modules[name] = made


def _find_spec(name: str) -> ModuleSpec | None:
    """Where the module is; the package around it is not imported, as `find_spec` would."""
    package, _, _ = name.rpartition(".")
    if not package:
        return find_spec(name)
    parent = find_spec(package)
    return parent and PathFinder.find_spec(name, parent.submodule_search_locations)
