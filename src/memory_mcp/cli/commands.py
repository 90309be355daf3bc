"""Carry out a command: read the settings, open the workspace if it needs one, print the outcome.

The module of each command declares it as a `Subcommand` in its table `COMMANDS`.
"""

import asyncio
import gc
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from memory_mcp.cli.arguments import PLACES, add_common_options
from memory_mcp.cli.inputs import UsageError
from memory_mcp.cli.output import (
    USAGE,
    LostOutputError,
    Output,
    print_error,
    print_note,
    print_output,
)
from memory_mcp.config.load import LoadedSettings, load_settings
from memory_mcp.config.settings import Settings, require_home
from memory_mcp.config.values import resolve_folder
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace, refuse_writes
from memory_mcp.errors import InvalidRequestError, MemoryMcpError, StoreError
from memory_mcp.frozen import frozen
from memory_mcp.hints import use_words_of
from memory_mcp.shutdown import INTERRUPTED, describe_interruption, run_to_end

if TYPE_CHECKING:
    from memory_mcp.build import BuiltWorkspace

_NEW_OBJECTS_MAX: Final = 60_000
"""Between two searches for garbage. The default, 700, costs a short command a fortieth of its time,
and there is none: it imports as it goes, and ends. An add leaves 23,000."""

_GIT_SECONDS_MAX: Final = 1.0
"""A command waits so long for git's word on files that are gone, as a call that reads does."""

_WITHOUT_HOME: Final = ("config", "demo", "serve")
"""Commands that go on where the home cannot be used: to say it, or with a home of their own."""

Handler = Callable[[LoadedSettings, Namespace], Output | Skipped]
WorkspaceHandler = Callable[[Workspace, Namespace], Awaitable[Output | Skipped]]


@frozen
class Subcommand:
    """What carries out a command, and what adds its options to its parser."""

    handler: Handler
    add_options: Callable[[ArgumentParser], None] | None = None

    def add_to(self, parser: ArgumentParser) -> None:
        """Let this parser take the options, and name the handler in what it parses."""
        if self.add_options:
            self.add_options(parser)
        parser.set_defaults(handler=self.handler)


def add_actions(
    parser: ArgumentParser, *, places: Sequence[str] = tuple(PLACES)
) -> Callable[[str, str], ArgumentParser]:
    """Let a command take actions; returns what adds one by its name and summary.

    Options that say whose memory it is may stand before an action; those of `places` after it too.
    """
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog=parser.prog)

    def add_action(name: str, summary: str) -> ArgumentParser:
        action = actions.add_parser(name, help=summary, description=summary)
        add_common_options(action, (), places=places)
        return action

    return add_action


def in_workspace(handler: WorkspaceHandler) -> Handler:
    """Make a handler of one that needs an open workspace."""

    def run_handler(loaded: LoadedSettings, args: Namespace) -> Output | Skipped:
        gc.set_threshold(_NEW_OBJECTS_MAX)
        return run_to_end(_run_in_workspace(loaded.settings, args, handler))

    return run_handler


def run(args: Namespace) -> int:
    """Carry out the parsed command and print its outcome; returns the exit status."""
    with use_words_of("command"):
        return _run(args)


def _run(args: Namespace) -> int:
    try:
        loaded = _load_settings(args)
        gc.freeze()  # what was imported stays
        gc.enable()
        outcome: Output | Skipped = args.handler(loaded, args)
        if isinstance(outcome, Skipped):
            noted = outcome.reason in loaded.settings.warnings and not args.json
            outcome = Output({"success": False, "message": outcome.reason}, silent=noted)
        said = outcome.fields.get("message")
        warnings = [warning for warning in loaded.settings.warnings if warning != said]
        if args.json and warnings:  # as the tools answer
            outcome = replace(outcome, fields={**outcome.fields, "note": " ".join(warnings)})
        return print_output(outcome, as_json=args.json)
    except BaseExceptionGroup as group:  # the demo prints within a task group
        if lost := _find_lost_output(group):
            raise lost from group
        raise
    except UsageError as error:
        return print_error(str(error), as_json=args.json, status=USAGE)
    except MemoryMcpError as error:
        return print_error(str(error), as_json=args.json)
    except KeyboardInterrupt:
        if not getattr(args, "follow", False):  # which ends in no other way
            print_error(describe_interruption(), as_json=args.json)
        return INTERRUPTED


def _find_lost_output(error: BaseException) -> LostOutputError | None:
    """The loss of stdout among these errors."""
    match error:
        case LostOutputError():
            return error
        case BaseExceptionGroup(exceptions=errors):
            return next(filter(None, map(_find_lost_output, errors)), None)
        case _:
            return None


def _load_settings(args: Namespace) -> LoadedSettings:
    folder = resolve_folder("--project", args.project) if args.project else None
    if folder and not folder.is_dir():
        raise InvalidRequestError(f"--project {args.project!r} is no folder. Name one that exists.")
    loaded = load_settings(project=folder)
    if args.command not in _WITHOUT_HOME:
        require_home(loaded.settings)
    if args.command != "config":  # which shows them itself, beside the settings
        for warning in loaded.settings.warnings:
            print_note(warning)
    if args.branch is None:
        return loaded
    return replace(loaded, settings=replace(loaded.settings, branch=args.branch))


async def _run_in_workspace(
    settings: Settings, args: Namespace, handler: WorkspaceHandler
) -> Output | Skipped:
    from memory_mcp.bootstrap import render_if_stale
    from memory_mcp.build import open_workspace

    args.project_dir = settings.project_dir
    async with open_workspace(settings) as built, _follow_others(built, args):
        if lost := built.places.lost:
            print_note(lost)
        if built.workspace.code:
            built.workspace.code.patience_seconds = _GIT_SECONDS_MAX
        await _complete_what_waits(built.workspace, doctor=args.command == "doctor")
        outcome = await handler(built.workspace, args)
        await render_if_stale(built.workspace)  # a session may have ended before it did
        for note in built.workspace.git.take_notes() if built.workspace.git else ():
            print_note(note)
        return outcome


@asynccontextmanager
async def _follow_others(built: "BuiltWorkspace", args: Namespace) -> AsyncGenerator[None]:
    """Hear at once what others change in a database, where the command follows it."""
    if not getattr(args, "follow", False):
        yield
        return
    leaving = asyncio.Event()
    following = asyncio.create_task(built.keep_following(leaving))
    try:
        yield
    finally:
        leaving.set()
        await following


async def _complete_what_waits(workspace: Workspace, *, doctor: bool) -> None:
    """Complete an import that was cut short, and process the inbox, where there is any of it."""
    if refuse_writes(workspace):
        return
    # the doctor reports it, and repairs if asked to
    if not doctor and await workspace.journal.waiting():
        from memory_mcp.transfer import complete_import

        with suppress(StoreError):  # the command reports it, if that concerns it
            await complete_import(workspace)
    # a database that is away is asked once: the doctor names what waits, and so does its error
    if not doctor and workspace.waiting:
        from memory_mcp.memories import deliver_waiting

        with suppress(MemoryMcpError):
            await deliver_waiting(workspace)
    with suppress(MemoryMcpError):  # the inbox waits; the command reports what concerns it
        if await workspace.inbox.waiting():
            from memory_mcp.sessions import process_inbox

            await process_inbox(workspace)
