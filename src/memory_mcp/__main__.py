"""The command `memory-mcp`, also as `python -m memory_mcp`.

A hook is handled before anything else is imported: it runs at every turn of a session, and must be
done before the rest of the package could be loaded.
"""

import gc
import os
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command line. A command ends with it: what it prints and stores is there by then."""
    try:
        if sys.argv[1:2] == ["hook"] and not {"-h", "--help"}.intersection(sys.argv[2:]):
            from memory_mcp.hooks.run import main as hook

            return hook(sys.argv[2:])
        # pydantic would look through every installed package for plugins, to call none
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        gc.disable()  # imports make much that stays and nothing to collect
        from memory_mcp import shutdown
        from memory_mcp.late import load_late

        load_late()
        from memory_mcp.cli.main import main as command

        status = command()
    except KeyboardInterrupt:  # in a hook, or during the imports
        from memory_mcp.shutdown import INTERRUPTED, describe_interruption, end_now

        return end_now(INTERRUPTED, describe_interruption())
    if sys.argv[1:2] == ["serve"]:  # a tracer that it was started with sends what it still has
        shutdown.end_within(shutdown.ENDING_SECONDS_MAX, status)
        return status
    # to take apart what was imported takes a twentieth of a short command, and a thread that is
    # left behind would delay it
    return shutdown.end_now(status)


if __name__ == "__main__":
    sys.exit(main())
