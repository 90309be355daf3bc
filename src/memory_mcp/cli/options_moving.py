"""The options of `import` and `export`. Only the standard library is imported here."""

import argparse

_SOURCES = (
    "auto", "memory-server", "claude-code", "claude-md", "basic-memory", "mem0", "claude-mem",
    "memory-mcp",
)  # fmt: skip


def import_options(parser: argparse.ArgumentParser) -> None:
    """What `import` takes."""
    parser.add_argument("source", help="a file or folder; - reads a file from stdin")
    parser.add_argument("--from", dest="kind", choices=_SOURCES, default="auto",
                        help="whose it is (default: told from what is in it)")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="say what would come, no more")
    parser.add_argument("--scope", choices=("project", "user", "both"),
                        help="whose it is to be (default: project; of an export of ours: what "
                        "of it was the project's); both: each where it belongs")  # fmt: skip
    parser.add_argument("--erase", action="store_true",
                        help="erase here what an export of ours says was forgotten")  # fmt: skip


def export_options(parser: argparse.ArgumentParser) -> None:
    """What `export` takes."""
    parser.add_argument("target", nargs="?", default="-", metavar="FILE|DIR",
                        help="where to; without it, or -: JSON to stdout")  # fmt: skip
    parser.add_argument("--format", choices=("json", "markdown"),
                        help="default: json; markdown if the target is a folder")  # fmt: skip
    parser.add_argument("--history", action="store_true",
                        help="all there is, with the timeline: also what was left, corrected "
                        "or hidden")  # fmt: skip
    parser.add_argument("--scope", choices=("project", "user", "both"), default="project",
                        help="default: project")  # fmt: skip
    parser.add_argument("--force", action="store_true",
                        help="overwrite what is no export of ours, or is one of more, or of "
                        "another project")  # fmt: skip
