"""What happens at the end of a turn: it is counted, and now and then the agent is asked to sum up.

Silent unless a reminder is due. The reminder continues the turn, which ends in a stop of its own:
that one is known by `stop_hook_active` and never answered. What was said is noted before it is
said, so that a hook that dies asks too rarely rather than again and again.
"""

from collections.abc import Mapping
from typing import Any, Final

from memory_mcp.hooks.files import drop, read_session, write_session
from memory_mcp.hooks.place import Place
from memory_mcp.hooks.tail import entries_of, is_transcript, last_prompt, left_since, tail

_ASK: Final = (
    "{} turns have passed since the last consolidation or reminder. Call the memory tool "
    "consolidate once now: memory_update (what is true now, for a session that knows nothing "
    "of this one), history_entry (one dated paragraph) and insights if there are any. Then end "
    "your turn; the user need not be told."
)


def stopped(place: Place, event: Mapping[str, Any], session: str) -> str:
    """What to say to the agent at the end of this turn: nearly always nothing."""
    if place.meta or not place.machine or event.get("stop_hook_active"):
        return ""
    noted = read_session(place.machine, session)
    turns = _figure(noted, "turns") + 1
    asked = min(_figure(noted, "asked"), turns)
    due = 0 < place.interval <= turns - asked
    prompt = _gone_back(place, event, session, str(noted.get("prompt", "")))
    write_session(
        place.machine,
        session,
        {**noted, "turns": turns, "asked": turns if due else asked, "prompt": prompt},
    )
    return _ASK.format(turns - asked) if due else ""


def _gone_back(place: Place, event: Mapping[str, Any], session: str, noted: str) -> str:
    """Leave word if the user went back to before the prompt noted last; the newest prompt."""
    path = event.get("transcript_path")
    trees = (place.project, place.work_tree)
    if not isinstance(path, str) or not is_transcript(path, session, trees, place.client):
        return noted
    entries = entries_of(tail(path)[0])
    left = left_since(entries, noted)
    if left is not None:
        drop(place.machine, {"event": "rewound", "session": session, "branch": place.branch,
                           "since": left})  # fmt: skip
    return last_prompt(entries) or noted


def _figure(noted: Mapping[str, Any], name: str) -> int:
    value = noted.get(name)
    return value if isinstance(value, int) and value >= 0 else 0
