"""The options of the commands for clients. Only the standard library is imported here."""

import argparse

CLIENT_NAMES = ("claude-code", "claude-desktop", "cursor", "vscode")


def install_options(parser: argparse.ArgumentParser) -> None:
    """What `install` takes."""
    uninstall_options(parser)
    parser.add_argument("--toolsets", default="", help="further tools, e.g. branches,session")
    parser.add_argument("--force", action="store_true", help="put right an entry of that name")


def uninstall_options(parser: argparse.ArgumentParser) -> None:
    """What `uninstall` takes."""
    parser.add_argument(
        "client", choices=CLIENT_NAMES, help=", ".join(CLIENT_NAMES), metavar="CLIENT"
    )
    parser.add_argument(
        "--scope",
        choices=("user", "project", "local"),
        help="user: every project of yours; project: a file in the project, for all who work on it;"
        " local: yours, in this project (Claude Code). Default: user, for editors project",
    )
    parser.add_argument("--name", default="memory", help="of the entry (default memory)")
    parser.add_argument("--dry-run", action="store_true", help="show the change, write nothing")
