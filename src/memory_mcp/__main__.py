"""The command `memory-mcp`, also as `python -m memory_mcp`.

A hook is looked for before anything else is imported: it runs at every turn of a session, and has
to be done before the rest of us could be loaded.
"""

import sys

__all__ = ["main"]


def main() -> int:
    """Run what the command line says. What it leaves behind in threads keeps nobody waiting."""
    try:
        if sys.argv[1:2] == ["hook"] and not {"-h", "--help"}.intersection(sys.argv[2:]):
            from memory_mcp.hooks.run import main as hook  # noqa: PLC0415

            return hook(sys.argv[2:])
        from memory_mcp import shutdown as ending  # noqa: PLC0415
        from memory_mcp.cli.main import main as command  # noqa: PLC0415

        status = command()
    except KeyboardInterrupt:  # in a hook, or while the rest of us was being loaded
        from memory_mcp.shutdown import INTERRUPTED, end_now, interrupted  # noqa: PLC0415

        end_now(INTERRUPTED, interrupted())
    ending.end_within(ending.ENDING_SECONDS_MAX, status)
    return status


if __name__ == "__main__":
    sys.exit(main())
