"""Plans what a memory changes in the profile, and builds the records of that.

An earlier value does not come back when the memory of a later one is forgotten: whoever forgets
"I moved to Hamburg" has not said that they live in Berlin again, and an empty profile is better
than a wrong one. The memory that said Berlin is still found, and saying it again brings it back.
The same value stays as long as another memory says it (`find_last_statement`).

What is said for a while only replaces nothing that outlasts it: it stands first until it ends.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import IMPORTANCE_DEFAULT
from memory_mcp.domain.normalise import folded
from memory_mcp.domain.profile import (
    LABELS,
    MANY,
    PROFILE_CATEGORY,
    Field,
    Profile,
    ProfileEntry,
    ProfileFact,
    field_of,
    key_of,
)
from memory_mcp.domain.record import Kind, Record
from memory_mcp.text.profile.languages import shared_parts
from memory_mcp.text.profile.match import find_facts
from memory_mcp.text.profile.values import is_plain_goal, parse_values
from memory_mcp.text.tables import fill

SPEAKING_KINDS: Final[frozenset[Kind]] = frozenset(
    {"fact", "preference", "identity", "event", "convention", "pattern"}
)
"""Kinds whose text speaks for the user. A lesson or an episode also tells what others said."""


TAKEN_OUT: Final = "Taken out of the profile: {}."
PUT_IN: Final = "In the profile now: {}{}."


@dataclass(frozen=True)
class KeptFact:
    """A visible fact with its record. `stands`: every memory it was drawn from is visible too."""

    entry: ProfileEntry
    record: Record
    stands: bool


@dataclass(frozen=True)
class ProfilePlan:
    """New facts with what they supersede; what falls; and what to tell about it."""

    facts: tuple[tuple[ProfileFact, tuple[RecordId, ...]], ...] = ()
    fallen: tuple[RecordId, ...] = ()
    notes: tuple[str, ...] = ()


def read_memory(record: Record) -> tuple[ProfileFact, ...]:
    """What a memory says of the user. A fact of the profile is itself what is said."""
    if record.kind not in SPEAKING_KINDS or field_of(record) is not None:
        return ()
    return find_facts(record.content)


def read_entry(record: Record) -> ProfileEntry | None:
    """A record as a fact, if it is one and says something."""
    field = field_of(record)
    if field is None or record.kind != "fact":
        return None
    label = f"{LABELS[field]}: "
    value = record.content.strip()
    if value.casefold().startswith(label.casefold()):
        value = value[len(label) :]
    else:  # corrected in other words
        meant = [f.value for f in find_facts(value) if f.field == field and f.holds]
        value = meant[0] if meant else value
    line = " ".join(value.split())
    if not line:
        return None
    fact = ProfileFact(field, line)
    return ProfileEntry(fact, record.id, record.derived_from, record.expires_at)


def suggest_user_scope(said: Sequence[ProfileFact]) -> tuple[str, ...]:
    """What is said to whoever kept it for one project only."""
    lines = [fact.line for fact in said if fact.holds]
    if not lines:
        return ()
    what = "; ".join(lines)
    return (f"About the user ({what}): add it with scope=user to have it in the user's profile.",)


def plan_profile(
    record: Record,
    said: Sequence[ProfileFact],
    kept: Sequence[KeptFact],
    before: Collection[ProfileFact] = (),
) -> ProfilePlan:
    """What is to be written now that this memory holds.

    `before` is what the memories said that it replaces: repeating that is no news, so it does not
    override what somebody else said since.
    """
    plan = _Planning(record, [k for k in kept if k.stands], [k for k in kept if not k.stands])
    for fact in said:
        if not fact.holds:
            plan.deny(fact)
    for fact in said:
        if fact.holds:
            plan.state(fact, news=not any(fact.same_as(old) for old in before))
    return plan.done()


class _Planning:
    """A plan in the making: what stands, what stands no longer, and what was decided so far."""

    def __init__(self, record: Record, standing: list[KeptFact], loose: list[KeptFact]) -> None:
        self._ends = record.expires_at
        self._standing = standing
        self._loose = loose
        self._fallen: list[RecordId] = []
        self._facts: list[tuple[ProfileFact, tuple[RecordId, ...]]] = []
        self._notes: list[str] = []

    def deny(self, fact: ProfileFact) -> None:
        """Take away what was said not to be so."""
        for kept in list(self._standing):
            there = kept.entry.fact
            if self._outlasts(kept):
                continue
            if there.field == fact.field and (not fact.value or there.same_as(fact)):
                self._standing.remove(kept)
                self._fallen.append(kept.record.id)
                self._notes.append(TAKEN_OUT.format(there.line))

    def state(self, fact: ProfileFact, *, news: bool) -> None:
        """Write the fact, unless it is known or was overridden since."""
        rivals = [k for k in self._standing if k.entry.fact.field == fact.field]
        first = rivals if fact.field in MANY else rivals[:1]
        if any(k.entry.fact.same_as(fact) and self._lasts(k) for k in first):
            return
        same = [k for k in rivals if k.entry.fact.same_as(fact)]
        others = [k for k in rivals if k not in same]
        if fact.field in MANY:
            over = others[MANY[fact.field] - 1 :]  # the newest come first
        elif news:
            over = others
        elif others and (self._ends or any(k.entry.until is None for k in others)):
            return
        else:  # what is said for a while goes on standing before it
            over = []
        over = [k for k in over if not self._outlasts(k)]
        gone = [k for k in (*same, *over) if not self._outlasts(k)]
        loose = [k for k in self._loose if k.entry.fact.field == fact.field]
        if fact.field in MANY:
            loose = [k for k in loose if k.entry.fact.same_as(fact)]
        self._loose = [k for k in self._loose if k not in loose]
        self._standing = [k for k in self._standing if k not in gone]
        self._facts.append((fact, tuple(k.record.id for k in (*gone, *loose))))
        self._notes.append(PUT_IN.format(fact.line, _describe_replaced(over)))

    def done(self) -> ProfilePlan:
        """What is left loose falls: the memory that it was drawn from says it no longer."""
        self._notes += [TAKEN_OUT.format(k.entry.fact.line) for k in self._loose]
        fallen = (*self._fallen, *(k.record.id for k in self._loose))
        return ProfilePlan(tuple(self._facts), fallen, tuple(self._notes))

    def _lasts(self, kept: KeptFact) -> bool:
        """Whether the known fact holds for as long as the new memory does."""
        ends, mine = kept.entry.until, self._ends
        return ends is None or (mine is not None and mine <= ends)

    def _outlasts(self, kept: KeptFact) -> bool:
        """Whether the known fact goes on when the new memory has ended."""
        ends, mine = kept.entry.until, self._ends
        return mine is not None and (ends is None or mine < ends)


def find_last_statement(
    lost: KeptFact, told: Sequence[tuple[Record, Sequence[ProfileFact]]]
) -> tuple[Record, ProfileFact] | None:
    """Which of the memories, the newest first, says still what was lost; None if none does.

    The last one that says anything of it counts, so that nothing old comes back; but what is said
    for a while only ends nothing. What replaced the source itself says what holds instead.
    """
    passing: tuple[Record, ProfileFact] | None = None
    for record, said in told:
        about = [fact for fact in said if _is_about(fact, lost.entry.fact)]
        if not about:
            continue
        instead = not set(lost.entry.sources).isdisjoint(record.supersedes)
        same = [f for f in about if f.holds and (instead or f.same_as(lost.entry.fact))]
        found = (record, same[-1]) if same else None
        if record.expires_at is None:
            return found or passing
        passing = passing or found
    return passing


def _is_about(fact: ProfileFact, lost: ProfileFact) -> bool:
    if fact.field != lost.field:
        return False
    if fact.holds:
        return fact.field not in MANY or fact.same_as(lost)
    return not fact.value or fact.same_as(lost)


def _describe_replaced(over: Sequence[KeptFact]) -> str:
    if not over:
        return ""
    was = ", ".join(
        f"{k.entry.fact.value!r} from {(*k.entry.sources, k.record.id)[0]}" for k in over
    )
    return f" (instead of {was})"


def build_fact_record(
    fact: ProfileFact, supersedes: tuple[RecordId, ...], source: Record, id_: RecordId
) -> Record:
    """The record of a fact: it stands outside the timeline, and ends when its source does."""
    return Record(
        id=id_,
        kind="fact",
        layer="core",
        key=key_of(fact.field),
        content=fact.line,
        title=LABELS[fact.field],
        category=PROFILE_CATEGORY,
        importance=IMPORTANCE_DEFAULT,
        expires_at=source.expires_at,
        supersedes=supersedes,
        derived_from=(source.id,),
        scope=source.scope,
        origin=source.origin.model_copy(update={"by": "system"}),
        created_at=source.created_at,
    )


def build_fact_tombstone(fallen: Sequence[RecordId], because: Record, id_: RecordId) -> Record:
    """The tombstone of facts that nothing says any more. It hides; what is hidden stays a file."""
    return Record(
        id=id_,
        kind="tombstone",
        content="No longer said of the user.",
        supersedes=tuple(fallen),
        scope=because.scope,
        origin=because.origin.model_copy(update={"by": "system"}),
        created_at=because.created_at,
    )


def order_entries(entries: Sequence[ProfileEntry]) -> Profile:
    """By field, what is said for a while and then the newest first; a value said twice counts once.

    Where somebody is for a while, the country that was known before says nothing.
    """
    fields = list(LABELS)
    known: dict[tuple[str, str], ProfileEntry] = {}
    for entry in sorted(entries, key=_rank_entry, reverse=True):
        known.setdefault((entry.fact.field, folded(entry.fact.value)), entry)
    best: list[ProfileEntry] = []
    for entry in sorted(known.values(), key=lambda e: fields.index(e.fact.field)):
        taken = sum(other.fact.field == entry.fact.field for other in best)
        if taken < MANY.get(entry.fact.field, 1):
            best.append(entry)
    here = next((e for e in best if e.fact.field == "city" and e.until), None)
    if here:
        best = [e for e in best if e.fact.field != "country" or e.memory_id > here.memory_id]
    return Profile(tuple(best))


def _rank_entry(entry: ProfileEntry) -> tuple[bool, RecordId]:
    return entry.until is not None, entry.memory_id


_CHARS_MAX: Final[dict[Field, int]] = {"name": 40, "goal": 140}
_USUAL_CHARS_MAX: Final = 60

_MARKUP: Final = re.compile(r"[<>{}\[\]`|\\#*_~$]|https?:|\w\(\)")

_SHAPES: Final[dict[Field, str]] = {
    "name": r"{name}|"
    # a name in a script without capitals
    r"[^\W\d_a-zA-ZÀ-ɏ]{1,12}(?: [^\W\d_a-zA-ZÀ-ɏ]{1,12}){0,2}",
    "pronouns": r"\w{1,8}(?:/\w{1,8}){1,3}",
    "language": "{langs}",
    "speaks": "{langs}",
    "tone": "{toned}",
    "city": "{place}(?:, {place})?",
    "country": "{place}",
    "time_zone": "{zone}",
    "employer": "{org}",
    "occupation": r"[\w&/.'-]+(?: [\w&/.'-]+){0,4}",
    "birthday": r"[\w]{1,10}(?:[. ,/-]{1,2}\w{1,10}){1,3}",
    "interest": r"[\w&/.'-]+(?: [\w&/.'-]+){0,5}",
}


def parse_correction(old: Record, text: str) -> ProfileFact | None:
    """The fact that a corrected one says, however it was put; None if it is no such value."""
    field = field_of(old)
    value = text.strip()
    if field is None or not value or "\n" in value or "\r" in value or _MARKUP.search(value):
        return None
    label = f"{LABELS[field]}:"
    if value.casefold().startswith(label.casefold()):
        value = value[len(label) :].strip()
    elif meant := [f.value for f in find_facts(value) if f.field == field and f.holds]:
        value = meant[0]
    if len(value) > _CHARS_MAX.get(field, _USUAL_CHARS_MAX):
        return None
    if field == "goal":
        return ProfileFact(field, value) if is_plain_goal(value) else None
    if not re.fullmatch(fill(_SHAPES[field], shared_parts()), value):
        return None
    values = parse_values(field, value)
    return ProfileFact(field, values[0]) if len(values) == 1 else None
