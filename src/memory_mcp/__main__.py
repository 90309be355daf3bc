"""The command `memory-mcp`, also as `python -m memory_mcp`.

A hook is handled before anything else is imported: it runs at every turn of a session, and must be
done before the rest of the package could be loaded.
"""

import gc
import os
import sys
from types import ModuleType
from typing import Any

__all__ = ["main"]

_PLUGINS = "pydantic.plugin._loader"


class _NoPlugins(ModuleType):
    """Stands for the module by which pydantic finds plugins, and finds none.

    The real one imports what reads the metadata of packages, mail parser and all, before it looks
    whether it should look. Whatever else is asked of it comes from the real one.
    """

    @staticmethod
    def get_plugins() -> tuple[()]:
        return ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for some that a module need not have
            raise AttributeError(name=name, obj=self)
        from importlib import import_module

        sys.modules.pop(_PLUGINS, None)
        return getattr(import_module(_PLUGINS), name)


def main() -> int:
    """Run the command line. Threads that it leaves behind delay nobody."""
    try:
        if sys.argv[1:2] == ["hook"] and not {"-h", "--help"}.intersection(sys.argv[2:]):
            from memory_mcp.hooks.run import main as hook

            return hook(sys.argv[2:])
        # pydantic would look through every installed package for plugins, to call none
        if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__") == "__all__":
            sys.modules.setdefault(_PLUGINS, _NoPlugins(_PLUGINS))
        gc.disable()  # imports make much that stays and nothing to collect
        from memory_mcp import shutdown
        from memory_mcp.cli.main import main as command

        status = command()
    except KeyboardInterrupt:  # in a hook, or during the imports
        from memory_mcp.shutdown import INTERRUPTED, describe_interruption, end_now

        end_now(INTERRUPTED, describe_interruption())
    shutdown.end_within(shutdown.ENDING_SECONDS_MAX, status)
    shutdown.end_in_order(status)
    return status


if __name__ == "__main__":
    sys.exit(main())
