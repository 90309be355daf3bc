"""What checks stored values: the compiled core of pydantic, without the package around it.

`import pydantic_core` also defines what describes schemas to type checkers, which takes a sixteenth
of the processor time of a short command, and is used by pydantic alone. Whoever imports that
package later gets the same core.
"""

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

__all__ = ["SchemaSerializer", "SchemaValidator", "ValidationError", "to_json"]

_PACKAGE: Final = "pydantic_core"
_CORE: Final = "pydantic_core._pydantic_core"


def _load_core() -> ModuleType:
    if core := sys.modules.get(_CORE):
        return core
    package = find_spec(_PACKAGE)
    found = PathFinder.find_spec(_CORE, package.submodule_search_locations) if package else None
    if found is None or found.loader is None:  # another layout: the package has the same names
        return import_module(_PACKAGE)
    core = sys.modules[_CORE] = module_from_spec(found)
    try:
        found.loader.exec_module(core)
    except BaseException:
        del sys.modules[_CORE]
        raise
    return core


if TYPE_CHECKING:
    from pydantic_core import SchemaSerializer, SchemaValidator, ValidationError, to_json
else:
    _core: Any = _load_core()
    SchemaSerializer = _core.SchemaSerializer
    SchemaValidator = _core.SchemaValidator
    ValidationError = _core.ValidationError
    to_json = _core.to_json
