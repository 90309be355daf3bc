"""Values of the profile: what is known about the user, field by field.

A profile fact is a durable record of the user scope (`user:profile:<field>`) that names the memory
it was drawn from and falls with it. `text.user_facts` recognises facts in a text.
"""

from datetime import datetime
from typing import Final, Literal

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import fold
from memory_mcp.domain.record import Record
from memory_mcp.frozen import frozen

ProfileField = Literal[
    "name", "pronouns", "language", "tone", "city", "country", "time_zone", "occupation",
    "employer", "birthday", "speaks", "goal", "interest",
]  # fmt: skip

LABELS: Final[dict[ProfileField, str]] = {
    "name": "Name",
    "pronouns": "Pronouns",
    "language": "Answers in",
    "tone": "Tone",
    "city": "City",
    "country": "Country",
    "time_zone": "Time zone",
    "occupation": "Occupation",
    "employer": "Employer",
    "birthday": "Birthday",
    "speaks": "Speaks",
    "goal": "Goal",
    "interest": "Interest",
}
"""The names of the fields for people and models, in the order of the profile."""

MULTI_VALUED: Final[dict[ProfileField, int]] = {"speaks": 6, "goal": 5, "interest": 8}
"""The fields with several values, and how many; beyond that the oldest gives way."""

PROFILE_CATEGORY: Final = "profile"

_KEY: Final = "user:profile:"

_ZONES: Final = {
    "Europe/Berlin": (
        (
            "berlin hamburg munich münchen cologne köln stuttgart düsseldorf leipzig dresden "
            "hannover nürnberg nuremberg bremen"
        ),
        "germany|deutschland",
    ),
    "Europe/Vienna": ("vienna wien graz salzburg linz innsbruck", "austria|österreich"),
    "Europe/Zurich": ("zurich zürich geneva genf basel bern", "switzerland|schweiz"),
    "Europe/Amsterdam": ("amsterdam rotterdam utrecht", "netherlands|niederlande|niederlanden"),
    "Europe/Brussels": ("brussels", "belgium|belgien"),
    "Europe/Copenhagen": ("copenhagen", "denmark|dänemark"),
    "Europe/Stockholm": ("stockholm", "sweden|schweden"),
    "Europe/Oslo": ("oslo", "norway|norwegen"),
    "Europe/Helsinki": ("helsinki", "finland|finnland"),
    "Europe/Warsaw": ("warsaw kraków krakow", "poland|polen"),
    "Europe/Prague": ("prague", "czechia|czech republic|tschechien"),
    "Europe/Budapest": ("budapest", "hungary|ungarn"),
    "Europe/Lisbon": ("lisbon", "portugal"),
    "Asia/Tokyo": ("tokyo osaka kyoto", "japan"),
    "Asia/Seoul": ("seoul", "south korea"),
    "Asia/Singapore": ("singapore", "singapore"),
    "Asia/Kolkata": ("mumbai bangalore bengaluru", "india|indien"),
}
"""Cities whose name no other city shares, by their time zone, and their countries.

Paris, London and Rome are not among them. In another country the name is that of another city.
"""

_ZONE_OF_CITY: Final = {
    city: zone for zone, (cities, _) in _ZONES.items() for city in cities.split()
}


@frozen
class ProfileFact:
    """A statement about the user; if it does not `hold`, a denial.

    A denial without a value denies whatever the field says. What is only `supposed` may be about
    something else ("I moved to Vim"), unless it contradicts what is known.
    """

    field: ProfileField
    value: str
    holds: bool = True
    supposed: bool = False

    @property
    def line(self) -> str:
        """The content of its record: `City: Berlin`."""
        return f"{LABELS[self.field]}: {self.value}"

    def is_same_as(self, other: "ProfileFact") -> bool:
        """Whether both speak of the same value of the same field."""
        return self.field == other.field and fold(self.value) == fold(other.value)


@frozen
class ProfileEntry:
    """A stored fact: its record, and the memories it was drawn from.

    If it expires (`until`), it stands before facts that do not.
    """

    fact: ProfileFact
    memory_id: RecordId
    sources: tuple[RecordId, ...]
    until: datetime | None = None


@frozen
class Profile:
    """The entries that hold, in the order of the fields; of one field the newest first."""

    entries: tuple[ProfileEntry, ...] = ()

    def values(self, field: ProfileField) -> tuple[str, ...]:
        """The values of a field: one at most, unless it is multi-valued."""
        known = tuple(e.fact.value for e in self.entries if e.fact.field == field)
        return known if field in MULTI_VALUED else known[:1]

    def value(self, field: ProfileField) -> str:
        """The first value of a field, or ""."""
        return next(iter(self.values(field)), "")

    @property
    def implied_zone(self) -> str:
        """The time zone of the city, if it is certain and none was named; else ""."""
        if self.value("time_zone"):
            return ""
        zone = _ZONE_OF_CITY.get(fold(self.value("city")), "")
        country = fold(self.value("country")).removeprefix("the ")
        if country and zone and country not in _ZONES[zone][1].split("|"):
            return ""
        return zone

    @property
    def zone(self) -> str:
        """The time zone, named or implied, or ""."""
        return self.value("time_zone") or self.implied_zone


def make_profile_key(field: ProfileField) -> str:
    """The key of a field's records."""
    return f"{_KEY}{field}"


def find_profile_field(record: Record) -> ProfileField | None:
    """The field of a record that is a profile fact; None for other records."""
    name = record.key.removeprefix(_KEY)
    return name if record.key.startswith(_KEY) and name in LABELS else None
