"""Render the user's profile as one line."""

from typing import Any, Final

from memory_mcp.domain.normalise import cut
from memory_mcp.domain.profile import Profile, ProfileField

PROFILE_CHARS_MAX: Final = 240
"""About 60 tokens of every session."""
_PART_CHARS_MAX: Final = 60
"""One long value must not take the room of all others."""
_CUT_CHARS_MIN: Final = 20
"""Less of a value than this is better left out."""

_PARTS: Final[tuple[tuple[ProfileField, str], ...]] = (
    ("name", "{}"),
    ("pronouns", "{}"),
    ("language", "answer in {}"),
    ("tone", "{} tone"),
    ("city", "{}"),
    ("country", "{}"),
    ("occupation", "{}"),
    ("employer", "at {}"),
    ("goal", "goals: {}"),
    ("speaks", "speaks {}"),
    ("interest", "likes: {}"),
    ("birthday", "born {}"),
)
"""The most useful first: they stay when the line is full. The time zone is in the now line."""


def render_profile_line(profile: Profile) -> str:
    """`User: Ada · answer in German · concise tone · Berlin · goals: …`, or nothing."""
    line = ""
    for field, words in _PARTS:
        values = profile.values(field)
        if not values:
            continue
        joined = ("; " if field == "goal" else ", ").join(values)
        part = words.format(cut(" ".join(joined.split()), _PART_CHARS_MAX))
        longer = f"{line} · {part}" if line else f"User: {part}"
        if len(longer) > PROFILE_CHARS_MAX and PROFILE_CHARS_MAX - len(line) < _CUT_CHARS_MIN:
            break
        line = cut(longer, PROFILE_CHARS_MAX)
    return line


def render_profile_facts(profile: Profile) -> list[dict[str, Any]]:
    """Field by field, with the memory that each rests on and those that one was drawn from."""
    return [
        {"field": each.fact.field, "value": each.fact.value, "memoryId": each.memory_id,
         "from": list(each.sources)}
        for each in profile.entries
    ]  # fmt: skip
