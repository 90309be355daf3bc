"""`memory-mcp config`: what is set, by whom, and what each setting is for.

Of a key only that it is set is shown.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from memory_mcp.cli.commands import Subcommand
from memory_mcp.cli.inputs import UsageError
from memory_mcp.cli.output import Fields, Output, find_width, fit_lines
from memory_mcp.config.descriptions import SettingDescription, load_descriptions
from memory_mcp.config.load import LoadedSettings
from memory_mcp.config.places import find_project_folders
from memory_mcp.config.settings import (
    SETTINGS,
    ConfigFile,
    RefusedSetting,
    Settings,
    may_stand_in,
)
from memory_mcp.config.values import GivenSetting
from memory_mcp.config_files import PROJECT_FILE, name_key, name_setting
from memory_mcp.domain.normalise import cut
from memory_mcp.errors import InvalidRequestError, quote
from memory_mcp.storage.files.git_state import load_git_state

_HIDDEN: Final = "set, and not shown"
_ALIKE: Final = 0.51
"""Of two words that share half of their letters, one is rarely a slip for the other."""
_ENVIRONMENT: Final = "the environment"
_VALUE_CHARS_MIN: Final = 10
_VALUE_CHARS_MAX: Final = 40
"""How wide the column of values is: few are longer."""
_ADDRESSES: Final = ("_URL", "_QUEUE")


def config(loaded: LoadedSettings, args: Namespace) -> Output:
    """Show what is set and by whom; with a name all about one setting; with --all every one."""
    refused = {each.name: each for each in loaded.settings.refused}
    given = {"MEMORY_GIT": _find_git_choice(loaded.settings), **loaded.given}
    rows = {
        name: _describe_setting(about, given.get(name), refused.get(name))
        for name, about in load_descriptions().items()
    }
    if args.name:
        row = rows[_find_name(args.name)]
        return Output({"success": True, **row}, _setting_text)
    shown = [row for row in rows.values() if args.all or row["setBy"] or row["refused"]]
    fields = {
        "success": True,
        "files": _describe_files(loaded),
        "settings": shown,
        "warnings": list(loaded.settings.warnings),
        "others": len(rows) - len(shown),
    }
    return Output(fields, _settings_text)


def _find_git_choice(settings: Settings) -> GivenSetting | None:
    """What `memory-mcp git` chose for the project, which counts where nothing else is set."""
    try:
        machine = find_project_folders(settings).machine_dir
    except InvalidRequestError:  # the current folder is gone
        return None
    mode = load_git_state(machine).state.mode
    return GivenSetting(f"`memory-mcp git {mode}`", mode) if mode else None


def _describe_setting(
    about: SettingDescription, given: GivenSetting | None, refused: RefusedSetting | None
) -> dict[str, Any]:
    """A setting as fields: the value in force as it is written, who set it, and all about it."""
    name = about.name
    files = [whose for whose in ("project", "user") if may_stand_in(name, whose)]
    hidden = name.endswith("_API_KEY") or (given and name.endswith(_ADDRESSES) and _has_more(given))
    value = given and (_HIDDEN if hidden else given.value)
    in_force = {"value": value, "setBy": given and given.name, "refused": None}
    if refused:
        no = {"value": value, "setBy": given and given.name, "why": refused.why}
        in_force = {"value": refused.in_force or None, "setBy": None, "refused": no}
    return {
        "name": name,
        **in_force,
        "default": about.default.replace("`", ""),
        "what": about.what.replace("`", ""),
        "key": name_key(name) if files else None,
        "files": files,
    }


def _has_more(given: GivenSetting) -> bool:
    """Whether an address has a user or a query, which may be a secret."""
    return not {"@", "?", "#"}.isdisjoint(given.value)


def _find_name(word: str) -> str:
    """The setting of that name, or of that key in a file.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    for name in (word.upper(), name_setting(word.lower())):
        if name in SETTINGS:
            return name
    keys = {name_key(name): name for name in SETTINGS}
    near = [keys[each] for each in get_close_matches(name_key(word.upper()), keys, cutoff=_ALIKE)]
    raise UsageError(
        f"{quote(word)} is no setting. "
        + (f"Nearest: {', '.join(near)}. " if near else "")
        + "`memory-mcp config --all` lists them."
    )


def _describe_files(loaded: LoadedSettings) -> list[dict[str, str]]:
    """The user's file, and the project's, with what is the matter with each."""
    project = loaded.settings.project_dir
    files = [*loaded.files, *([loaded.untrusted] if loaded.untrusted else [])]
    described = [
        {"whose": file.whose, "path": file.path, "state": _describe_state(file, loaded)}
        for file in files
    ]
    if project and len(files) == 1:
        path = str(project / PROJECT_FILE)
        described.append({"whose": "project", "path": path, "state": "there is none"})
    return described


def _describe_state(file: ConfigFile, loaded: LoadedSettings) -> str:
    if file.error:
        return f"cannot be read: {file.error}"
    if file is loaded.untrusted:
        return (
            "not trusted as it is now: sets nothing until you look at it and run `memory-mcp trust`"
        )
    number = len(file.values)
    if not number:
        return "sets nothing" if Path(file.path).is_file() else "there is none"
    return f"{number} key{'s' if number > 1 else ''}"


def _settings_text(fields: Fields) -> str:
    titles = {"user": "Your file", "project": "The project's file"}
    lines = [f"{titles[f['whose']]}: {f['path']} ({f['state']})" for f in fields["files"]]
    rows = [
        (row["name"], str(row["value"] or row["default"]), _describe_source(row))
        for row in fields["settings"]
    ]
    lines += ["", *_lay_out(rows, find_width())]
    if others := fields["others"]:
        first = f"{others} other settings have" if rows else "Every setting has"
        lines.append(f"{first} the default: memory-mcp config --all")
    lines += ["", *fields["warnings"]] if fields["warnings"] else []
    return fit_lines(lines)


def _describe_source(row: Fields) -> str:
    """Who set it, in a column."""
    if source := row["setBy"]:
        return _name_source(row["name"], source)
    return "see below" if row["refused"] else "default"


def _lay_out(rows: Sequence[tuple[str, str, str]], columns: float) -> Iterator[str]:
    """A table that fits the terminal: a longer value is cut there, `config NAME` has it whole.

    On one that is too narrow for a table, the value stands whole below its name.
    """
    names, values, sources = (
        max((len(row[at]) for row in rows), default=0) for at in range(3)
    )  # fmt: skip
    if columns < names + _VALUE_CHARS_MIN + min(sources, len(_ENVIRONMENT)) + 4:
        for name, value, source in rows:
            yield f"{name}\n  {value} ({source})"
        return
    room = max(_VALUE_CHARS_MIN, columns - names - min(sources, len(_ENVIRONMENT)) - 4)
    wide = int(min(values, room, _VALUE_CHARS_MAX))
    for name, value, source in rows:
        shown = cut(value, wide) if room < len(value) else value
        yield f"{name:{names}}  {shown:{wide}}  {source}"


def _name_source(name: str, source: str) -> str:
    """The environment, or the path of a file."""
    if source in (name, f"ATOMIC_{name}"):
        return _ENVIRONMENT
    return source.partition(" in ")[2] or source


def _setting_text(row: Fields) -> str:
    """All about one setting."""
    where = {"project": "the project's file", "user": "your file"}
    files = " or ".join(where[whose] for whose in row["files"])
    value = "not set"
    if source := row["setBy"]:
        value = f"{row['value']!s}, set by {_name_source(row['name'], source)}"
    elif refused := row["refused"]:
        value = f"{row['value'] or row['default']}. {refused['why']}"
    return fit_lines([
        f"{row['name']}: {value}",
        row["what"],
        f"Default: {row['default']}",
        f"In a file: {row['key']}, in {files}" if files else "It stands in the environment alone.",
    ])  # fmt: skip


def _add_config_options(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", help="all about one setting")
    parser.add_argument("--all", action="store_true", help="also what has its default")


COMMANDS: Final = {"config": Subcommand(config, _add_config_options)}
