"""The grammar of the command line, and the entry point.

Importing this module loads the standard library alone, so that `--help` is instant. The module of a
command holds its options and its handler. It is imported once its command is named.
"""

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

from memory_mcp import __version__
from memory_mcp.cli.output import (
    LostOutputError,
    prepare_streams,
    print_json,
    print_line,
    print_note,
)
from memory_mcp.shutdown import import_whole

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_COMMANDS: Final = (
    ("add", "memories", "remember one thing"),
    ("search", "memories", "find what holds"),
    ("list", "memories", "what holds, newest first"),
    ("show", "memories", "one memory or checkpoint, whole"),
    ("update", "memories", "replace what a memory says"),
    ("forget", "memories", "erase one memory for good, or hide it from here on"),
    ("status", "branches", "where the project stands: checkpoints, pending approvals, left lines"),
    ("log", "branches", "the timeline as a graph: checkpoints, branches, left lines"),
    ("checkpoint", "branches", "seal a restore point, or decide a pending one"),
    ("backtrack", "branches", "go back to a checkpoint, or restore what was left"),
    ("undo", "branches", "undo the last move: what a backtrack or a restore left is back"),
    ("fork", "branches", "begin a branch, here or at a checkpoint"),
    ("context", "sessions", "the block that opens a session or goes with a task"),
    ("profile", "sessions", "what is known of the user, and which memories it rests on"),
    ("identity", "sessions", "what the project is, or say it anew"),
    ("phase", "sessions", "in which phase the project is, or move it to another"),
    ("consolidate", "sessions", "hand on what a later session needs"),
    ("suggestions", "sessions", "what the user said and may be kept: list, keep, drop"),
    ("nudge", "nudges", "what a session brings up once: add, list, clear"),
    ("import", "transfer", "take in what another program remembers, or an export"),
    ("export", "transfer", "write what holds to a file or folder; all with --history"),
    ("trust", "maintenance", "let what came with this repository count, or no longer"),
    ("doctor", "maintenance", "check every invariant of files and index, mend or rebuild them"),
    ("config", "config", "what is set, by whom, and what each setting is for"),
    ("models", "models", "the models for recall by meaning: list, add, remove"),
    ("cloud", "cloud", "the provider of memories: status, login, logout, sync"),
    ("install", "clients", "tell a client of it, in the client's own configuration"),
    ("uninstall", "clients", "take it out of there again"),
    ("serve", "serve", "serve MCP clients"),
    ("demo", "demo", "see it work: a real server, a real client, a small project"),
    ("episode", "sessions", ""),
    ("capture", "sessions", ""),
    ("hook", "", ""),
)  # fmt: skip
"""Each command, the module with its `COMMANDS` entry, and what it does.

Those that only programs call say nothing of themselves, and are not listed.
"""

_EPILOG: Final = (
    "Settings are environment variables or stand in a file: `memory-mcp config` lists them."
)


class _WrongUsageError(Exception):
    """The command line does not follow the grammar."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self._parser = parser

    def report(self, *, as_json: bool) -> int:
        """Print it: as JSON to stdout for a program, with the usage to stderr for a person."""
        if as_json:
            print_json({"success": False, "error": str(self)})
        else:
            self._parser.print_usage(sys.stderr)
            print_note(f"{self}. `{self._parser.prog} --help` shows the choices.")
        return 2


def _parse_whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None


class _Parser(argparse.ArgumentParser):
    """Raises on a mistake, so that `main` decides how it is reported."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.register("type", int, _parse_whole)
        self.register("type", float, _parse_number)

    def error(self, message: str) -> NoReturn:
        raise _WrongUsageError(self, message)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse a word that is no choice; argparse itself suggests none from Python 3.14 on."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        near = get_close_matches(str(value), known)
        hint = f"nearest: {', '.join(near)}" if near else f"choose one of {', '.join(known)}"
        raise argparse.ArgumentError(action, f"{value!r} is unknown; {hint}")

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        """Print help as everything else is printed: argparse itself overlooks a full disk."""
        if file is sys.stdout:
            print_line(message.rstrip("\n"))
        else:
            super()._print_message(message, file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 (done), 1 (not done, and why) or 2 (wrong usage)."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    try:
        prepare_streams()
        return _run_command(words)
    except LostOutputError as error:
        return error.report()


def _run_command(words: Sequence[str]) -> int:
    try:
        with import_whole():
            args = _parse(words)
            if args.command is None:
                args = _parse([*words, "serve"])
    except _WrongUsageError as error:
        return error.report(as_json="--json" in words)
    if args.command == "hook":  # with options before it; else `__main__` has run it already
        from memory_mcp.hooks.run import main as run_hook

        return run_hook([args.event])
    with import_whole():
        from memory_mcp.cli.commands import run

    return run(args)


def _parse(words: Sequence[str]) -> argparse.Namespace:
    absent = argparse.Namespace(json=False, project=None, branch=None)
    return make_parser(words).parse_args(words, absent)


def make_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The command that the words begin with; else every command, with the options of those named.

    To make the parser of every command takes longer than most commands.
    """
    common = _Parser(add_help=False)
    # suppressed, so that an option before the command is not undone by its default after it
    unless = argparse.SUPPRESS
    common.add_argument("--json", action="store_true", default=unless, help="answer as JSON")
    common.add_argument(
        "--project",
        metavar="DIR",
        default=unless,
        help="its folder; default: the enclosing git work tree",
    )
    common.add_argument(
        "--branch", metavar="NAME", default=unless, help="of the memory; default: main"
    )
    parser = _Parser(
        prog="memory-mcp",
        description="A memory for agents that stays coherent. Without a command: serve over stdio.",
        epilog=_EPILOG,
        parents=[common],
    )
    parser.add_argument("--version", action="version", version=f"memory-mcp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    asked = [each for each in _COMMANDS if [each[0]] == [*words[:1]]]
    for name, module, summary in asked or _COMMANDS:
        if not summary and name not in words:
            continue
        command = (
            commands.add_parser(name, help=summary, description=summary, parents=[common])
            if summary
            else commands.add_parser(name, parents=[common])
        )
        if name == "hook":
            _add_hook_options(command)
        elif name in words:
            import_module(f"memory_mcp.cli.{module}").COMMANDS[name].add_to(command)
    return parser


def _add_hook_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "What Claude Code calls at a session's turning points, as the plugin tells it to: the "
        "event comes as JSON on stdin, the answer goes to stdout. Nobody else needs it."
    )
    parser.add_argument(
        "event", metavar="EVENT", help="session-start, post-compact, stop or session-end"
    )


if __name__ == "__main__":
    sys.exit(main())
