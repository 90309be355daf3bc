"""Carry out a command: read settings, open the workspace, call a use case, show the outcome."""

import argparse
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from memory_mcp import bootstrap, branches, sessions, transfer
from memory_mcp.build import open_workspace
from memory_mcp.cli import show
from memory_mcp.cli import sync as cloud
from memory_mcp.cli.maintenance import doctor, reindex, trust, trusted_list
from memory_mcp.cli.memories import add, forget, search, update
from memory_mcp.cli.models import models
from memory_mcp.cli.nudges import nudge
from memory_mcp.cli.sessions import consolidate, episode, identity, make_closeout, phase, profile
from memory_mcp.cli.show import say
from memory_mcp.cli.sync import sync
from memory_mcp.cli.transfer import export, import_
from memory_mcp.config.settings import Settings, add_toolsets, read_settings
from memory_mcp.config.values import resolve_folder
from memory_mcp.domain.outcomes import BranchCreated, HeadReport, MovePreview, Skipped
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, MemoryMcpError, StoreError
from memory_mcp.render.block import Block
from memory_mcp.render.outcomes import (
    render_fields,
    render_head,
    render_head_fields,
    render_preview,
)
from memory_mcp.shutdown import INTERRUPTED, describe_interruption, run_to_end

Given = argparse.Namespace
Output = show.Output


def run(given: Given) -> int:
    """Carry out the command and show what came of it."""
    show.speak_utf8()
    as_json = getattr(given, "json", False)
    try:
        settings = _settings(given)
        match given.command:
            case None | "serve":
                return _serve(settings, given)
            case "demo":
                from memory_mcp.cli.demo import demo  # noqa: PLC0415  # imports the MCP SDK

                return run_to_end(demo(as_json=as_json))
            case "trust" if given.list:
                shown = trusted_list(settings)
            case name if name in _WITHOUT_ROOMS:
                shown = _WITHOUT_ROOMS[name](settings, given)
            case name:
                shown = run_to_end(_in_workspace(settings, given, _COMMANDS[name]))
        return show.show(shown, as_json=as_json)
    except (BrokenPipeError, BaseExceptionGroup) as error:  # memory-mcp … | head
        if show.is_closed_pipe(error):
            return 1
        raise
    except MemoryMcpError as error:
        return show.error(str(error), as_json=as_json)
    except KeyboardInterrupt:
        show.error(describe_interruption(), as_json=as_json)
        return INTERRUPTED


def _settings(given: Given) -> Settings:
    settings = read_settings()
    for warning in settings.warnings:
        say(f"memory-mcp: {warning}", to=sys.stderr)
    if project := getattr(given, "project", None):
        folder = resolve_folder("--project", project)
        if not folder.is_dir():
            raise InvalidRequestError(f"--project {project!r} is no folder. Name one that exists.")
        settings = replace(settings, project_dir=folder)
    return replace(settings, branch=getattr(given, "branch", settings.branch))


def _serve(settings: Settings, given: Given) -> int:
    from memory_mcp.server.main import serve  # noqa: PLC0415  # imports the MCP SDK

    if given.command is None:
        serve(settings, "stdio", "127.0.0.1", 0)
    else:
        settings = add_toolsets(settings, given.toolsets)
        serve(settings, given.transport, given.host, given.port)
    return 0


async def _in_workspace(
    settings: Settings, given: Given, command: Callable[[Workspace, Given], Awaitable[Output]]
) -> Output:
    given.project_dir = settings.project_dir
    async with open_workspace(settings) as built:
        if lost := built.places.lost:
            say(f"memory-mcp: {lost}", to=sys.stderr)
        with suppress(StoreError):  # the command says what is wrong, if that concerns it
            if command is not doctor:  # which names what it finds, and mends it if it is asked to
                await transfer.complete_import(built.workspace)
        with suppress(MemoryMcpError):  # what hooks left waits on; the command says what is wrong
            await sessions.process_inbox(built.workspace)
        shown = await command(built.workspace, given)
        await bootstrap.render_if_stale(built.workspace)  # a session may have ended before it did
        return shown


async def _head(workspace: Workspace, given: Given) -> Output:
    del given
    match await branches.report_head(workspace):
        case HeadReport() as report:
            return Output(
                {"success": True, **render_head_fields(report)}, lambda _: render_head(report)
            )
        case Skipped(reason):
            return _skipped(reason)


async def _checkpoint(workspace: Workspace, given: Given) -> Output:
    if given.decision and not given.pending:
        raise InvalidRequestError(
            f"--decision {given.decision} is about a checkpoint that is pending: name it with "
            "--pending ID (memory-mcp head lists them), or leave --decision out to seal a new one."
        )
    if given.pending:
        decided = await branches.decide_checkpoint(
            workspace, given.pending, given.decision or "save", given.summary, again=given.again
        )
        return Output(render_fields(decided))
    # whoever types the command is the user: typing it is the approval
    outcome = await branches.checkpoint(
        workspace,
        given.summary,
        given.phase,
        again=given.again,
        approval="approved",
        closeout=make_closeout(given),
    )
    return Output(render_fields(outcome))


async def _backtrack(workspace: Workspace, given: Given) -> Output:
    choice: branches.Choice | Literal[""] = given.mode
    token: str = given.confirm
    if not choice:
        match await branches.preview_backtrack(workspace, given.to):
            case MovePreview() as preview if show.can_ask() and not getattr(given, "json", False):
                choice, token = show.ask(render_preview(preview), _CHOICES), preview.token
            case MovePreview() | Skipped() as outcome:
                return Output(render_fields(outcome))
    outcome = await branches.backtrack(
        workspace, given.to, choice, lesson=given.lesson, token=token
    )
    return Output(render_fields(outcome))


async def _fork(workspace: Workspace, given: Given) -> Output:
    match await branches.fork_branch(workspace, given.name, given.at):
        case BranchCreated(branch, at):
            message = f"Branch {branch} begun. Work on it with --branch {branch} (MEMORY_BRANCH)."
            return Output({"success": True, "branch": branch, "at": at, "message": message})
        case Skipped(reason):
            return _skipped(reason)


async def _context(workspace: Workspace, given: Given) -> Output:
    match await sessions.memory_context(workspace, given.task, given.budget_tokens, given.since):
        case Block() as block:
            fields = {"success": True, "context": block.text, "tokens": block.tokens,
                      "shown": block.shown, "leftOut": block.left_out,
                      "since": block.since}  # fmt: skip
            return Output(fields, lambda _: block.text)
        case Skipped(reason):
            return _skipped(reason)


def _client(settings: Settings, given: Given) -> Output:
    from memory_mcp.cli import clients  # noqa: PLC0415  # 7 ms that no other command needs

    return (clients.install if given.command == "install" else clients.uninstall)(settings, given)


_CHOICES: tuple[branches.Choice, ...] = ("continue", "forget", "abort")

_WITHOUT_ROOMS: dict[str, Callable[[Settings, Given], Output]] = {
    "login": lambda settings, _: cloud.login(settings),
    "logout": lambda settings, _: cloud.logout(settings),
    "status": lambda settings, _: cloud.status(settings),
    "models": models,
    "install": _client,
    "uninstall": _client,
}

_COMMANDS: dict[str, Callable[[Workspace, Given], Awaitable[Output]]] = {
    "add": add,
    "search": search,
    "update": update,
    "forget": forget,
    "head": _head,
    "checkpoint": _checkpoint,
    "backtrack": _backtrack,
    "fork": _fork,
    "context": _context,
    "profile": profile,
    "episode": episode,
    "consolidate": consolidate,
    "phase": phase,
    "identity": identity,
    "import": import_,
    "export": export,
    "reindex": reindex,
    "sync": sync,
    "doctor": doctor,
    "trust": trust,
    "nudge": nudge,
}


def _skipped(reason: str) -> Output:
    return Output({"success": False, "message": reason})
