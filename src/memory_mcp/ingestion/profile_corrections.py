"""What a fact of the profile may be corrected to.

It opens every session, so it is a value as such a value is: one line, short, without markup, and
never a sentence that tells the reader what to do.
"""

import re
from typing import Final

from memory_mcp.domain.profile import LABELS, Field, ProfileFact, field_of
from memory_mcp.domain.record import Record
from memory_mcp.ingestion.profile import facts_in
from memory_mcp.ingestion.profile_phrases import LANGS, NAME, ORG, PLACE, TONED, ZONE
from memory_mcp.ingestion.profile_values import plain_goal, values_of

__all__ = ["corrected_fact"]

_CHARS_MAX: Final[dict[Field, int]] = {"name": 40, "goal": 140}
_USUAL_CHARS_MAX: Final = 60

_MARKUP: Final = re.compile(r"[<>{}\[\]`|\\#*_~$]|https?:|\w\(\)")
_UNCASED: Final = re.compile(r"[^\W\d_a-zA-ZÀ-ɏ]{1,12}(?: [^\W\d_a-zA-ZÀ-ɏ]{1,12}){0,2}")
"""A name in a script without capitals."""

_SHAPES: Final[dict[Field, str]] = {
    "name": rf"{NAME}|{_UNCASED.pattern}",
    "pronouns": r"\w{1,8}(?:/\w{1,8}){1,3}",
    "language": LANGS,
    "speaks": LANGS,
    "tone": TONED,
    "city": rf"{PLACE}(?:, {PLACE})?",
    "country": PLACE,
    "time_zone": ZONE.replace("?P<v>", "?:"),
    "employer": ORG,
    "occupation": r"[\w&/.'-]+(?: [\w&/.'-]+){0,4}",
    "birthday": r"[\w]{1,10}(?:[. ,/-]{1,2}\w{1,10}){1,3}",
    "interest": r"[\w&/.'-]+(?: [\w&/.'-]+){0,5}",
}


def corrected_fact(old: Record, text: str) -> ProfileFact | None:
    """The fact that a corrected one says, however it was put; None if it is no such value."""
    field = field_of(old)
    value = text.strip()
    if field is None or not value or "\n" in value or "\r" in value or _MARKUP.search(value):
        return None
    label = f"{LABELS[field]}:"
    if value.casefold().startswith(label.casefold()):
        value = value[len(label) :].strip()
    elif meant := [f.value for f in facts_in(value) if f.field == field and f.holds]:
        value = meant[0]
    if len(value) > _CHARS_MAX.get(field, _USUAL_CHARS_MAX):
        return None
    if field == "goal":
        return ProfileFact(field, value) if plain_goal(value) else None
    if not re.fullmatch(_SHAPES[field], value):
        return None
    values = values_of(field, value)
    return ProfileFact(field, values[0]) if len(values) == 1 else None
