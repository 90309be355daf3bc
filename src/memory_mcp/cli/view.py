"""`memory-mcp view`: the timeline and the memories as a page in the browser, or as a file."""

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from memory_mcp.cli.arguments import parse_path, parse_port
from memory_mcp.cli.commands import Subcommand
from memory_mcp.cli.inputs import UsageError, find_target
from memory_mcp.cli.output import Output, ask_choice, can_ask, print_note
from memory_mcp.config.load import LoadedSettings
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import make_off
from memory_mcp.errors import InvalidRequestError
from memory_mcp.shutdown import import_whole, run_to_end


def view(loaded: LoadedSettings, args: Namespace) -> Output | Skipped:
    """Show the page until it is ended, or write it into a file."""
    if not loaded.settings.enabled:
        return make_off(loaded.settings.off)
    if args.force and not args.export:
        raise UsageError("--force is about the file of --export: name it, or leave --force out.")
    if args.export and (args.port or args.no_open):
        raise UsageError(
            "--export writes a file and serves nothing: leave --port and --no-open out."
        )
    target = find_target(args.export) if args.export else None
    if target and not (args.force or _may_write(target, asks=not args.json)):
        return Output({"success": False, "message": "Nothing was written."})
    if target:
        with import_whole():
            from memory_mcp.server.page.collect import export_page

        size = run_to_end(export_page(loaded.settings, target))
        message = f"Written: {target} ({size / 1_000_000:.1f} MB). It can change nothing."
        return Output({"success": True, "file": str(target), "bytes": size, "message": message})
    with import_whole():
        from memory_mcp.server.page.run import serve_page  # imports the web server

    opens = not args.no_open
    run_to_end(serve_page(loaded.settings, args.port, _announce, opens=opens))
    return Output({"success": True}, silent=True)


def _may_write(target: Path, *, asks: bool) -> bool:
    """Whether nothing is there, or the user gives it up.

    Raises:
        InvalidRequestError: something is there, and nobody can be asked.
    """
    if not os.path.lexists(target):
        return True
    if target.is_dir():
        raise InvalidRequestError(f"{str(target)!r} is a folder: name a file.")
    if asks and can_ask():
        return ask_choice(f"{str(target)!r} is there. Write over it?", ("yes", "no")) == "yes"
    raise InvalidRequestError(
        f"{str(target)!r} is there. Name another file, or repeat with --force to write over it."
    )


def _announce(address: str) -> None:
    print_note(f"the page is at {address} (this address works once); Ctrl-C ends it.")


def _add_view_options(parser: ArgumentParser) -> None:
    parser.add_argument("--port", metavar="N", type=parse_port, default=0,
                        help="default: any free one of this machine")  # fmt: skip
    parser.add_argument("--no-open", action="store_true", help="say the address, open no browser")
    parser.add_argument("--export", metavar="FILE", type=parse_path,
                        help="write the page into one file that can change nothing")  # fmt: skip
    parser.add_argument("--force", action="store_true", help="write over what FILE is now")


COMMANDS: Final = {"view": Subcommand(view, _add_view_options)}
