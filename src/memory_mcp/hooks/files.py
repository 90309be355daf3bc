"""The files of hooks: events in the inbox, and a small file for each session.

    <machine>/inbox/<when>-<random>.json  an event; the server or the next command works it off
    <machine>/sessions/<session>.json     how many turns there were, which memories the agent has
                                          seen, and on which branch the session is

Both folders are the user's alone (0700, each file 0600): an event may hold parts of a conversation,
and secrets are removed only when it is worked off. A session's file stays when it ends, for it may
be resumed; the inbox ages it out. Hooks of a session run one after the other, and the server writes
in between: a lost note costs a reminder too many, or a memory shown twice.

Files appear whole or not at all: temporary name, fsync, rename, fsync of the folder. `disk.Disk`
does the same for the server; it imports `pathlib`, which takes longer than a hook may run.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, cast

from memory_mcp.patterns import compile_later
from memory_mcp.safe_files import replace_file, sync_folder

INBOX_FOLDER: Final = "inbox"
SESSIONS_FOLDER: Final = "sessions"
SESSION_BYTES_MAX: Final = 65_536
"""A session's file holds a few figures, the ids of one bootstrap and those given with prompts."""
IDS_NOTED_MAX: Final = 500
"""The newest of each kind: all of them fit into the file."""
INBOX_FILES_MAX: Final = 1_000
"""With more, nothing has worked the inbox off for weeks: it must not grow on."""

_OWN_FOLDER: Final = 0o700
_OWN_FILE: Final = 0o600

_PLAIN_NAME: Final = compile_later(r"[A-Za-z0-9_-]{1,64}")


def leave_event(machine: str, event: Mapping[str, Any]) -> None:
    """Leave an event in the inbox, durably, with the time when it happened.

    Raises:
        OSError: the file system refused, or the inbox is full; the message says what to do.
    """
    folder = os.path.join(machine, INBOX_FOLDER)
    _make_own_folder(folder)
    if len(os.listdir(folder)) >= INBOX_FILES_MAX:
        raise OSError(f"{folder} is full: run `memory-mcp doctor` in the project")
    now = time.time_ns()
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1_000_000_000))
    noted = {"v": 1, "at": f"{at}.{now // 1_000_000 % 1000:03d}Z", **event}
    _write(os.path.join(folder, f"{now:020d}-{os.urandom(4).hex()}.json"), noted)


def read_session(machine: str, session: str) -> dict[str, Any]:
    """The notes of the session; none if there is no file that can be read."""
    try:
        with open(locate_session_file(machine, session), "rb") as file:
            found: Any = json.loads(file.read(SESSION_BYTES_MAX))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def write_session(machine: str, session: str, noted: Mapping[str, Any]) -> None:
    """Replace the notes of the session; OSError if the file system refuses."""
    _make_own_folder(os.path.join(machine, SESSIONS_FOLDER))
    _write(locate_session_file(machine, session), noted)


def amend_session(machine: str, session: str, **changes: Any) -> None:
    """Change some notes of the session; None removes one. OSError if the file system refuses."""
    noted = read_session(machine, session)
    amended = {name: value for name, value in {**noted, **changes}.items() if value is not None}
    if amended != noted:
        write_session(machine, session, amended)


def load_noted_ids(machine: str, session: str, kind: str = "shown") -> list[str]:
    """The ids of memories `shown` when the session began, or `given` with its prompts."""
    ids = read_session(machine, session).get(kind)
    return [str(each) for each in cast("list[Any]", ids)] if isinstance(ids, list) else []


def locate_session_file(machine: str, session: str) -> str:
    """The path of a session's file: its name, or the hash of one that no file can have."""
    name = session
    if not _PLAIN_NAME.fullmatch(session):
        import hashlib  # noqa: PLC0415  # Claude Code names sessions by UUIDs

        name = f"x{hashlib.sha256(session.encode(errors='surrogatepass')).hexdigest()[:32]}"
    return os.path.join(machine, SESSIONS_FOLDER, f"{name}.json")


def _make_own_folder(folder: str) -> None:
    """Make the folder exist, durably, parents included, for this user alone."""
    if os.path.isdir(folder):
        return
    above = os.path.dirname(folder)
    if above != folder:  # a drive that is not there is its own parent
        _make_own_folder(above)
    with suppress(FileExistsError):  # another hook was quicker, or a file is in the way
        os.mkdir(folder, _OWN_FOLDER)
    sync_folder(above)


def _write(path: str, value: Mapping[str, Any]) -> None:
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb", opener=lambda name, how: os.open(name, how, _OWN_FILE)) as file:
            file.write(json.dumps(value).encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())
        replace_file(temporary, path)
    except OSError:
        with suppress(OSError):  # what prevented the write may prevent this too
            os.unlink(temporary)
        raise
    sync_folder(folder)
