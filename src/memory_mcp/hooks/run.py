"""`memory-mcp hook <event>`: what Claude Code runs at the turning points of a session.

    session-start    prints the rendered bootstrap with the present time
    post-compact     leaves the summary of the compacted conversation in the inbox
    stop             counts the turn; asks for a consolidation when one is due
    session-end      leaves the session's end and the path of its transcript in the inbox

Reads the event from stdin and answers on stdout, both JSON in bytes: no code page matters. Uses the
standard library only and starts no process. Fails open: whatever goes wrong, it prints one line,
exits with 0 and is done within its budget, even where stdin never ends or a disk hangs.

A reminder continues the turn, which ends in a stop of its own: `stop_hook_active` marks that one,
and it is never answered. The reminder is noted before it is given, so that a hook that dies reminds
too rarely rather than again and again.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from memory_mcp.hooks.files import (
    IDS_NOTED_MAX,
    amend_session,
    leave_event,
    load_noted_ids,
    read_session,
    write_session,
)
from memory_mcp.hooks.opening import ASK_FIRST, COMPACTED, find_shown_ids, render_opening
from memory_mcp.hooks.place import Place, find_place
from memory_mcp.hooks.transcript import is_transcript, read_field, read_left_turns

_REMINDER: Final = (
    "{} turns have passed since the last consolidation or reminder. Call the memory tool "
    "consolidate once now: memory_update (what is true now, for a session that knows nothing "
    "of this one), history_entry (one dated paragraph) and insights if there are any. Then end "
    "your turn; the user need not be told."
)
_STDIN_BYTES_MAX: Final = 8_388_608
"""Far more than any event: a summary has some thousand characters."""
_SUMMARY_CHARS_MAX: Final = 40_000
"""A longer summary is cut: what is stored in the end is shorter still."""
_BUDGET_SECONDS: Final = 3.0
_BUDGET_END_SECONDS: Final = 1.0
"""Claude Code waits 1.5 s at a session's end, the start of the interpreter included."""

_Event = Mapping[str, Any]
_Answer = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Run one hook; the exit status is always 0: a session never breaks because of its memory."""
    name = arguments[0] if arguments else ""
    answers: list[_Answer] = []
    worker = threading.Thread(target=_work, args=(name, answers), daemon=True)
    worker.start()
    budget = _BUDGET_END_SECONDS if name == "session-end" else _BUDGET_SECONDS
    worker.join(budget)
    _print_answer(
        name, answers[0] if answers else _report_failure(name, f"it took longer than {budget:g} s")
    )
    if worker.is_alive():
        os._exit(0)  # a worker that waits for stdin cannot be joined
    return 0


def _work(name: str, answers: list[_Answer]) -> None:
    try:
        answers.append(_handle(name))
    except Exception as error:  # noqa: BLE001  # whatever it is, the session goes on
        answers.append(_report_failure(name, str(error) or type(error).__name__))


def _handle(name: str) -> _Answer:
    if name not in EVENTS:
        known = ", ".join(EVENTS)
        return {"systemMessage": f"memory-mcp: no hook {name!r}; there are {known}."}
    event = _parse_event(_read_stdin())
    place = find_place(os.environ, event)
    if not place.enabled:
        return {}
    session = read_field(event, "session_id")
    if place.machine and session and not _begins_server(name, event):
        place = place.on(read_session(place.machine, session).get("branch"))
    return EVENTS[name](place, event)


def _begins_server(name: str, event: _Event) -> bool:
    """Whether a server starts with the session, on the branch that the settings name."""
    return name == "session-start" and event.get("source") in ("startup", "resume")


def _session_start(place: Place, event: _Event) -> _Answer:
    """Answer with the bootstrap, again after a compaction; note the memories in it as shown."""
    text = render_opening(place)
    session = read_field(event, "session_id")
    writing = bool(place.machine) and not place.meta
    if event.get("source") == "compact" and writing:  # the hook with the summary runs after this
        text = f"{text}\n{COMPACTED}"
    branch: dict[str, Any] = {"branch": None} if _begins_server("session-start", event) else {}
    if session and writing and (branch or find_shown_ids(text)):
        before = [] if event.get("source") == "compact" else load_noted_ids(place.machine, session)
        shown = list(dict.fromkeys([*before, *find_shown_ids(text)]))[-IDS_NOTED_MAX:]
        amend_session(place.machine, session, shown=shown or None, **branch)
    return _context("SessionStart", text)


def _post_compact(place: Place, event: _Event) -> _Answer:
    """Leave the summary of the conversation in the inbox."""
    summary = read_field(event, "compact_summary").strip()
    session = read_field(event, "session_id")
    if place.meta or not place.machine or not summary:
        return {}
    event = {"event": "post-compact", "session": session, "branch": place.branch}
    leave_event(place.machine, {**event, "compact_summary": summary[:_SUMMARY_CHARS_MAX]})
    return {}


def _stop(place: Place, event: _Event) -> _Answer:
    """Count the turn, and ask for a consolidation when one is due."""
    if place.meta or not place.machine or event.get("stop_hook_active"):
        return {}
    session = read_field(event, "session_id")
    noted = read_session(place.machine, session)
    turns = _count_of(noted, "turns") + 1
    asked = min(_count_of(noted, "asked"), turns)
    is_due = 0 < place.interval <= turns - asked
    prompt = _note_rewind(place, event, session, str(noted.get("prompt", "")))
    changes = {"turns": turns, "asked": turns if is_due else asked, "prompt": prompt}
    write_session(place.machine, session, {**noted, **changes})
    return _context("Stop", _REMINDER.format(turns - asked)) if is_due else {}


def _note_rewind(place: Place, event: _Event, session: str, noted: str) -> str:
    """Leave an event if the user went back since the noted prompt; the newest prompt."""
    path = read_field(event, "transcript_path")
    trees = (place.project, place.work_tree)
    if not is_transcript(path, session, trees, place.client):
        return noted
    left, newest = read_left_turns(path, noted)
    if left is not None:
        leave_event(place.machine, left.as_event(session, place.branch))
    return newest


def _count_of(noted: _Event, name: str) -> int:
    value = noted.get(name)
    return value if isinstance(value, int) and value >= 0 else 0


def _session_end(place: Place, event: _Event) -> _Answer:
    """Leave the session's end in the inbox; whoever has the time reads the transcript.

    The transcript is checked here: only the client's environment says where it keeps them.
    """
    session, transcript = read_field(event, "session_id"), read_field(event, "transcript_path")
    if place.meta or not place.machine or not os.path.lexists(transcript):
        return {}
    if not is_transcript(transcript, session, (place.project, place.work_tree), place.client):
        raise ValueError(
            f"{transcript!r} is no transcript of this session in "
            f"{os.path.join(place.client, 'projects')!r}, or lies in the work tree: it is not read"
        )
    ended = {"event": "session-end", "session": session, "branch": place.branch}
    reason = read_field(event, "reason")
    leave_event(place.machine, {**ended, "transcript_path": transcript, "reason": reason})
    return {}


EVENTS: Final[Mapping[str, Callable[[Place, _Event], _Answer]]] = {
    "session-start": _session_start,
    "post-compact": _post_compact,
    "stop": _stop,
    "session-end": _session_end,
}


def _read_stdin() -> bytes:
    """All of stdin, up to the limit; `main` waits for it no longer than its budget."""
    read = bytearray()
    while len(read) <= _STDIN_BYTES_MAX:
        more = os.read(0, 65_536)
        if not more:
            return bytes(read)
        read += more
    raise ValueError(f"the event has more than {_STDIN_BYTES_MAX:,} bytes")


def _parse_event(data: bytes) -> _Event:
    try:
        found: Any = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return cast("_Event", found)
    raise ValueError("what came on stdin is no event: no JSON object in UTF-8")


def _context(event: str, text: str) -> _Answer:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _report_failure(name: str, why: str) -> _Answer:
    """One line for the user; at a session's start the agent is told to ask the server."""
    answer: _Answer = {"systemMessage": f"memory-mcp: the hook {name} did nothing: {why}."}
    return {**answer, **_context("SessionStart", ASK_FIRST)} if name == "session-start" else answer


def _print_answer(name: str, answer: _Answer) -> None:
    """Print JSON in ASCII. At a session's end users may see stderr only."""
    try:
        if name == "session-end" and "systemMessage" in answer:
            _write(2, f"{answer['systemMessage']}\n".encode())
        if answer:
            _write(1, json.dumps(answer).encode("ascii") + b"\n")
    except OSError:  # nobody listens
        pass


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
