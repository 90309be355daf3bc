"""Makes the Python API without `await` from the one with it.

    python tools/sync_api.py         write src/memory_mcp/api/sync.py anew

Each public method of `Memory` that is to be awaited becomes one of `SyncMemory` with the same
signature and the same words. Run it after a method of `Memory` was changed; a test compares them.
"""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent.parent / "src" / "memory_mcp" / "api"
_FILE: Final = FOLDER / "sync.py"

_HEAD: Final = '''"""The Python API without `await`: made by `python tools/sync_api.py`."""

from functools import partial
from anyio.from_thread import BlockingPortal
from typing import TYPE_CHECKING, TypeVar
from collections.abc import Awaitable, Callable
{imports}

if TYPE_CHECKING:
    from memory_mcp.api.memory import Memory

T = TypeVar("T")

{constants}


class SyncMemory:
    """The memory of one project, as one branch sees it. Get it from `Memory.open_sync`.

    Any thread may call it; what it calls runs in the event loop of its portal.
    """

    def __init__(self, memory: "Memory", portal: BlockingPortal) -> None:
        self._memory = memory
        self._portal = portal

    def _run(self, call: Callable[[], Awaitable[T]]) -> T:
        self._memory.branch  # noqa: B018  # a closed memory says so better than its portal
        return self._portal.call(call)

    @property
    def branch(self) -> str:
        """The branch that this value reads and writes."""
        return self._memory.branch

    def at(self, branch: str) -> "SyncMemory":
        """The same memory as another branch sees it. Nobody is moved by this.

        Raises:
            InvalidRequestError: no branch can have this name.
        """
        return SyncMemory(self._memory.at(branch), self._portal)
'''

_METHOD: Final = """
    def {name}({signature}) -> {returns}:
        {doc}
        return {call}
"""


def make_sync_api() -> str:
    """The module, as the formatter wants it."""
    module = ast.parse((FOLDER / "memory.py").read_text("utf-8"))
    memory = next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == "Memory")
    imports = [n for n in module.body if isinstance(n, ast.ImportFrom | ast.Import)]
    others = [n for n in imports if "import SyncMemory" not in ast.unparse(n)]
    constants = [n for n in module.body if isinstance(n, ast.Assign)]
    text = _HEAD.format(
        imports="\n".join(map(ast.unparse, others)),
        constants="\n".join(map(ast.unparse, constants)),
    )
    for method in memory.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            text += _make_method(method)
    return _format(text)


def _make_method(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    static = any(ast.unparse(each) == "staticmethod" for each in method.decorator_list)
    waits = isinstance(method, ast.AsyncFunctionDef)
    if method.name.startswith("_") or not (static or (waits and not method.decorator_list)):
        return ""
    arguments = method.args
    given = [each.arg for each in arguments.args if each.arg != "self"]
    named = [f"{each.arg}={each.arg}" for each in arguments.kwonlyargs]
    passed = ", ".join([f"self._memory.{method.name}", *given, *named])
    if static:
        arguments.args.insert(0, ast.arg("self"))
        call = f"self._memory.{method.name}({', '.join([*given, *named])})"
    else:
        call = f"self._run(partial({passed}))"
    return _METHOD.format(
        name=method.name,
        signature=ast.unparse(arguments),
        returns=ast.unparse(method.returns) if method.returns else "None",
        doc=f'"""{_indent(ast.get_docstring(method) or "")}"""',
        call=call,
    )


def _indent(doc: str) -> str:
    first, *rest = doc.splitlines()
    lines = [first, *(f"        {line}" if line else "" for line in rest)]
    return "\n".join([*lines, "        "] if rest else lines)


def _format(text: str) -> str:
    """The text without imports that it does not need, in the project's form."""
    for arguments in (("check", "--fix-only", "--select", "I,F401", "-q"), ("format", "-q")):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(_FILE), "-"],
            input=text, capture_output=True, text=True, check=True,
        )  # fmt: skip
        text = done.stdout
    return text


if __name__ == "__main__":
    _FILE.write_text(make_sync_api(), "utf-8")
