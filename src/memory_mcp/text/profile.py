"""Plans what a memory changes in the profile, and builds the records of that.

An earlier value does not come back when the memory of a later one is forgotten: whoever forgets
"I moved to Hamburg" has not said that they live in Berlin again, and an empty profile is better
than a wrong one. The same value stays as long as another memory says it (`find_last_statement`).

A fact that expires replaces none that outlasts it: it stands first until it ends.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import IMPORTANCE_DEFAULT
from memory_mcp.domain.normalise import fold
from memory_mcp.domain.profile import (
    LABELS,
    MULTI_VALUED,
    PROFILE_CATEGORY,
    Profile,
    ProfileEntry,
    ProfileFact,
    ProfileField,
    find_profile_field,
    make_profile_key,
)
from memory_mcp.domain.record import Kind, Record
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.text.tables import fill, load_pattern
from memory_mcp.text.truths import Outdates, compare_statements, join_title
from memory_mcp.text.user_facts import find_facts, is_plain_goal, parse_values, shared_parts

SPEAKING_KINDS: Final[frozenset[Kind]] = frozenset(
    {"fact", "preference", "identity", "event", "convention", "pattern"}
)
"""Kinds whose text speaks for the user. A lesson or an episode also tells what others said."""


_SAID: Final[Mapping[ProfileField, str]] = {"city": "I live in {}.", "employer": "I work at {}."}
"""What outdates this has made the fact out of date, however that was said."""

TAKEN_OUT: Final = "Taken out of the profile: {}."
PUT_IN: Final = "In the profile now: {}{}."


@frozen
class StoredFact:
    """A visible fact with its record. `stands`: all memories it was drawn from are visible."""

    entry: ProfileEntry
    record: Record
    stands: bool


@frozen
class ProfilePlan:
    """New facts with what they supersede, the records that fall, and notes for the caller."""

    facts: tuple[tuple[ProfileFact, tuple[RecordId, ...]], ...] = ()
    fallen: tuple[RecordId, ...] = ()
    notes: tuple[str, ...] = ()


def read_facts_of_memory(record: Record) -> tuple[ProfileFact, ...]:
    """The facts that a memory states; none for a record that is itself a fact of the profile."""
    if record.kind not in SPEAKING_KINDS or find_profile_field(record) is not None:
        return ()
    return find_facts(record.content)


def may_contradict(record: Record) -> bool:
    """Whether it may speak of the user, so that a fact of the profile may be over by it."""
    if record.kind not in SPEAKING_KINDS or find_profile_field(record) is not None:
        return False
    return load_pattern("profile", "hint").search(record.content) is not None


def read_contradicted(
    record: Record,
    facts: Sequence[ProfileFact],
    stored: Sequence[StoredFact],
    sources: Mapping[RecordId, Record],
) -> tuple[ProfileFact, ...]:
    """What the memory says of the user beside `facts`: that what it brings out of date is over.

    `sources` are the memories from which the stored facts were drawn. Whoever lived in one place
    and moved to another, as nobody moves to a tool, lives there now.
    """
    said = {fact.field for fact in facts}
    over = [
        each.entry.fact
        for each in stored
        if each.stands and each.entry.fact.field not in said
        if any(
            _outdates(record, sources[id_], each.entry.fact)
            for id_ in each.entry.sources
            if id_ in sources
        )
    ]
    if not over:
        return ()
    supposed = find_facts(record.content, supposed=True)
    instead = tuple(
        replace(fact, supposed=False)
        for fact in supposed
        if fact.supposed and any(each.field == "city" for each in over)
    )
    known = {fact.field for fact in instead}
    return (*instead, *(replace(each, holds=False) for each in over if each.field not in known))


def _outdates(new: Record, old: Record, fact: ProfileFact) -> bool:
    """Whether the newer memory contradicts the older one in what the fact says."""
    if new.moment < old.moment or new.holds_with(old):
        return False
    text = join_title(new, old)
    if isinstance(compare_statements(join_title(old, new), text), Outdates):
        alone = {f.field for f in find_facts(old.content)} == {fact.field}
        if alone:
            return True
    said = _SAID.get(fact.field, "").format(fact.value)  # of several facts the old one's is one
    return bool(said) and isinstance(compare_statements(said, text), Outdates)


def parse_entry(record: Record) -> ProfileEntry | None:
    """The entry of a record; None if it is no fact of the profile, or an empty one."""
    field = find_profile_field(record)
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


def suggest_user_scope(facts: Sequence[ProfileFact]) -> tuple[str, ...]:
    """A note to the caller who stored these facts for one project only."""
    lines = [fact.line for fact in facts if fact.holds]
    if not lines:
        return ()
    what = "; ".join(lines)
    return (f"About the user ({what}): add it with scope=user to have it in the user's profile.",)


def plan_profile(
    record: Record,
    facts: Sequence[ProfileFact],
    kept: Sequence[StoredFact],
    before: Collection[ProfileFact] = (),
) -> ProfilePlan:
    """Which facts to write and which fall now that this memory holds.

    `before` are the facts of the memories that it replaces: repeating one is no news, so it does
    not override what somebody else said since.
    """
    plan = _Planning(record, [k for k in kept if k.stands], [k for k in kept if not k.stands])
    for fact in facts:
        if not fact.holds:
            plan.deny(fact)
    for fact in facts:
        if fact.holds:
            plan.state(fact, news=not any(fact.is_same_as(old) for old in before))
    return plan.finish()


class _Planning:
    """A plan in progress: facts that stand, facts that lost their source, what was decided."""

    def __init__(
        self, record: Record, standing: list[StoredFact], unsupported: list[StoredFact]
    ) -> None:
        self._ends = record.expires_at
        self._standing = standing
        self._unsupported = unsupported
        self._fallen: list[RecordId] = []
        self._facts: list[tuple[ProfileFact, tuple[RecordId, ...]]] = []
        self._notes: list[str] = []

    def deny(self, fact: ProfileFact) -> None:
        """Let the facts fall that were denied."""
        for kept in list(self._standing):
            there = kept.entry.fact
            if self._outlasts(kept):
                continue
            if there.field == fact.field and (not fact.value or there.is_same_as(fact)):
                self._standing.remove(kept)
                self._fallen.append(kept.record.id)
                self._notes.append(TAKEN_OUT.format(there.line))

    def state(self, fact: ProfileFact, *, news: bool) -> None:
        """Add the fact, unless it is known or was overridden since."""
        rivals = [k for k in self._standing if k.entry.fact.field == fact.field]
        first = rivals if fact.field in MULTI_VALUED else rivals[:1]
        if any(k.entry.fact.is_same_as(fact) and self._lasts(k) for k in first):
            return
        same = [k for k in rivals if k.entry.fact.is_same_as(fact)]
        others = [k for k in rivals if k not in same]
        if fact.field in MULTI_VALUED:
            over = others[MULTI_VALUED[fact.field] - 1 :]  # the newest come first
        elif news:
            over = others
        elif others and (self._ends or any(k.entry.until is None for k in others)):
            return
        else:  # a fact that expires stays before it
            over = []
        over = [k for k in over if not self._outlasts(k)]
        gone = [k for k in (*same, *over) if not self._outlasts(k)]
        unsupported = [k for k in self._unsupported if k.entry.fact.field == fact.field]
        if fact.field in MULTI_VALUED:
            unsupported = [k for k in unsupported if k.entry.fact.is_same_as(fact)]
        self._unsupported = [k for k in self._unsupported if k not in unsupported]
        self._standing = [k for k in self._standing if k not in gone]
        self._facts.append((fact, tuple(k.record.id for k in (*gone, *unsupported))))
        self._notes.append(PUT_IN.format(fact.line, _describe_replaced(over)))

    def finish(self) -> ProfilePlan:
        """The plan; facts that lost their source and were not said again fall."""
        self._notes += [TAKEN_OUT.format(k.entry.fact.line) for k in self._unsupported]
        fallen = (*self._fallen, *(k.record.id for k in self._unsupported))
        return ProfilePlan(tuple(self._facts), fallen, tuple(self._notes))

    def _lasts(self, kept: StoredFact) -> bool:
        """Whether the known fact holds at least as long as the new memory."""
        ends, mine = kept.entry.until, self._ends
        return ends is None or (mine is not None and mine <= ends)

    def _outlasts(self, kept: StoredFact) -> bool:
        """Whether the known fact still holds when the new memory has expired."""
        ends, mine = kept.entry.until, self._ends
        return mine is not None and (ends is None or mine < ends)


def find_last_statement(
    lost: StoredFact, statements: Sequence[tuple[Record, Sequence[ProfileFact]]]
) -> tuple[Record, ProfileFact] | None:
    """The newest of the memories that still says what was lost, and the fact; None if none does.

    The newest one that says anything about it counts, so that nothing old comes back, unless it
    expires. A memory that replaced the source says what holds instead.
    """
    passing: tuple[Record, ProfileFact] | None = None
    for record, facts in statements:
        about = [fact for fact in facts if _is_about(fact, lost.entry.fact)]
        if not about:
            continue
        instead = not set(lost.entry.sources).isdisjoint(record.supersedes)
        same = [f for f in about if f.holds and (instead or f.is_same_as(lost.entry.fact))]
        found = (record, same[-1]) if same else None
        if record.expires_at is None:
            return found or passing
        passing = passing or found
    return passing


def _is_about(fact: ProfileFact, lost: ProfileFact) -> bool:
    if fact.field != lost.field:
        return False
    if fact.holds:
        return fact.field not in MULTI_VALUED or fact.is_same_as(lost)
    return not fact.value or fact.is_same_as(lost)


def _describe_replaced(over: Sequence[StoredFact]) -> str:
    if not over:
        return ""
    was = ", ".join(
        f"{k.entry.fact.value!r} from {(*k.entry.sources, k.record.id)[0]}" for k in over
    )
    return f" (instead of {was})"


def build_fact_record(
    fact: ProfileFact, supersedes: tuple[RecordId, ...], source: Record, id_: RecordId
) -> Record:
    """The record of a fact: durable, and it expires when its source does."""
    return Record(
        id=id_,
        kind="fact",
        layer="core",
        key=make_profile_key(fact.field),
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
    """The tombstone that hides facts which no memory says any more; their files stay."""
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
    """The profile: by field, entries that expire and then the newest first, each value once.

    A country that is older than a temporary city is left out.
    """
    fields = list(LABELS)
    known: dict[tuple[str, str], ProfileEntry] = {}
    for entry in sorted(entries, key=_rank_entry, reverse=True):
        known.setdefault((entry.fact.field, fold(entry.fact.value)), entry)
    best: list[ProfileEntry] = []
    for entry in sorted(known.values(), key=lambda e: fields.index(e.fact.field)):
        taken = sum(other.fact.field == entry.fact.field for other in best)
        if taken < MULTI_VALUED.get(entry.fact.field, 1):
            best.append(entry)
    here = next((e for e in best if e.fact.field == "city" and e.until), None)
    if here:
        best = [e for e in best if e.fact.field != "country" or e.memory_id > here.memory_id]
    return Profile(tuple(best))


def _rank_entry(entry: ProfileEntry) -> tuple[bool, RecordId]:
    return entry.until is not None, entry.memory_id


_CHARS_MAX: Final[dict[ProfileField, int]] = {"name": 40, "goal": 140}
_USUAL_CHARS_MAX: Final = 60

_MARKUP: Final = compile_later(r"[<>{}\[\]`|\\#*_~$]|https?:|\w\(\)")

_SHAPES: Final[dict[ProfileField, str]] = {
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
    """The fact that the text of a correction says; None if it is no value of the field."""
    field = find_profile_field(old)
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
