"""Asks git itself for what its files do not tell.

Nothing that git is asked to run reads the files of a work tree but those that say what is ignored.
So no filter, hook or monitor of the repository's settings is ever started; no transport is allowed,
so no missing object is fetched.
"""

import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from memory_mcp.errors import GitSilentError

_SECONDS_MAX: Final = 5.0
"""A walk through the history of the largest repositories takes a second or two."""
_OURS: Final = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C",
}  # fmt: skip
_FOREIGN: Final = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_PREFIX", "GIT_COMMON_DIR",
    "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF",
)  # fmt: skip
"""Set while git runs a hook: they name another repository, or what only that hook is about."""


def ask_git(
    git_dir: str,
    environment: Mapping[str, str],
    arguments: Sequence[str],
    lines: Sequence[str] = (),
    *,
    silent: Sequence[int] = (),
) -> str:
    """What git says of that repository; '' with one of the `silent` statuses.

    Raises:
        GitSilentError: it says nothing, and why.
    """
    import shutil  # noqa: PLC0415  # few commands ask

    program = shutil.which("git")
    if program is None:
        raise GitSilentError("there is no git on this machine")
    inherited = {name: value for name, value in environment.items() if name not in _FOREIGN}
    try:
        done = subprocess.run(  # noqa: S603  # git, with values that are hashes of commits
            [program, "--git-dir", git_dir, "-c", "core.fsmonitor=false", *arguments],
            input="\n".join(lines) + "\n" if lines else "", capture_output=True,
            text=True, encoding="utf-8", errors="surrogateescape", check=False,
            timeout=_SECONDS_MAX, env=inherited | _OURS, cwd=git_dir,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitSilentError(f"git {arguments[0]}: {error}") from error
    if done.returncode in silent:
        return ""
    if done.returncode != 0:
        raise GitSilentError(f"git {arguments[0]}: {done.stderr.strip()[:200]}")
    return done.stdout
