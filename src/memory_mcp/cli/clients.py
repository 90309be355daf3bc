"""`memory-mcp install` and `uninstall`: add memory-mcp to a client, or remove it."""

import json
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from difflib import unified_diff
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final, TypeVar

from memory_mcp.cli.client_files import ClientFile, open_client_file
from memory_mcp.cli.commands import Subcommand
from memory_mcp.cli.output import Fields, Output
from memory_mcp.clients import plans
from memory_mcp.clients.jsonc import NotAnObjectError, NotJsonError, has_value, parse_document
from memory_mcp.clients.plans import Command
from memory_mcp.clients.tables import (
    CLIENTS,
    Client,
    ClientName,
    Folders,
    Platform,
    Scope,
    find_packages_folder,
    find_target,
    list_deciding_files,
)
from memory_mcp.config.places import find_current_folder
from memory_mcp.config.settings import Settings, add_toolsets, read_client_variables
from memory_mcp.errors import ConflictError, InvalidRequestError
from memory_mcp.locations import LostWorkTreeError, find_main_work_tree, find_work_tree

Plan = TypeVar("Plan")

_TRIES: Final = 3
"""A session of Claude Code may write its file between our reading and writing it."""
_MEMORIES_STAY: Final = (
    "Memories stay where they are. Sessions that are running keep it until they end."
)
_PLATFORMS: Final[dict[str, Platform]] = {"win32": "windows", "darwin": "macos"}


class _ClientEntry:
    """The entry to install or remove: of which client, in which file, under which name."""

    def __init__(self, settings: Settings, args: Namespace) -> None:
        self.key: ClientName = args.client
        self.client: Client = CLIENTS[self.key]
        self.scope: Scope = args.scope or self.client.scopes[0]
        if self.scope not in self.client.scopes:
            raise InvalidRequestError(
                f"{self.client.title} has no scope {self.scope!r}; choose "
                f"{' or '.join(self.client.scopes)}."
            )
        self.name = plans.check_name(args.name)
        self.label = f"The server {self.name!r}"
        self.dry_run: bool = args.dry_run
        folders = _find_folders(settings, self.scope)
        target = find_target(self.key, self.scope, folders)
        self.path = (*target.path, self.name)
        self._file = Path(target.file)
        self._root = str(folders.project) if self.scope == "project" else ""

    @property
    def locked(self) -> bool:
        """Whether running sessions write this file too."""
        return self.key == "claude-code" and self.scope != "project"

    def open_file(self) -> ClientFile:
        return open_client_file(self._file, private=self.scope != "project", root=self._root)

    def make_output(self, file: ClientFile, *, success: bool = True, **more: Any) -> Output:
        more["notes"] = [note for note in more.get("notes", ()) if note]
        fields = {"success": success, "client": self.key, "scope": self.scope, "name": self.name,
                  "file": str(file.path), **more}  # fmt: skip
        return Output(fields, _entry_text)


def _entry_text(fields: Fields) -> str:
    first = fields["diff"] if "diff" in fields else fields["message"]
    return "\n".join([first, *fields["notes"]])


def install(settings: Settings, args: Namespace) -> Output:
    """Put memory-mcp into the configuration of a client."""
    entry = _ClientEntry(settings, args)
    add_toolsets(settings, args.toolsets)
    folder = str(settings.project_dir) if args.project else ""
    if folder and (entry.key, entry.scope) == ("claude-code", "user"):
        raise InvalidRequestError(
            f"In scope 'user' every project would get the memories of {folder}. Leave --project "
            "out, Claude Code names the project; or take --scope local or --scope project."
        )
    command, note = _choose_command(entry, folder, args.toolsets)
    wanted = plans.make_entry(entry.client, command)
    return _retry_on_conflict(lambda: _install(entry, wanted, note, force=args.force))


def _install(entry: _ClientEntry, wanted: dict[str, Any], note: str, *, force: bool) -> Output:
    file = entry.open_file()
    text = file.text
    command = {"command": wanted["command"], "args": wanted["args"]}
    match _make_plan(file, lambda: plans.plan_install(text, entry.path, wanted, force=force)):
        case plans.AlreadyInstalled():
            message = f"{entry.label} is in {file.path} already: nothing to do."
            return entry.make_output(file, **command, changed=False, message=message,
                                     notes=[_plugin_note(entry)])  # fmt: skip
        case plans.DifferentEntry(what, ours):
            message = (
                f"{entry.label} in {file.path} is another: {'; '.join(what)}. Nothing was changed. "
                + ("--force puts that right and keeps the rest." if ours else
                   "Take another name with --name, or put memory-mcp in its place with --force.")
            )  # fmt: skip
            return entry.make_output(file, success=False, changed=False, message=message)
        case plans.ConfigEdit(after):
            notes = [note, _comment_note(entry.client, text)]
            if entry.dry_run:
                notes.append(_plugin_note(entry))
                return _show_diff(entry, file, text, after, **command, notes=notes)
            copy = file.replace(after, locked=entry.locked, keep=True)
            kept = f" What it was is in {copy.name}." if copy else ""
            return entry.make_output(
                file, **command, changed=True, backup=copy and str(copy),
                message=f"{entry.label} is in {file.path}.{kept}",
                notes=[*notes, entry.client.next_step, _plugin_note(entry)],
            )  # fmt: skip


def _add_install_options(parser: ArgumentParser) -> None:
    _add_entry_options(parser)
    parser.add_argument("--toolsets", default="", help="further tools, e.g. branches,session")
    parser.add_argument("--force", action="store_true", help="put right an entry of that name")


def uninstall(settings: Settings, args: Namespace) -> Output:
    """Take memory-mcp out of the configuration of a client."""
    entry = _ClientEntry(settings, args)
    return _retry_on_conflict(lambda: _uninstall(entry))


def _uninstall(entry: _ClientEntry) -> Output:
    file = entry.open_file()
    text = file.text
    match _make_plan(file, lambda: plans.plan_uninstall(text, entry.path, file.older_texts())):
        case plans.NotInstalled():
            message = f"There is no server {entry.name!r} in {file.path}: nothing to do."
            return entry.make_output(file, changed=False, message=message)
        case plans.OtherServer():
            message = (
                f"{entry.label} in {file.path} does not start memory-mcp, and is left as it is."
            )
            return entry.make_output(file, success=False, changed=False, message=message)
        case plans.ConfigEdit(after):
            if entry.dry_run:
                return _show_diff(entry, file, text, after)
            file.replace(after, locked=entry.locked)
            copy = file.drop_copies()
            kept = f"What the file was before the install is still in {copy.name}." if copy else ""
            message = f"{entry.label} is out of {file.path}."
            if after is None:
                message = f"{message[:-1]}; the file held nothing else, and is gone."
            elif has_value(after, entry.path):
                message = f"{entry.label} in {file.path} is again what it was before the install."
            notes = [kept, _MEMORIES_STAY]
            return entry.make_output(file, changed=True, message=message, notes=notes)


def _add_entry_options(parser: ArgumentParser) -> None:
    parser.add_argument("client", choices=tuple(CLIENTS), help=", ".join(CLIENTS), metavar="CLIENT")
    parser.add_argument(
        "--scope",
        choices=("user", "project", "local"),
        help="user: every project of yours; project: a file in the project, for all who work on it;"
        " local: yours, in this project (Claude Code). Default: user, for editors project",
    )
    parser.add_argument("--name", default="memory", help="of the entry (default memory)")
    parser.add_argument("--dry-run", action="store_true", help="show the change, write nothing")


def _plugin_note(entry: _ClientEntry) -> str:
    """How the plugin for Claude Code is installed: a wheel brings it along, a checkout has it."""
    if entry.key != "claude-code":
        return ""
    packaged = Path(__file__).parents[1] / "plugin"
    folder = packaged if packaged.is_dir() else Path(__file__).parents[3]
    how = f'claude plugin marketplace add "{folder}" && claude plugin install memory-mcp@memory-mcp'
    if plans.is_temporary(Path(sys.prefix)):
        how = "install it for good first (uv tool install backtrack-memory), and run this again."
    return f"The plugin has hooks as well; in place of this entry: {how}"


def _retry_on_conflict(act: Callable[[], Output]) -> Output:
    for _ in range(_TRIES - 1):
        try:
            return act()
        except ConflictError:
            continue
    return act()


def _make_plan(file: ClientFile, plan: Callable[[], Plan]) -> Plan:
    try:
        return plan()
    except NotJsonError as error:
        raise InvalidRequestError(
            f"{file.path} is no JSON, {error}. It is left as it is; mend it, and run this again."
        ) from error
    except NotAnObjectError as error:
        raise InvalidRequestError(
            f"{file.path} is left as it is: {error}. Mend that, and run this again."
        ) from error


def _show_diff(
    entry: _ClientEntry, file: ClientFile, before: str | None, after: str | None, **more: Any
) -> Output:
    lines = unified_diff(
        (before or "").splitlines(), (after or "").splitlines(),
        str(file.path) if before is not None else "/dev/null",
        str(file.path) if after is not None else "/dev/null",
        n=1, lineterm="",
    )  # fmt: skip  # little around it: other servers' keys may stand there
    return entry.make_output(file, changed=False, diff="\n".join(lines), **more)


def _comment_note(client: Client, text: str | None) -> str:
    line = (
        parse_document(text).extra
        if client.plain and text and text.strip("\ufeff \t\r\n")
        else None
    )
    if line is None:
        return ""
    return (
        f"{client.title} reads plain JSON: what is in line {line} keeps it from reading the file."
    )


def _find_folders(settings: Settings, scope: Scope) -> Folders:
    found = settings.project_dir or find_work_tree(str(find_current_folder().absolute()))
    project = Path(found) if found else None
    if project and scope == "local":  # Claude Code keeps these for all work trees together
        resolved = str(project.resolve())
        try:
            project = Path(find_main_work_tree(find_work_tree(resolved) or resolved))
        except LostWorkTreeError as error:
            raise InvalidRequestError(f"{error}, and run this again.") from error
    folders = Folders(
        platform=_PLATFORMS.get(sys.platform, "linux"),
        home=Path.home(),
        project=project.resolve() if project else None,
        variables=read_client_variables(),
    )
    packages = Path(find_packages_folder(folders))
    names = [p.name for p in packages.iterdir()] if packages.is_dir() else []
    present = frozenset(path for path in list_deciding_files(folders) if Path(path).exists())
    return replace(folders, packages=names, present=present)


def _choose_command(entry: _ClientEntry, folder: str, toolsets: str) -> tuple[Command, str]:
    """How the client starts the memory-mcp that runs here, and a note on it or none."""
    arguments = plans.make_arguments(entry.client, entry.scope, folder, toolsets)
    shared = entry.scope == "project"
    if plans.is_temporary(Path(sys.prefix)):
        return _runner_command(arguments, shared=shared)
    own = _find_program()
    if shared:
        return Command(plans.PROGRAM, arguments), _other_program_note(entry, own)
    if own is None:
        return Command(sys.executable, ("-m", "memory_mcp", *arguments)), ""
    return Command(str(own), arguments), ""


def _other_program_note(entry: _ClientEntry, own: Path | None) -> str:
    """A shared file holds a bare name: what to do if that name starts another program."""
    found = shutil.which(plans.PROGRAM)
    if found and own and Path(found).resolve() == own.resolve():
        return ""
    here = f"the folder of {own}" if own else "one"
    mine = " or ".join(f"--scope {scope}" for scope in entry.client.scopes if scope != "project")
    return (
        f"{entry.client.title} will start {found or 'nothing'}: others share this file, so it says "
        f"{plans.PROGRAM} and no path of this machine. Put {here} on the PATH, or take {mine}."
    )


def _runner_command(arguments: tuple[str, ...], *, shared: bool) -> tuple[Command, str]:
    """For a memory-mcp fetched for one run: the command that fetches the same one each time."""
    path = shutil.which("uvx") or shutil.which("pipx") or "uvx"
    name = Path(path).stem
    runs = ("run", "--spec") if name == "pipx" else ("--from",)
    source = _install_source()
    words = (*runs, source, plans.PROGRAM) if source else (*runs[:-1], plans.PACKAGE)
    note = f"This memory-mcp was fetched for one run only, so {name} fetches it for the client too."
    return Command(name if shared else path, (*words, *arguments)), note


def _install_source() -> str:
    """The URL this program was fetched from; empty if it came by its name."""
    text = distribution(plans.PACKAGE).read_text("direct_url.json")
    if not text:
        return ""
    origin = json.loads(text)
    url, vcs = origin["url"], origin.get("vcs_info")
    return f"{plans.PACKAGE} @ " + (f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url)


def _find_program() -> Path | None:
    """The path of the command that runs, or of the one beside this Python."""
    suffix = ".exe" if sys.platform == "win32" else ""
    beside = Path(sys.executable).with_name(f"{plans.PROGRAM}{suffix}")
    started = Path(sys.argv[0])
    if started.stem == plans.PROGRAM:
        for path in (started, started.with_suffix(suffix)):
            if path.is_file():
                return path.absolute()
    found = shutil.which(plans.PROGRAM)
    return beside if beside.is_file() else Path(found).absolute() if found else None


COMMANDS: Final = {
    "install": Subcommand(install, _add_install_options),
    "uninstall": Subcommand(uninstall, _add_entry_options),
}
