"""The command `memory-mcp`, also as `python -m memory_mcp`.

A hook is looked for before anything else is imported: it runs at every turn of a session, and has
to be done before the rest of us could be loaded.
"""

import sys

__all__ = ["main"]


def main() -> int:
    """Run what the command line says."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"}.intersection(sys.argv[2:]):
        from memory_mcp.hook import main as hook  # noqa: PLC0415  # see the module's docstring

        return hook(sys.argv[2:])
    from memory_mcp.cli.main import main as command  # noqa: PLC0415

    return command()


if __name__ == "__main__":
    sys.exit(main())
