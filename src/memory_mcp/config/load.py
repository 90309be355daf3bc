"""Settings as a process gets them: from the environment, the project's file and the user's."""

import os
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from memory_mcp.config.places import ProjectFolders, find_project_folders
from memory_mcp.config.settings import (
    SETTINGS,
    AllGiven,
    ConfigFile,
    Settings,
    Whose,
    find_home_folder,
    may_stand_in,
    read_settings,
    select_given,
)
from memory_mcp.config_files import (
    PROJECT_FILE,
    ConfigFileError,
    find_user_file,
    name_key,
    read_config_file,
)
from memory_mcp.disk import Disk
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.storage.files.host import GitRemote
from memory_mcp.storage.files.trust import Trusted, TrustedProjects


@frozen
class LoadedSettings:
    """The settings, and the files that they come from, the one that counts least first.

    `given` is what is set, and where. `untrusted` is a file that came with a project and that the
    user does not trust as it is now; it sets nothing.
    """

    settings: Settings
    given: AllGiven
    files: tuple[ConfigFile, ...] = ()
    untrusted: ConfigFile | None = None


def load_settings(
    environment: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
    project: Path | None = None,
    start: Path | None = None,
) -> LoadedSettings:
    """The settings for a project: the named one, or the one around `start` (the current folder).

    What is wrong costs that setting alone, and is told in the warnings of the settings.
    """
    environment = {**(os.environ if environment is None else environment), **(overrides or {})}

    def load(*files: ConfigFile) -> LoadedSettings:
        settings = read_settings(environment, files)
        if project:
            settings = replace(settings, project_dir=project)
        return LoadedSettings(settings, select_given(environment, files), files)

    user = _load_file(find_user_file(environment), "user")
    loaded = load(user)
    settings = loaded.settings
    theirs = _load_project_file(settings, start) if settings.enabled else None
    if theirs is None:
        return loaded
    places, file = theirs
    if _trusts(settings, places, file):
        return load(user, file)
    would = [name for name in SETTINGS if may_stand_in(name, "project")]
    names = tuple(key for key in map(name_key, would) if key in file.values)
    return replace(loaded, settings=replace(settings, untrusted=names), untrusted=file)


def _trusts(settings: Settings, places: ProjectFolders, file: ConfigFile) -> bool:
    """Whether the user trusts this project, under its remote of now, and what its file sets now."""
    if places.project_dir is None:
        return False
    trusted = TrustedProjects(find_home_folder(settings), Disk()).every().get(places.records)
    now = Trusted(GitRemote(places.project_dir).address(), digest_settings(file.values))
    return trusted == now


def _load_project_file(
    settings: Settings, start: Path | None
) -> tuple[ProjectFolders, ConfigFile] | None:
    """The file of the project with the project's folders; None where there is none."""
    try:
        places = find_project_folders(settings, start)
    except InvalidRequestError:  # whoever needs the folder reports it
        return None
    if places.project_dir is None:
        return None
    path = str(places.project_dir / PROJECT_FILE)
    if not os.path.lexists(path):
        return None
    return places, _load_file(path, "project", str(places.project_dir))


def _load_file(path: str, whose: Whose, root: str = "") -> ConfigFile:
    try:
        return ConfigFile(path, whose, read_config_file(path, root))
    except ConfigFileError as error:
        return ConfigFile(path, whose, {}, str(error))


def digest_settings(values: Mapping[str, str]) -> str:
    """The digest of what a file sets, whatever else stands in it; '' where it sets nothing."""
    text = "\0".join(f"{key}={values[key]}" for key in sorted(values))
    return sha256(text.encode(errors="surrogatepass")).hexdigest() if values else ""


def digest_project_settings(project: Path) -> str:
    """The digest of what the project's file sets now; '' where that is nothing."""
    try:
        return digest_settings(read_config_file(str(project / PROJECT_FILE), str(project)))
    except ConfigFileError:
        return ""
