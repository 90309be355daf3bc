"""What is known about the user, field by field.

A profile fact is a durable record of the user scope (`user:profile:<field>`) that names the memory
it was drawn from and falls with it. What is here is only what a fact is; how it is recognised is
told in `text.profile`, how it is kept in `app.profile`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import folded
from memory_mcp.domain.record import Record

Field = Literal[
    "name", "pronouns", "language", "tone", "city", "country", "time_zone", "occupation",
    "employer", "birthday", "speaks", "goal", "interest",
]  # fmt: skip

LABELS: Final[dict[Field, str]] = {
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
"""How a field is called where people and models read it. The order is that of the profile."""

FIELDS: Final[tuple[Field, ...]] = tuple(LABELS)

MANY: Final[dict[Field, int]] = {"speaks": 6, "goal": 5, "interest": 8}
"""The fields with several values, and how many: beyond that the oldest gives way."""

PROFILE_CATEGORY: Final = "profile"

_KEY: Final = "user:profile:"

_CITY_ZONES: Final = {
    "Europe/Berlin": "berlin hamburg munich münchen cologne köln stuttgart düsseldorf leipzig "
    "dresden hannover nürnberg nuremberg bremen",
    "Europe/Vienna": "vienna wien graz salzburg linz innsbruck",
    "Europe/Zurich": "zurich zürich geneva genf basel bern",
    "Europe/Amsterdam": "amsterdam rotterdam utrecht",
    "Europe/Brussels": "brussels",
    "Europe/Copenhagen": "copenhagen",
    "Europe/Stockholm": "stockholm",
    "Europe/Oslo": "oslo",
    "Europe/Helsinki": "helsinki",
    "Europe/Warsaw": "warsaw kraków krakow",
    "Europe/Prague": "prague",
    "Europe/Budapest": "budapest",
    "Europe/Lisbon": "lisbon",
    "Asia/Tokyo": "tokyo osaka kyoto",
    "Asia/Seoul": "seoul",
    "Asia/Singapore": "singapore",
    "Asia/Kolkata": "mumbai bangalore bengaluru",
}
"""Cities of which there is one. Of Paris, London, Rome and many others there are several."""

_ZONE_COUNTRIES: Final = {
    "Europe/Berlin": "germany|deutschland",
    "Europe/Vienna": "austria|österreich",
    "Europe/Zurich": "switzerland|schweiz",
    "Europe/Amsterdam": "netherlands|niederlande|niederlanden",
    "Europe/Brussels": "belgium|belgien",
    "Europe/Copenhagen": "denmark|dänemark",
    "Europe/Stockholm": "sweden|schweden",
    "Europe/Oslo": "norway|norwegen",
    "Europe/Helsinki": "finland|finnland",
    "Europe/Warsaw": "poland|polen",
    "Europe/Prague": "czechia|czech republic|tschechien",
    "Europe/Budapest": "hungary|ungarn",
    "Europe/Lisbon": "portugal",
    "Asia/Tokyo": "japan",
    "Asia/Seoul": "south korea",
    "Asia/Singapore": "singapore",
    "Asia/Kolkata": "india|indien",
}
"""Where these cities are: in another country the name is another city's."""

_ZONE_OF_CITY: Final = {city: zone for zone, names in _CITY_ZONES.items() for city in names.split()}


@dataclass(frozen=True)
class ProfileFact:
    """Something said about the user. If it does not `hold`, it was said that it is not so.

    A denial without a value takes away whatever the field says.
    """

    field: Field
    value: str
    holds: bool = True

    @property
    def line(self) -> str:
        """`City: Berlin`, as it rests in its record."""
        return f"{LABELS[self.field]}: {self.value}"

    def same_as(self, other: "ProfileFact") -> bool:
        """Whether both speak of the same value of the same field."""
        return self.field == other.field and folded(self.value) == folded(other.value)


@dataclass(frozen=True)
class ProfileEntry:
    """A fact as it is kept: its record, and the memories it was drawn from (none: said as such).

    With an end it is said for a while only, and stands before what holds otherwise.
    """

    fact: ProfileFact
    memory_id: RecordId
    sources: tuple[RecordId, ...]
    until: datetime | None = None


@dataclass(frozen=True)
class Profile:
    """What holds, in the order of the fields; of one field the newest first."""

    entries: tuple[ProfileEntry, ...] = ()

    def values(self, field: Field) -> tuple[str, ...]:
        """What is known of a field: one value at most, unless the field has many."""
        known = tuple(e.fact.value for e in self.entries if e.fact.field == field)
        return known if field in MANY else known[:1]

    def value(self, field: Field) -> str:
        """What is known of a field, or nothing."""
        return next(iter(self.values(field)), "")

    @property
    def implied_zone(self) -> str:
        """The time zone that the city stands for, where that is certain and none was named."""
        if self.value("time_zone"):
            return ""
        zone = _ZONE_OF_CITY.get(folded(self.value("city")), "")
        country = folded(self.value("country")).removeprefix("the ")
        known = _ZONE_COUNTRIES.get(zone, "").split("|")
        return zone if not country or country in known else ""

    @property
    def zone(self) -> str:
        """The user's time zone as it was named or is implied, or nothing."""
        return self.value("time_zone") or self.implied_zone


def key_of(field: Field) -> str:
    """The key of a field's records."""
    return f"{_KEY}{field}"


def field_of(record: Record) -> Field | None:
    """The field that a record is a fact of, if it is one."""
    name = record.key.removeprefix(_KEY)
    return name if record.key.startswith(_KEY) and name in LABELS else None
