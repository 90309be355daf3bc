"""The grammar of the command line, and the entry point.

Importing this module loads the standard library alone, so that `--help` is instant. The module of a
command holds its options and its handler. It is imported once its command is named.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

from memory_mcp import __version__
from memory_mcp.cli.arguments import (
    PLACES,
    add_common_options,
    decode_text,
    describe_wrong_byte,
    parse_number,
    parse_path,
    parse_whole,
)
from memory_mcp.cli.catalog import FOR_PROGRAMS, LISTED, Entry, find_entry, format_page
from memory_mcp.cli.output import (
    USAGE,
    LostOutputError,
    find_columns,
    prepare_streams,
    print_error,
    print_json,
    print_line,
)
from memory_mcp.errors import quote
from memory_mcp.shutdown import import_whole

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_SEEN_AT_ONCE: Final = 8
"""Of so few choices all are named: which one is meant, a person sees better."""


_ANYWHERE: Final = ("--json", "--version", "--help", "-h")
"""Options without a value that may stand before a command; `PLACES` are those with one."""


class _WrongUsageError(Exception):
    """The command line does not follow the grammar."""

    def __init__(self, command: str, message: str) -> None:
        super().__init__(message)
        self._command = command

    def report(self, *, as_json: bool) -> int:
        """Print it as every error is printed; returns the exit status."""
        message = f"{self}. `{self._command} --help` shows how it is used."
        return print_error(message, as_json=as_json, status=USAGE)


class _Formatter(argparse.HelpFormatter):
    """Is told how wide the terminal is: argparse makes one for each option, help or no help."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=find_columns() - 2)


class _Parser(argparse.ArgumentParser):
    """Raises on a mistake, so that `main` decides how it is reported."""

    def __init__(self, **options: Any) -> None:
        # a beginning of an option is none: a later version may have two that begin so
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)
        self.register("type", int, parse_whole)
        self.register("type", float, parse_number)

    def error(self, message: str) -> NoReturn:
        raise _WrongUsageError(self.prog, message)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Refuse what is no text; the name of a file is of any bytes."""
        if action.type is not parse_path and action.nargs != argparse.PARSER:  # all other words
            arg_string = decode_text(arg_string)
            if wrong := describe_wrong_byte(arg_string):
                raise argparse.ArgumentError(
                    action,
                    f"{quote(arg_string)} is no UTF-8 ({wrong}). Convert it first, as in: "
                    'memory-mcp … "$(iconv -f LATIN1 -t UTF-8 FILE)"',
                )
        return super()._get_value(action, arg_string)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse a word that is no choice; argparse itself suggests none from Python 3.14 on."""
        if action.choices is None or value in action.choices:
            return
        from difflib import get_close_matches

        known = [str(choice) for choice in action.choices]
        near = get_close_matches(str(value), known) if len(known) > _SEEN_AT_ONCE else ()
        hint = f"; choose one of {', '.join(known)}"
        if near or action.dest == "command":  # all commands are too many to be read
            hint = f"; nearest: {', '.join(near)}" if near else ""
        raise argparse.ArgumentError(action, f"{quote(str(value))} is unknown{hint}")

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        """Print help as everything else is printed: argparse itself overlooks a full disk."""
        if file is sys.stdout:
            print_line(message.rstrip("\n"))
        else:
            super()._print_message(message, file)


class _RootParser(_Parser):
    """Shows the page of all commands in place of argparse's own list of them."""

    def format_help(self) -> str:
        return format_page()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 (done), 1 (not done, and why) or 2 (wrong usage)."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    if words[:1] in (["help"], ["--help"], ["-h"]):  # as one asks git
        words = [*words[1:2], "--help"]
    try:
        prepare_streams()
        return _run_command(words)
    except LostOutputError as error:
        return error.report()


def _run_command(words: Sequence[str]) -> int:
    try:
        with import_whole():
            args = _parse(words)
            if args.version:
                return _print_version(as_json=args.json)
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


def _print_version(*, as_json: bool) -> int:
    if as_json:
        print_json({"success": True, "version": __version__})
    else:
        print_line(f"memory-mcp {__version__}")
    return 0


def _parse(words: Sequence[str]) -> argparse.Namespace:
    absent = argparse.Namespace(json=False, project=None, branch=None, version=False)
    parser = make_parser(words)
    _refuse_early_option(words)
    args, strange = parser.parse_known_args(words, absent)
    if args.command:
        takes = find_entry(args.command).takes
        placed = [f"--{name}" for name in PLACES if getattr(args, name) is not None]
        strange = [each for each in placed if each.removeprefix("--") not in takes] + strange
    if strange:
        command = f"{parser.prog} {args.command or ''}".rstrip()
        what = args.command or parser.prog
        # the values of unknown options are none themselves
        named = [word for word in strange if word.startswith("-")] or [*map(quote, strange)]
        raise _WrongUsageError(command, f"{what} takes no {', '.join(named)}")
    return args


def _refuse_early_option(words: Sequence[str]) -> None:
    """Refuse an option of a command that stands before it: its value would be taken for a command.

    Raises:
        _WrongUsageError: there is one.
    """
    rest = iter(words)
    for word in rest:
        option, equals, _ = word.partition("=")
        if not word.startswith("-"):
            return
        if option.removeprefix("--") in PLACES:
            if not equals:
                next(rest, None)
        elif word not in _ANYWHERE:
            known = {entry.name for entry in (*LISTED, *FOR_PROGRAMS)}
            command = next((each for each in rest if each in known), "")
            message = f"{option} is no option of memory-mcp itself: those of a command go after it"
            if command:
                message = f"{option} stands before its command; write it after {command}"
            raise _WrongUsageError(f"memory-mcp {command}".rstrip(), message)


def make_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The command that the words begin with; else every command, with the options of those named.

    To make the parser of every command takes longer than most commands.
    """
    parser = _RootParser(prog="memory-mcp")
    add_common_options(parser, tuple(PLACES))
    parser.add_argument("--version", action="store_true")
    # named here, because argparse would lay out a page of help to find out what they begin with
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", parser_class=_Parser, prog=parser.prog
    )
    known = (*LISTED, *(each for each in FOR_PROGRAMS if each.name in words))
    asked = [each for each in known if [each.name] == [*words[:1]]]
    for entry in asked or known:
        _add_command(commands.add_parser, entry, named=entry.name in words)
    return parser


def _add_command(
    add_parser: Callable[..., argparse.ArgumentParser], entry: Entry, *, named: bool
) -> None:
    command = add_parser(entry.name, description=_make_sentence(entry.summary))
    add_common_options(command, entry.takes)
    if entry.name == "hook":
        _add_hook_options(command)
    elif named:
        import_module(f"memory_mcp.cli.{entry.module}").COMMANDS[entry.name].add_to(command)


def _make_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


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
