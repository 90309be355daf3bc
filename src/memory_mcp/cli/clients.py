"""`memory-mcp install` and `uninstall`: add memory-mcp to a client, or remove it."""

import json
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from difflib import unified_diff
from functools import partial
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

from memory_mcp.cli.arguments import parse_with, some_of
from memory_mcp.cli.client_files import ClientFile, open_client_file
from memory_mcp.cli.commands import Subcommand
from memory_mcp.cli.inputs import UsageError
from memory_mcp.cli.output import Fields, Output
from memory_mcp.clients import jsonc, plans
from memory_mcp.clients.hooks import Hooks, make_hooks, plan_hooks, plan_hooks_removal
from memory_mcp.clients.jsonc import NotAnObjectError, NotJsonError
from memory_mcp.clients.plans import Command
from memory_mcp.clients.tables import (
    CLIENTS,
    Client,
    Folders,
    Platform,
    Scope,
    find_hooks_file,
    find_packages_folder,
    find_target,
    list_deciding_files,
)
from memory_mcp.clients.toml import NotEditableError, NotTomlError
from memory_mcp.config.load import LoadedSettings
from memory_mcp.config.places import find_current_folder
from memory_mcp.config.settings import (
    TOOLSETS,
    Settings,
    find_machine_home,
    read_client_variables,
)
from memory_mcp.errors import ConflictError, InvalidRequestError, StoreUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.locations import (
    LostWorkTreeError,
    find_main_work_tree,
    find_project,
    find_work_tree,
)

_TRIES: Final = 3
"""A session of Claude Code may write its file between our reading and writing it."""
_MEMORIES_STAY: Final = (
    "Memories stay where they are. Sessions that are running keep it until they end."
)
_HOOKS_LABEL: Final = "The hooks are"
_HOOKS_FILE: Final = "integrations/claude-code/hooks/hooks.json"
HOOK_TOOLSETS: Final = ("session", "hooks")
"""What the hooks need of the server, as in the plugin."""
_PLATFORMS: Final[dict[str, Platform]] = {"win32": "windows", "darwin": "macos"}


class _ClientEntry:
    """The entry to install or remove: of which client, in which file, under which name."""

    def __init__(self, settings: Settings, args: Namespace) -> None:
        self.key: str = args.client
        self.client: Client = CLIENTS[self.key]
        self.scope: Scope = args.scope or self.client.scopes[0]
        if self.scope not in self.client.scopes:
            raise UsageError(
                f"{self.client.title} has no scope {self.scope!r}; choose "
                f"{' or '.join(self.client.scopes)}."
            )
        self.name = args.name
        self.label = f"The server {self.name!r} is"
        self.dry_run: bool = args.dry_run
        self.editor = plans.EDITORS[self.client.language]
        folders = _find_folders(settings, self.key, self.scope)
        target = find_target(self.key, self.scope, folders)
        self.path = (*target.path, self.name)
        self.locked = self.client.locks and self.scope != "project"
        self._file = Path(target.file)
        self._root = str(folders.project) if self.scope == "project" else ""
        # hooks of one project lie in the work tree that is open, whichever is the main one
        here = replace(folders, project=_find_project(settings))
        hooks = find_hooks_file(self.key, self.scope, here)
        self._hooks_file = Path(hooks) if hooks else None
        self._hooks_root = str(here.project) if self.scope != "user" else ""

    @property
    def has_hooks(self) -> bool:
        return self._hooks_file is not None

    def open_file(self) -> ClientFile:
        return open_client_file(self._file, private=self.scope != "project", root=self._root)

    def open_hooks_file(self) -> ClientFile | None:
        private = self.scope != "project"
        file = self._hooks_file
        return file and open_client_file(file, private=private, root=self._hooks_root)

    def make_output(self, file: ClientFile, *, success: bool = True, **more: Any) -> Output:
        more["notes"] = [note for note in more.get("notes", ()) if note]
        fields = {"success": success, "client": self.key, "scope": self.scope, "name": self.name,
                  "file": str(file.path), **more}  # fmt: skip
        return Output(fields, _entry_text)


def _entry_text(fields: Fields) -> str:
    first = fields["diff"] if "diff" in fields else fields["message"]
    return "\n".join([first, *fields["notes"]])


@frozen
class _Edit:
    """One file of an install or uninstall, what becomes of it, and what it is about."""

    file: ClientFile
    plan: plans.Plan
    label: str
    locked: bool = False

    @property
    def subject(self) -> str:
        return self.label.rpartition(" ")[0]


def install(loaded: LoadedSettings, args: Namespace) -> Output:
    """Put memory-mcp into the configuration of a client."""
    settings = loaded.settings
    entry = _ClientEntry(settings, args)
    toolsets = args.toolsets
    if args.hooks:
        _require_hooks(entry)
        toolsets = ",".join(dict.fromkeys([*filter(None, toolsets.split(",")), *HOOK_TOOLSETS]))
    folder = str(settings.project_dir) if args.project else ""
    if folder and entry.client.names_project and entry.scope == "user":
        raise UsageError(
            f"In scope 'user' every project would get the memories of {folder}. Leave --project "
            f"out, {entry.client.title} names the project; or take --scope local or --scope "
            "project."
        )
    arguments = plans.make_arguments(entry.client, entry.scope, folder, toolsets)
    command, note = _choose_command(entry, arguments)
    hooks: Hooks = {}
    if args.hooks:
        plugin = json.loads((_find_plugin() / _HOOKS_FILE).read_text("utf-8"))
        hooks = make_hooks(plugin, _choose_command(entry, ())[0], entry.name)
    return _retry_on_conflict(lambda: _install(entry, command, hooks, note, force=args.force))


def _install(
    entry: _ClientEntry, command: Command, hooks: Hooks, note: str, *, force: bool
) -> Output:
    edits = _plan_install(entry, command, hooks, force=force)
    first = edits[0]
    plugin_note = "" if hooks else _plugin_note(entry)
    fields: dict[str, Any] = {"command": command.program, "args": list(command.arguments)}
    if hooks:
        fields["hooks_file"] = str(edits[-1].file.path)
    for edit in edits:
        if isinstance(edit.plan, plans.DifferentEntry):
            return entry.make_output(
                edit.file,
                success=False,
                changed=False,
                message=_describe_difference(edit, edit.plan),
            )
    changes = [edit for edit in edits if isinstance(edit.plan, plans.ConfigEdit)]
    notes = [note if changes else "", *(_comment_note(entry.client, each.file) for each in changes)]
    if entry.dry_run and changes:
        return _show_diff(entry, changes, **fields, notes=[*notes, plugin_note])
    messages: list[str] = []
    for edit in edits:
        if not isinstance(edit.plan, plans.ConfigEdit):
            messages.append(f"{edit.label} in {edit.file.path} already: nothing to do.")
            continue
        copy = edit.file.replace(edit.plan.text, locked=edit.locked, keep=True)
        kept = f" What it was is in {copy.name}." if copy else ""
        messages.append(f"{edit.label} in {edit.file.path}.{kept}")
        if edit is first:
            fields["backup"] = copy and str(copy)
    return entry.make_output(
        first.file, **fields, changed=bool(changes), message="\n".join(messages),
        notes=[*notes, entry.client.next_step if changes else "", plugin_note],
    )  # fmt: skip


def _describe_difference(edit: _Edit, what: plans.DifferentEntry) -> str:
    others = "are others" if edit.label is _HOOKS_LABEL else "is another"
    advice = (
        "--force puts that right and keeps the rest."
        if what.ours
        else "Take another name with --name, or put memory-mcp in its place with --force."
    )
    return (
        f"{edit.subject} in {edit.file.path} {others}: {'; '.join(what.what)}. Nothing was "
        f"changed. {advice}"
    )


def _plan_install(
    entry: _ClientEntry, command: Command, hooks: Hooks, *, force: bool
) -> list[_Edit]:
    file, editor = entry.open_file(), entry.editor
    wanted = plans.make_entry(entry.client, command)
    plan = _make_plan(file, lambda: plans.plan_install(
        file.text, entry.path, wanted, force=force, editor=editor
    ))  # fmt: skip
    edits = [_Edit(file, plan, entry.label, entry.locked)]
    if hooks and (other := entry.open_hooks_file()):
        plan = _make_plan(other, lambda: plan_hooks(other.text, hooks, force=force))
        edits.append(_Edit(other, plan, _HOOKS_LABEL))
    return edits


def _require_hooks(entry: _ClientEntry) -> None:
    if not entry.has_hooks:
        able = [name for name in CLIENTS if any(it.hooks for it in CLIENTS[name].places.values())]
        raise UsageError(
            f"memory-mcp has no hooks for {entry.client.title}, only for {', '.join(able)}. Leave "
            "--hooks out."
        )
    if plans.is_temporary(Path(sys.prefix)):
        raise InvalidRequestError(
            "A hook must be done within seconds, and this memory-mcp was fetched for one run only. "
            "Install it for good (uv tool install backtrack-memory), and run this again."
        )


def _add_install_options(parser: ArgumentParser) -> None:
    _add_entry_options(parser)
    parser.add_argument("--toolsets", type=some_of(TOOLSETS), default="", metavar="NAMES",
                        help="further tools, e.g. branches,session")  # fmt: skip
    parser.add_argument("--hooks", action="store_true", help="the plugin's hooks too (claude-code)")
    parser.add_argument("--force", action="store_true", help="put right an entry of that name")


def uninstall(loaded: LoadedSettings, args: Namespace) -> Output:
    """Take memory-mcp out of the configuration of a client."""
    entry = _ClientEntry(loaded.settings, args)
    return _retry_on_conflict(lambda: _uninstall(entry))


def _uninstall(entry: _ClientEntry) -> Output:
    edits, problem = _plan_uninstall(entry)
    first = edits[0]
    changes = [edit for edit in edits if isinstance(edit.plan, plans.ConfigEdit)]
    if entry.dry_run and changes:
        return _show_diff(entry, changes, notes=[problem])
    messages: list[str] = []
    notes = [problem]
    for edit in edits:
        path = edit.file.path
        match edit.plan:
            case plans.ConfigEdit(after):
                edit.file.replace(after, locked=edit.locked)
                if copy := edit.file.drop_copies():
                    notes.append(f"What the file was before the install is still in {copy.name}.")
                message = f"{edit.label} out of {path}."
                if after is None:
                    message = f"{message[:-1]}; the file held nothing else, and is gone."
                elif edit is first and entry.editor.has_value(after, entry.path):
                    message = f"{edit.subject} in {path} is again what it was before the install."
                messages.append(message)
            case plans.OtherServer():
                messages.append(
                    f"{edit.subject} in {path} does not start memory-mcp, and is left as it is."
                )
            case _ if edit is first:
                messages.append(f"There is no server {entry.name!r} in {path}: nothing to do.")
            case _:
                pass
    other = any(isinstance(edit.plan, plans.OtherServer) for edit in edits)
    return entry.make_output(
        first.file, success=not other, changed=bool(changes), message="\n".join(messages),
        notes=[*notes, _MEMORIES_STAY if changes else ""],
    )  # fmt: skip


def _plan_uninstall(entry: _ClientEntry) -> tuple[list[_Edit], str]:
    """What to remove, and why the hooks cannot be looked at: who has none can uninstall anyway."""
    file, editor = entry.open_file(), entry.editor
    plan = _make_plan(file, lambda: plans.plan_uninstall(
        file.text, entry.path, file.older_texts(), written=entry.client.entry, editor=editor
    ))  # fmt: skip
    edits = [_Edit(file, plan, entry.label, entry.locked)]
    try:
        if other := entry.open_hooks_file():
            older = other.older_texts()
            plan = _make_plan(other, lambda: plan_hooks_removal(other.text, entry.name, older))
            edits.append(_Edit(other, plan, _HOOKS_LABEL))
    except (InvalidRequestError, StoreUnavailableError) as error:
        return edits, f"If there are hooks of memory-mcp, they stay. {error}"
    return edits, ""


def _add_entry_options(parser: ArgumentParser) -> None:
    parser.add_argument("client", choices=tuple(CLIENTS), help=", ".join(CLIENTS), metavar="CLIENT")
    parser.add_argument(
        "--scope",
        choices=("user", "project", "local"),
        help="user: every project of yours; project: a file in the project, for all who work on it;"
        " local: yours, in this project (Claude Code). Default: user, for editors project",
    )
    parser.add_argument(
        "--name",
        type=partial(parse_with, plans.check_name),
        default="memory",
        metavar="NAME",
        help="of the entry (default memory)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the change, write nothing")


def _plugin_note(entry: _ClientEntry) -> str:
    """How the plugin for Claude Code is installed."""
    if not entry.has_hooks:
        return ""
    how = (
        f'claude plugin marketplace add "{_find_plugin()}" && '
        "claude plugin install memory-mcp@memory-mcp"
    )
    if plans.is_temporary(Path(sys.prefix)):
        how = "install it for good first (uv tool install backtrack-memory), and run this again."
    return f"The plugin has hooks as well; in place of this entry: {how}"


def _find_plugin() -> Path:
    """The folder with the plugin for Claude Code: a wheel brings it along, a checkout has it."""
    packaged = Path(__file__).parents[1] / "plugin"
    return packaged if packaged.is_dir() else Path(__file__).parents[3]


def _retry_on_conflict(act: Callable[[], Output]) -> Output:
    for _ in range(_TRIES - 1):
        try:
            return act()
        except ConflictError:
            continue
    return act()


def _make_plan(file: ClientFile, plan: Callable[[], plans.Plan]) -> plans.Plan:
    try:
        return plan()
    except (NotJsonError, NotTomlError) as error:
        raise InvalidRequestError(
            f"{file.path} is no {error.language}, {error}. It is left as it is; mend it, and run "
            "this again."
        ) from error
    except (NotAnObjectError, NotEditableError) as error:
        raise InvalidRequestError(
            f"{file.path} is left as it is: {error}. Mend that, and run this again."
        ) from error


def _show_diff(entry: _ClientEntry, changes: list[_Edit], **more: Any) -> Output:
    lines: list[str] = []
    for edit in changes:
        before = edit.file.text
        after = edit.plan.text if isinstance(edit.plan, plans.ConfigEdit) else None
        lines += unified_diff(
            (before or "").splitlines(), (after or "").splitlines(),
            str(edit.file.path) if before is not None else "/dev/null",
            str(edit.file.path) if after is not None else "/dev/null",
            n=1, lineterm="",
        )  # fmt: skip  # little around it: other servers' keys may stand there
    file = changes[0].file
    return entry.make_output(file, changed=False, diff="\n".join(lines), **more)


def _comment_note(client: Client, file: ClientFile) -> str:
    text = file.text or ""
    line = None if client.comments or jsonc.is_blank(text) else jsonc.parse_document(text).extra
    if line is None:
        return ""
    return (
        f"{client.title} reads plain JSON: what is in line {line} keeps it from reading "
        f"{file.path.name}."
    )


def _find_project(settings: Settings) -> Path | None:
    found = settings.project_dir or find_project(
        str(find_current_folder().absolute()), find_machine_home(settings)
    )
    return Path(found).resolve() if found else None


def _find_folders(settings: Settings, client: str, scope: Scope) -> Folders:
    project = _find_project(settings)
    if project and scope == "local":  # Claude Code keeps these for all work trees together
        try:
            project = Path(find_main_work_tree(find_work_tree(str(project)) or str(project)))
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
    deciding = list_deciding_files(client, scope, folders)
    present = frozenset(path for path in deciding if Path(path).exists())
    return replace(folders, packages=names, present=present)


def _choose_command(entry: _ClientEntry, arguments: tuple[str, ...]) -> tuple[Command, str]:
    """How the client starts the memory-mcp that runs here, and a note on it or none."""
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
