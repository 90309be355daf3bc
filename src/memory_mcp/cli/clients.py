"""`memory-mcp install` and `uninstall`: add memory-mcp to a client, or remove it."""

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from difflib import unified_diff
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final, TypeVar

from memory_mcp.cli.client_files import ClientFile, open_client_file
from memory_mcp.cli.show import Fields, Output
from memory_mcp.clients import plans
from memory_mcp.clients import plans as entries
from memory_mcp.clients.jsonc import NotAnObjectError, NotJsonError, has_value, parse_document
from memory_mcp.clients.plans import Command
from memory_mcp.clients.tables import (
    CLIENTS,
    Client,
    ClientName,
    Folders,
    Platform,
    Scope,
    Target,
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


class _Place:
    """Which client, where it is told of servers, and under which name."""

    def __init__(self, settings: Settings, given: argparse.Namespace) -> None:
        self.key: ClientName = given.client
        self.client: Client = CLIENTS[self.key]
        self.scope: Scope = given.scope or self.client.scopes[0]
        if self.scope not in self.client.scopes:
            raise InvalidRequestError(
                f"{self.client.title} has no scope {self.scope!r}; choose "
                f"{' or '.join(self.client.scopes)}."
            )
        self.name = entries.check_name(given.name)
        self.dry: bool = given.dry_run
        folders = _find_folders(settings, self.scope)
        found: Target = find_target(self.key, self.scope, folders)
        self.path = (*found.path, self.name)
        self.asked = Path(found.file)
        self.root = str(folders.project) if self.scope == "project" else ""

    @property
    def locked(self) -> bool:
        """Whether running sessions write this file too."""
        return self.key == "claude-code" and self.scope != "project"

    @property
    def named(self) -> str:
        """The entry, in a sentence."""
        return f"The server {self.name!r}"

    def opened(self) -> ClientFile:
        return open_client_file(self.asked, private=self.scope != "project", root=self.root)

    def fields(self, file: ClientFile, *, success: bool = True, **more: Any) -> Output:
        more["notes"] = [note for note in more.get("notes", ()) if note]
        told = {"client": self.key, "scope": self.scope, "name": self.name, "file": str(file.path)}
        return Output({"success": success, **told, **more}, _as_text)


def install(settings: Settings, given: argparse.Namespace) -> Output:
    """Put memory-mcp into the configuration of a client."""
    place = _Place(settings, given)
    add_toolsets(settings, given.toolsets)
    folder = str(settings.project_dir) if getattr(given, "project", None) else ""
    if folder and (place.key, place.scope) == ("claude-code", "user"):
        raise InvalidRequestError(
            f"In scope 'user' every project would get the memories of {folder}. Leave --project "
            "out, Claude Code names the project; or take --scope local or --scope project."
        )
    command, note = _command(place, folder, given.toolsets)
    wanted = entries.make_entry(place.client, command)
    return _retry_on_conflict(lambda: _install(place, wanted, note, force=given.force))


def _install(place: _Place, wanted: dict[str, Any], note: str, *, force: bool) -> Output:
    file = place.opened()
    text = file.text
    told = {"command": wanted["command"], "args": wanted["args"]}
    match _make_plan(file, lambda: plans.plan_install(text, place.path, wanted, force=force)):
        case plans.AlreadyInstalled():
            message = f"{place.named} is in {file.path} already: nothing to do."
            return place.fields(file, **told, changed=False, message=message,
                                notes=[_plugin_note(place)])  # fmt: skip
        case plans.DifferentEntry(what, ours):
            message = (
                f"{place.named} in {file.path} is another: {'; '.join(what)}. Nothing was changed. "
                + ("--force puts that right and keeps the rest." if ours else
                   "Take another name with --name, or put memory-mcp in its place with --force.")
            )  # fmt: skip
            return place.fields(file, success=False, changed=False, message=message)
        case plans.ConfigEdit(after):
            notes = [note, _comment_note(place.client, text)]
            if place.dry:
                return _show_diff(
                    place, file, text, after, **told, notes=[*notes, _plugin_note(place)]
                )
            copy = file.replace(after, locked=place.locked, keep=True)
            kept = f" What it was is in {copy.name}." if copy else ""
            message = f"{place.named} is in {file.path}.{kept}"
            return place.fields(
                file, **told, changed=True, backup=copy and str(copy), message=message,
                notes=[*notes, place.client.next_step, _plugin_note(place)],
            )  # fmt: skip


def uninstall(settings: Settings, given: argparse.Namespace) -> Output:
    """Take memory-mcp out of the configuration of a client."""
    place = _Place(settings, given)
    return _retry_on_conflict(lambda: _uninstall(place))


def _uninstall(place: _Place) -> Output:
    file = place.opened()
    text = file.text
    match _make_plan(file, lambda: plans.plan_uninstall(text, place.path, file.older_texts())):
        case plans.NotInstalled():
            message = f"There is no server {place.name!r} in {file.path}: nothing to do."
            return place.fields(file, changed=False, message=message)
        case plans.OtherServer():
            message = (
                f"{place.named} in {file.path} does not start memory-mcp, and is left as it is."
            )
            return place.fields(file, success=False, changed=False, message=message)
        case plans.ConfigEdit(after):
            if place.dry:
                return _show_diff(place, file, text, after)
            file.replace(after, locked=place.locked)
            left = file.drop_copies()
            kept = f"What the file was before the install is still in {left.name}." if left else ""
            notes = [kept, _MEMORIES_STAY]
            message = f"{place.named} is out of {file.path}."
            if after is None:
                message = f"{message[:-1]}; the file held nothing else, and is gone."
            elif has_value(after, place.path):
                message = f"{place.named} in {file.path} is again what it was before the install."
            return place.fields(file, changed=True, message=message, notes=notes)


def _plugin_note(place: _Place) -> str:
    """How the plugin for Claude Code is installed: a wheel brings it along, a checkout has it."""
    if place.key != "claude-code":
        return ""
    inside = Path(__file__).parents[1] / "plugin"
    folder = inside if inside.is_dir() else Path(__file__).parents[3]
    how = f'claude plugin marketplace add "{folder}" && claude plugin install memory-mcp@memory-mcp'
    if entries.is_temporary(Path(sys.prefix)):
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
    place: _Place, file: ClientFile, before: str | None, after: str | None, **more: Any
) -> Output:
    lines = unified_diff(
        (before or "").splitlines(), (after or "").splitlines(),
        str(file.path) if before is not None else "/dev/null",
        str(file.path) if after is not None else "/dev/null",
        n=1, lineterm="",
    )  # fmt: skip  # little around it: other servers' keys may stand there
    return place.fields(file, changed=False, diff="\n".join(lines), **more)


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


def _as_text(fields: Fields) -> str:
    first = fields["diff"] if "diff" in fields else fields["message"]
    return "\n".join([first, *fields["notes"]])


def _find_folders(settings: Settings, scope: Scope) -> Folders:
    found = settings.project_dir or find_work_tree(str(find_current_folder().absolute()))
    project = Path(found) if found else None
    if project and scope == "local":  # Claude Code keeps these for all work trees together
        whole = str(project.resolve())
        try:
            project = Path(find_main_work_tree(find_work_tree(whole) or whole))
        except LostWorkTreeError as error:
            raise InvalidRequestError(f"{error}, and run this again.") from error
    seen = Folders(
        platform=_PLATFORMS.get(sys.platform, "linux"),
        home=Path.home(),
        project=project.resolve() if project else None,
        variables=read_client_variables(),
    )
    packages = Path(find_packages_folder(seen))
    names = [p.name for p in packages.iterdir()] if packages.is_dir() else []
    present = frozenset(path for path in list_deciding_files(seen) if Path(path).exists())
    return Folders(seen.platform, seen.home, seen.project, seen.variables, names, present)


def _command(place: _Place, folder: str, toolsets: str) -> tuple[Command, str]:
    """How the client starts what runs here, and what there is to say about it."""
    told = entries.make_arguments(place.client, place.scope, folder, toolsets)
    shared = place.scope == "project"
    if entries.is_temporary(Path(sys.prefix)):
        return _runner_command(told, shared=shared)
    own = _find_program()
    if shared:
        return Command(entries.PROGRAM, told), _other_program_note(place, own)
    if own is None:
        return Command(sys.executable, ("-m", "memory_mcp", *told)), ""
    return Command(str(own), told), ""


def _other_program_note(place: _Place, own: Path | None) -> str:
    """What to do where the name alone, which is all a shared file can say, starts another one."""
    found = shutil.which(entries.PROGRAM)
    if found and own and Path(found).resolve() == own.resolve():
        return ""
    here = f"the folder of {own}" if own else "one"
    mine = " or ".join(f"--scope {scope}" for scope in place.client.scopes if scope != "project")
    return (
        f"{place.client.title} will start {found or 'nothing'}: others share this file, so it says "
        f"{entries.PROGRAM} and no path of this machine. Put {here} on the PATH, or take {mine}."
    )


def _runner_command(told: tuple[str, ...], *, shared: bool) -> tuple[Command, str]:
    """For a memory-mcp that is gone tomorrow: what brings the same one here each time."""
    path = shutil.which("uvx") or shutil.which("pipx") or "uvx"
    name = Path(path).stem
    runs = ("run", "--spec") if name == "pipx" else ("--from",)
    source = _install_source()
    words = (*runs, source, entries.PROGRAM) if source else (*runs[:-1], entries.PACKAGE)
    note = f"This memory-mcp was fetched for one run only, so {name} fetches it for the client too."
    return Command(name if shared else path, (*words, *told)), note


def _install_source() -> str:
    """Where it was fetched from, unless by its name: then another one may bear that name."""
    told = distribution(entries.PACKAGE).read_text("direct_url.json")
    if not told:
        return ""
    found = json.loads(told)
    url, vcs = found["url"], found.get("vcs_info")
    return f"{entries.PACKAGE} @ " + (f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url)


def _find_program() -> Path | None:
    """The command that runs, as it was started, or as it lies beside this Python."""
    suffix = ".exe" if sys.platform == "win32" else ""
    beside = Path(sys.executable).with_name(f"{entries.PROGRAM}{suffix}")
    started = Path(sys.argv[0])
    if started.stem == entries.PROGRAM:
        for path in (started, started.with_suffix(suffix)):
            if path.is_file():
                return path.absolute()
    found = shutil.which(entries.PROGRAM)
    return beside if beside.is_file() else Path(found).absolute() if found else None
