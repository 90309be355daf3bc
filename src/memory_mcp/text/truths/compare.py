"""Compares two statements: does the later one bring the earlier one up to date?

Two ways lead to a yes. The skeletons of both are the same, and one value stands where another one
stood of which there is one at a time. Or the later one says that something changed, speaks of the
same thing, and has another value of the same kind, or says that the old value is over. What is
limited to another place, person, version or time is about something else.

A mark hides nothing, so a yes is given more often than two memories become one (`text.merge`).
"""

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby, pairwise, takewhile
from typing import Final, NamedTuple

from memory_mcp.domain.deduplication import Different
from memory_mcp.frozen import frozen
from memory_mcp.text.merge.amounts import read_amount, say_same
from memory_mcp.text.merge.clauses import cut_out_statements
from memory_mcp.text.merge.reading import NOT, Word, stem, toggles
from memory_mcp.text.merge.reading import words as merge_words
from memory_mcp.text.merge.vetoes import compare_titles
from memory_mcp.text.tables import load_pattern, load_table, matches
from memory_mcp.text.truths.additions import (
    count_other_things,
    is_code,
    name_other_kinds,
    says_further,
)
from memory_mcp.text.truths.frames import (
    Frame,
    families,
    is_elliptical,
    is_elliptical_we,
    read_frame,
    read_frames,
    split,
    split_statements,
    words,
)
from memory_mcp.text.truths.kinds import find_other_kinds, is_date
from memory_mcp.text.truths.places import compare_places
from memory_mcp.text.truths.renames import Rename, states_name
from memory_mcp.text.truths.siblings import are_exclusive, find_siblings, list_enumerated

SLOT_WORDS_MAX: Final = 6
_COMPARED_KEPT: Final = 8_192
"""A context compares every two of its candidates, a hundred at most: nearly all as the last did."""
_UNLIKE: Final = frozenset({"time", "size", "often", "place", "name"})
"""Kinds of values of which one may be in another unit, or in other words."""
_NAMED: Final = ("name", "identifier", "value")
_OTHERS_MAX: Final = 60
_SHARED_MIN: Final = 0.6
"""Of what the old statement is about, so much must the new one speak of, if it has no subject."""
_HOURS: Final = frozenset({"clock", "count"})
"""The kinds of figure that say at what hour something begins."""
_MOMENTS: Final = _HOURS | {"day"}
_STEM_CHARS_MIN: Final = 5
_LISTED_MIN: Final = 2
"""Things that two lists must share to be lists of the same."""
_BEGINNING: Final = 2
"""Sentences whose first words are the same begin alike."""


@frozen
class Outdates:
    """The later statement brings the earlier one up to date."""

    reason: str


@frozen
class Disputes:
    """Both cannot hold, and nothing says which of them does."""

    reason: str


@frozen
class Related:
    """They speak of the same thing; whoever understands both should look."""

    reason: str


@frozen
class Independent:
    """Both hold."""

    reason: str


Truth = Outdates | Disputes | Related | Independent

_FURTHER: Final = Independent("it says further where, when, for whom or how")
"""What is cut out of such a sentence may contradict; the whole does not."""

_RANKS: Final = (Outdates, Disputes, Related, Independent)


class Slot(NamedTuple):
    """Where two sentences of the same skeleton differ."""

    at: int
    old: Sequence[Word]
    new: Sequence[Word]

    def __str__(self) -> str:
        return f"{_join(self.old)!r} became {_join(self.new)!r}"


class _Comparison(NamedTuple):
    """What is true of the earlier text, and what of it is outdated and still holds if not all is.

    `parts` is None unless there are both.
    """

    truth: Truth
    parts: tuple[str, str] | None


def compare_statements(old: str, new: str) -> Truth:
    """What the later statement makes of the earlier one."""
    return _compare(old, new).truth


def split_outdated(old: str, new: str) -> tuple[str, str] | None:
    """What of the old text the new one brings up to date, and what still holds; None if not both.

    A memory of which a part still holds is not outdated.
    """
    return _compare(old, new).parts


@lru_cache(maxsize=_COMPARED_KEPT)
def _compare(old: str, new: str) -> _Comparison:
    found = _compare_each(old, new)
    truth = min(
        (truth for _, truth in found), key=_rank, default=Independent("there is nothing to compare")
    )
    parts = None
    if isinstance(truth, Outdates) and (kept := _list_kept(found)):
        gone = (frame.text for frame, truth in found if isinstance(truth, Outdates))
        parts = " ".join(gone), " ".join(kept)
        truth = Related(f"a part of it is outdated: {truth.reason}")
    titled = None if isinstance(truth, Independent) else compare_titles(new, old)
    apart = isinstance(titled, Different)
    return _Comparison(Independent(titled.reason) if apart else truth, parts)


def _compare_each(old: str, new: str) -> list[tuple[Frame, Truth]]:
    """What the later text makes of each statement of the earlier one."""
    ours, nothing = read_frames(new), Independent("there is nothing to compare")
    return [
        (frame, min([compare_frames(frame, n) for n in ours], key=_rank, default=nothing))
        for frame in read_frames(old)
    ]


def _rank(truth: Truth) -> int:
    return _RANKS.index(type(truth))


def _list_kept(found: Sequence[tuple[Frame, Truth]]) -> list[str]:
    """The statements that still hold, and say something without the others."""
    return [
        frame.text
        for at, (frame, truth) in enumerate(found)
        if not isinstance(truth, Outdates) and not (at and _leans(frame))
    ]


def _leans(frame: Frame) -> bool:
    """Whether a statement only says more of what stands before it."""
    first = frame.words[0]
    return first.text.casefold() in merge_words("leaning") or first.kind == "join"


def find_contradicted(old: str, new: str) -> tuple[str, tuple[str, ...]] | None:
    """The clause of the old text that the new one brings up to date, and the other clauses.

    Nothing of the clause is lost but one value: its skeleton is in the new text.
    """
    parts = split_statements(old)
    for at, part in enumerate(parts):
        frame = read_frame(part)
        found = (compare_alike(frame, n, find_limit(frame, n)) for n in read_frames(new))
        if any(isinstance(each, Outdates) for each in found):
            return part, (*parts[:at], *parts[at + 1 :])
    return None


def says_change(text: str) -> bool:
    """Whether a statement may say that something is other than it was."""
    hints = matches("truths", "hints", text.casefold())
    return any((frame.changes or hints) and not frame.supposed for frame in read_frames(text))


def list_other_values(text: str) -> list[str]:
    """The values that may stand in the place of one in the text: other databases, other editors."""
    kinds = frozenset[str]().union(*(frame.families for frame in read_frames(text)))
    return sorted(word for word, of in families().items() if of & kinds)[:_OTHERS_MAX]


def list_renames(text: str) -> list[Rename]:
    """What a text says is called otherwise now."""
    return [frame.renamed for frame in read_frames(text) if frame.renamed]


def compare_frames(old: Frame, new: Frame) -> Truth:
    """What one later sentence makes of an earlier one."""
    shared = old.about & new.about
    if not (shared or new.ended & old.about or new.families & old.families):
        return Independent("nothing in common")
    if new.renamed:
        return _compare_renamed(old, new, shared)
    if says_further(old, new):
        return Independent("it says more of it")
    return _compare_values(old, new, shared)


def _compare_values(old: Frame, new: Frame, shared: frozenset[str]) -> Truth:
    """The verdict on what both may state of one thing."""
    limit = find_limit(old, new)
    verdict = compare_alike(old, new, limit)
    if isinstance(verdict, Outdates | Disputes):
        return verdict
    if not limit and (ended := _find_ended(old, new, shared)):
        return ended
    if isinstance(verdict, Independent) and (limit or not (old.sourced and new.sourced)):
        return verdict
    return _compare_reshaped(old, new, shared) or verdict or Independent("two things")


def _compare_renamed(old: Frame, new: Frame, shared: frozenset[str]) -> Truth:
    """The verdict on what is called otherwise now: what is said of it but its name still holds."""
    reason = str(new.renamed)
    if new.renamed and old.supposed == new.supposed and states_name(old.text, new.renamed):
        return _decide(old, new, reason)
    return Related(reason) if shared else Independent(reason)


def compare_alike(old: Frame, new: Frame, limit: str) -> Truth | None:
    """The verdict on the same skeleton, be it that of the sentence or of a part of it."""
    if not limit and _changes_list(old, new):  # what is cut out names but a part of them
        return _decide(old, new, "both list all, and not the same")
    verdict = Independent(limit) if limit else _compare_skeletons(old, new)
    if isinstance(verdict, Outdates | Disputes) or verdict is _FURTHER:
        return verdict
    for part in _cut_out(old, new):
        inner = None if find_limit(old, part) else _compare_skeletons(old, part)
        if isinstance(inner, Outdates | Disputes):
            return inner
    return verdict


def _cut_out(old: Frame, new: Frame) -> Iterator[Frame]:
    """The statements about the old subject that stand in the new sentence."""
    whole = not (new.several or _is_for_part(new))
    if whole and old.subject and old.subject <= new.about:
        for text in cut_out_statements(new.sentence.text, old.sentence.text):
            yield read_frame(text)
        if found := load_pattern("truths", "holder_within").search(new.sentence.text):
            yield read_frame(found.group("statement"))


def find_limit(old: Frame, new: Frame) -> str:
    """Why what one says does not bear on the other: another place, one of several; or ""."""
    if (old.past, old.supposed) != (new.past, new.supposed):
        return "one of them tells of what was, or may be"
    if new.where - old.where:
        return "they hold for different places or people"
    if old.several or new.several or _is_for_part(old) != _is_for_part(new):
        return "one of several"
    if old.general != new.general:
        return "a rule and an exception"
    if is_code(old) or is_code(new):
        return "with another literal code does something else"
    two = "two of a kind that are not the same" if are_exclusive(old, new) else ""
    return two or find_other_kinds(old, new)


def may_exclude(one: str, other: str) -> bool:
    """Whether two statements differ in one value only, of which there may be one at a time.

    It asks for less than a mark does: who repeats the one after the other was said takes the other
    one back, whether or not a rule can tell that they exclude each other.
    """
    return any(_may_exclude(o, n) for o in read_frames(one) for n in read_frames(other))


def _may_exclude(old: Frame, new: Frame) -> bool:
    slot = None if find_limit(old, new) else _find_slot(old, new)
    if slot is None or old.negations or new.negations or not (slot.old and slot.new):
        return False
    if _refines(slot) or say_same(slot.old, slot.new) or len(old.keys) <= len(slot.old) + 1:
        return False
    if slot.at < max(old.predicate, 1):  # who does it, not what it is of
        return slot.at == 0 and all(map(_is_alone, (slot.old, slot.new)))
    return _judge_values(old, slot) is not False


def _is_alone(side: Sequence[Word]) -> bool:
    """Whether a person is named: a capital alone is no sign at the beginning of a sentence."""
    return len(side) == 1 and side[0].text[:1].isupper() and not side[0].article


def _is_for_part(frame: Frame) -> bool:
    """Whether it says that it holds "for publishing only", and not that this changed."""
    return matches("truths", "part_only", frame.text.casefold()) and not frame.changes


def _is_value(key: str) -> bool:
    return key in families()


def _compare_skeletons(old: Frame, new: Frame) -> Truth | None:
    """The verdict on sentences that are the same but for one place; None if they are not."""
    if old.words and old.words[0].text.casefold() in merge_words("leaning"):
        return Independent("nobody knows of what it speaks")
    if old.negations != new.negations:
        return _decide(old, new, "one denies the other") if _denies(old, new) else None
    if old.keys == new.keys:
        return Independent("the same words")
    if old.negations and _exchanges(old.sentence.keys, new.sentence.keys):
        return _decide(old, new, "what is denied is said, and the other way round")
    slot = _drop_onset(_find_slot(old, new))
    if slot and say_same(slot.old, slot.new):
        return Independent("the same value in another form")
    return _judge_slot(old, new, slot) if slot else None


def _drop_onset(slot: Slot | None) -> Slot | None:
    """Without the day from which on the new value holds, if the old one has none."""
    if slot is None or any(word.text.casefold() in words("words", "onsets") for word in slot.old):
        return slot
    for at, (word, day) in enumerate(pairwise(slot.new)):
        if word.text.casefold() in words("words", "begins") and is_date(day):
            rest = [w for w in slot.new[at + 2 :] if w.key not in words("words", "only")]
            value = [*slot.new[:at], *rest]
            return Slot(slot.at, slot.old, value) if value and not (at and rest) else slot
    return slot


def _changes_list(old: Frame, new: Frame) -> bool:
    """Whether each lists all that something is, and the new list lacks some of the old one.

    "Supported are A, B and C" is over by "Supported are A and B", or by "A, B and D".
    """
    copula = next((at for at, word in enumerate(old.words) if word.after_copula), 0)
    offered = not words("lists", "offered").isdisjoint(old.keys[old.predicate : old.predicate + 1])
    first = copula or (old.predicate + 1 if old.predicate and offered else 0)
    if not (first and old.sentence.lists) or old.negations or new.negations or old.general:
        return False
    theirs, ours = old.words[first:], new.words[first:]
    if old.keys[:first] != new.keys[:first] or not all(map(_lists_alone, (theirs, ours))):
        return False
    before, after = ({word.key for word in side} for side in (theirs, ours))
    if len(before & after) < _LISTED_MIN or not before - after:
        return False
    # a verb may be said anew with what is in question only
    return len(after) == len(before) or (bool(copula) and len(after) < len(before))


def _lists_alone(said: Sequence[Word]) -> bool:
    """Whether nothing but things of one word each is named."""
    return len(said) >= _LISTED_MIN and all(
        word.kind in ("word", "name", "identifier", "value", "join")
        and (word.set_off or not at)
        and not word.article
        for at, word in enumerate(said)
    )


def _denies(old: Frame, new: Frame) -> bool:
    """Whether the new sentence begins as the old one, but for a negation."""
    little = {NOT, *words("words", "always")}
    ours, theirs = (
        [key for key in frame.sentence.keys[: len(old.keys) + 1] if key not in little]
        for frame in (new, old)
    )
    return bool(theirs) and ours == theirs


def _exchanges(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether two words have changed their places: "tabs, not spaces", "spaces, not tabs"."""
    if len(old) != len(new):
        return False
    pairs = [(ours, theirs) for ours, theirs in zip(new, old, strict=True) if ours != theirs]
    return len(pairs) == len({*pairs[0]}) and pairs[0] == pairs[1][::-1] if pairs else False


def _judge_slot(old: Frame, new: Frame, slot: Slot) -> Truth | None:
    if not (slot.old and slot.new) or old.negations or _refines(slot):
        return Independent("each denies something else" if old.negations else "one says more")
    opposite = _is_opposite(old, slot)
    placed = compare_places(old, new, slot.at, slot.new, slot.old)
    if placed is False or _hold_at_other_times(old, new, slot):
        return _FURTHER
    if not (opposite or placed) and _changes_two_things(old, slot):
        return None
    in_subject = slot.at < max(old.predicate, 1) or any(w.after_copula for w in slot.old[1:])
    in_subject = in_subject and not (_is_bound(old, slot) or _counts_subject(slot))
    one = _is_holder(old, slot) if in_subject else opposite or placed or _judge_values(old, slot)
    if not (one or in_subject) and _is_switched(old, new, slot):
        one = True
    if one is None and _is_alike(slot):
        one = matches("truths", "now", new.text.casefold()) or None
    if one is None:
        return Related(f"{slot}, or there are several")
    if one:
        return _decide(old, new, str(slot))
    return Independent("about another subject" if in_subject else "there may be several")


def _hold_at_other_times(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether each hour holds for days or months of its own: "opens at 10:00 on Sundays".

    Of what changed the newer one holds from then on, and what "is at 10:00 on Mondays" takes place
    once: it has moved.
    """
    if new.changes or old.sentence.copulas or _find_figures(slot).isdisjoint(_HOURS):
        return False
    times = [
        [
            *(w.text for w in frame.words[slot.at + 1 :] if _recurs(w)),
            *(w.key for lead, w in pairwise(side[1:]) if _begins_season(lead, w)),
        ]
        for frame, side in ((old, slot.old), (new, slot.new))
    ]
    return times[0] != times[1]


def _recurs(word: Word) -> bool:
    return word.dimension == "day" and word.text.endswith("s")


def _begins_season(lead: Word, word: Word) -> bool:
    """Whether it is a month of any year, which is a number of one or two digits."""
    begins = lead.key in words("words", "begins")
    return begins and word.dimension == "day" and word.key.isdigit() and len(word.key) < len("2025")


def _is_switched(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether the new one says that a tool took the place of what its subject uses."""
    before, after = _find_families(slot.old), _find_families(slot.new)
    apart = before and after and before.isdisjoint(after)
    named = _is_name(slot.old[0]) and _is_name(slot.new[0])
    switched = old.subject and named and not apart
    return bool(switched and matches("truths", "switched", new.text.casefold()))


def _is_bound(old: Frame, slot: Slot) -> bool:
    """Whether it is the figure that bounds the subject: "uploads larger than 20 MB"."""
    figures = _find_figures(slot)
    return bool(figures and slot.at and old.keys[slot.at - 1] in words("words", "bounds"))


def _is_alike(slot: Slot) -> bool:
    """Whether both sides are said in the same way, and neither is what is done.

    In the place of a value of a known kind stands one of that kind, or a name that nobody knows.
    """
    old, new = slot.old[0], slot.new[0]
    if _find_families(slot.old) and not (_find_families(slot.new) or new.kind in _NAMED):
        return False
    return old.after_copula == new.after_copula and "verb" not in (old.kind, new.kind)


def _counts_subject(slot: Slot) -> bool:
    """Whether it is how many there are: "two approvals are required"."""
    figures = all(word.dimension == "count" for word in (*slot.old, *slot.new))
    return figures and not slot.at and len(slot.old) == len(slot.new) == 1


def _is_opposite(old: Frame, slot: Slot) -> bool:
    """Whether one word stands for its opposite, and not in the subject: "include", "exclude"."""
    if len(slot.old) != 1 or len(slot.new) != 1 or slot.at < max(old.predicate, 1):
        return False
    both = {slot.old[0].key, slot.new[0].key}
    return any(both <= group for group in _opposites())


@cache
def _opposites() -> Sequence[frozenset[str]]:
    return [frozenset(map(stem, g.split())) for g in load_table("truths")["groups"]["opposites"]]


def _decide(old: Frame, new: Frame, reason: str) -> Outdates | Disputes:
    """Later is newer, unless one of them stands on somebody's word alone."""
    if (old.sourced or new.sourced) and not new.changes:
        return Disputes(reason)
    return Outdates(reason)


def _find_slot(old: Frame, new: Frame) -> Slot | None:
    """The one place in which the sentences differ; the new one may say more behind it."""
    ours, theirs = new.keys, old.keys
    if (named := _find_repeated(old, new)) is not None:
        return Slot(named, old.words[named : named + 1], new.words[named : named + 1])
    at = 0
    while at < min(len(ours), len(theirs)) and ours[at] == theirs[at]:
        at += 1
    ends_alike = bool(theirs) and theirs[-1] in ours[at:]  # seldom, and it spares the search
    for length in range(len(theirs) - at + 1 if ends_alike else 0):
        rest = theirs[at + length :]
        if length > SLOT_WORDS_MAX:
            break
        for other in range(SLOT_WORDS_MAX + 1):
            end = at + other + len(rest)
            both = (length and other) or (at and end == len(ours))
            if rest and both and ours[at + other : end] == rest:
                return Slot(at, old.words[at : at + length], new.words[at : at + other])
    if not at or len(theirs) - at > SLOT_WORDS_MAX:
        return None
    return Slot(at, old.words[at:], new.words[at : _find_end(new, at, len(theirs) - at)])


def _find_repeated(old: Frame, new: Frame) -> int | None:
    """Where one word first stands for another one, if it does so again: "yarn", "yarn install"."""
    if len(old.keys) != len(new.keys):
        return None
    pairs = list(zip(old.keys, new.keys, strict=True))
    places = [at for at, (theirs, ours) in enumerate(pairs) if theirs != ours]
    again = len(places) > 1 and len({pairs[at] for at in places}) == 1
    return places[0] if again else None


def _find_end(frame: Frame, at: int, length: int) -> int:
    """Where the value that begins here ends, if it is as long as another one or longer."""
    for place in range(at + max(length, 1), len(frame.words)):
        word = frame.words[place]
        named = word.key in words("words", "of")
        if word.set_off or (word.kind in ("preposition", "join", "verb") and not named):
            return place
    return len(frame.words)


def _refines(slot: Slot) -> bool:
    """Whether one of them only says it more exactly: "spaces", "two spaces"."""
    before, after = ({word.key for word in side} for side in (slot.old, slot.new))
    return before <= after or after <= before


def _changes_two_things(old: Frame, slot: Slot) -> bool:
    """Whether something between is the same, or it is not a value for a value."""
    both = (*slot.old, *slot.new)
    before, after = (
        {word.key for word in side if word.kind != "preposition"} for side in (slot.old, slot.new)
    )
    figures = _find_figures(slot)
    leads = [
        side[0].key
        for side in (slot.old, slot.new)
        if side[0].kind == "preposition" and not (figures and _leads_bound(side))
    ]
    plain = all(word.kind in ("value", "preposition") for word in both)
    mixed = figures and not plain and not _find_families(slot.old) & _find_families(slot.new)
    whole = slot.old[0].after_copula or _names_one_of_kind(old, slot)
    shares = before & after and not whole
    acts = any(word.kind == "verb" for word in both) and not whole
    apart = len(leads) == 1 or leads[:1] != leads[1:]
    return bool(shares or mixed or acts or apart or _tells_two_things(slot))


def _leads_bound(side: Sequence[Word]) -> bool:
    """Whether it only leads to a figure that is no hour: "capped at 60 percent"."""
    return side[0].key in ("at", "to") and _find_dimensions(side).isdisjoint(_MOMENTS)


def _tells_two_things(slot: Slot) -> bool:
    """Whether each side is a thing and what limits it: "keys on the 1st", "JSON with --json"."""
    if slot.old[0].key == slot.new[0].key:
        return False
    options = [{word.key for word in side if _is_option(word)} for side in (slot.old, slot.new)]
    if all(options) and options[0].isdisjoint(options[1]) and len(slot.old) > 1:
        return True
    if all(
        len(side) > 1 and side[0].kind in ("verb", "word") and side[1].kind == "preposition"
        for side in (slot.old, slot.new)
    ):
        return True
    ends = [_split_at_scope(side) for side in (slot.old, slot.new)]
    return all(ends) and ends[0] != ends[1]


def _is_option(word: Word) -> bool:
    """Whether it chooses one of several that a command can do: "--json", "sort=date"."""
    return word.kind == "identifier" and (word.text.startswith("-") or "=" in word.text)


def _split_at_scope(side: Sequence[Word]) -> str:
    """What stands behind what limits it, in the middle of a value: "black for Python"."""
    for at, word in enumerate(side[1:-1], 1):
        if word.key in words("words", "scopes") and side[at + 1].kind != "value":
            return side[at + 1].key
    return ""


def _is_holder(old: Frame, slot: Slot) -> bool:
    """Whether the subject is who has a role that one has: "Ada is the lead", "Ada leads it"."""
    names = all(_is_name(word) for word in (*slot.old, *slot.new))
    end = slot.at + len(slot.old)
    if slot.at or not names or old.predicate not in (0, end) or end >= len(old.words):
        return False
    first = old.words[end]
    if first.after_copula:
        return first.article not in ("", "a", "an", "ein", "eine")
    return first.key in words("singles", "roles")


def _is_name(word: Word) -> bool:
    return word.text[:1].isupper() or word.kind == "name"


def _judge_values(old: Frame, slot: Slot) -> bool | None:
    """Whether there is one such value at a time; None if nobody can tell."""
    if all(toggles().get(word.key) for word in (slot.old[0], slot.new[0])):
        return True
    said = old.keys[: 0 if slot.old[0].after_copula else slot.at]
    before = frozenset(said[old.predicate :])
    one = bool(before & (words("singles", "tools") | merge_words("ranked")))
    listed = bool(before & words("lists", "verbs")) and not one
    if _find_figures(slot):
        return _judge_figures(old, slot, listed=listed)
    if _find_families(slot.old) & _find_families(slot.new):
        return not (listed or before & words("lists", "possible"))
    return _judge_names(old, slot, before)


def _judge_names(old: Frame, slot: Slot, before: frozenset[str]) -> bool | None:
    if _names_one_of_kind(old, slot):
        return True
    passive = old.words[slot.at - 1].key in ("by", "von") and old.sentence.copulas
    listed = before & words("lists", "verbs") and not (before & merge_words("ranked") or passive)
    if listed or before & (words("lists", "adjectives") | words("lists", "possible")):
        return False
    firsts = (slot.old[0], slot.new[0])
    named = all(_is_name(word) or word.kind == "identifier" for word in firsts)
    if named and matches("truths", "one_name", _join_before(old, slot)):
        return True
    if _is_predicate(old, slot):
        one = not any(word.article in merge_words("indefinite") for word in firsts)
        return (one and bool(load_pattern("truths", "definite").match(old.sentence.text))) or None
    return bool(before & words("singles", "verbs")) or None


def _is_predicate(old: Frame, slot: Slot) -> bool:
    """Whether it is all that is said of the subject, but for a name's beginning: "is Dr Who"."""
    if slot.old[0].after_copula or slot.new[0].after_copula:
        return slot.old[0].after_copula and slot.new[0].after_copula
    before = old.words[slot.at - 1]
    return before.after_copula and before.kind in ("name", "preposition")


def _judge_figures(old: Frame, slot: Slot, *, listed: bool) -> bool | None:
    if not slot.at:
        return not (old.past or old.sentence.event)
    before = old.words[slot.at - 1]
    label = slot.at == 1 and not (old.predicate or slot.old[0].set_off or before.kind == "verb")
    follows = old.words[slot.at + len(slot.old) :][:1]
    counted = bool(follows) and follows[0].kind in ("word", "name")
    names = merge_words("references") | words("words", "labels")
    label = label or (before.key in names and not counted and not slot.old[0].after_copula)
    if label or old.past or old.sentence.event:
        return False  # "rule 3 of the house", "ticket 12"; what happened may have happened twice
    return not (listed and not follows and _find_dimensions(slot.old) <= {"count", "day"})


def _find_figures(slot: Slot) -> set[str]:
    """The kinds of which both sides have a figure."""
    return _find_dimensions(slot.old) & _find_dimensions(slot.new)


def _find_dimensions(found: Sequence[Word]) -> set[str]:
    return {word.dimension for word in found if word.kind == "value"}


def _find_families(found: Sequence[Word]) -> set[str]:
    known = families()
    return {
        family
        for word in found
        for part in (word.text.casefold(), word.key)
        for family in known.get(part, ())
    }


def _names_one_of_kind(frame: Frame, slot: Slot) -> bool:
    """Whether it stands behind "the capital of", "the position of", "is called"."""
    return matches("truths", "kind_of", _join_before(frame, slot))


def _join_before(frame: Frame, slot: Slot) -> str:
    said = (part for word in frame.words[: slot.at] for part in (word.article, word.text) if part)
    return " ".join(said).casefold()


def _find_ended(old: Frame, new: Frame, shared: frozenset[str]) -> Outdates | Related | None:
    """What is over by the new sentence, if it says that something changed.

    What it says is over for something of its own ends only what the old sentence says of that.
    """
    if not new.changes or _ends_elsewhere(old, new) or not _tells_of_act(old, new):
        return None
    topic = new.topic
    figures = frozenset[str]().union(*old.values.values())
    whole = bool(old.subject) and old.subject <= new.ended
    if whole and not topic and any(w.kind == "value" for w in old.words[old.predicate :]):
        return Related("a figure of what is over")
    over = new.ended & ((old.about | figures) - (frozenset() if whole else old.subject))
    often = old.values.get("often", frozenset())
    if new.ended - old.about and new.unused and not _has_name(old, over - often):
        return None  # of a part of its kind: "nightly exports"
    named = over and (len(shared | over) > 1 or _has_name(old, over) or old.keys[-1] in over)
    if not (whole or named):
        return _find_changed_name(old, new)
    listed = list_enumerated(old)
    if listed & (over | topic) and listed - over - topic:
        return Related(f"of several, {_show(old, over)} is over")
    return Outdates(f"it says that {_show(old, over)} is over")


def _tells_of_act(old: Frame, new: Frame) -> bool:
    """Whether what is no longer done is what the old one says, if the new one says such a thing.

    "We no longer mail backups" says nothing of where backups lie. Either the same is done with the
    same, or all that the new one names is named: "store photos in S3", "photos live in S3".
    """
    done = new.undone
    if not done:
        return True
    named = new.about - {done}
    same = done in old.keys and bool(new.ended & old.about - {done})
    return same or (len(named) > 1 and named <= old.about)


def _find_changed_name(old: Frame, new: Frame) -> Outdates | None:
    """Whether something changed for who stands in the old sentence as its value."""
    names = old.values.get("name", frozenset()) - old.subject - families().keys()
    others = new.values.get("name", frozenset()) - old.about
    told = names & new.about and not old.where - new.where and (old.subject & new.about or others)
    if not told or find_siblings(old, new, names | others) or list_enumerated(old) & names:
        return None
    return Outdates(f"something changed for {_show(old, names & new.about)}")


def _ends_elsewhere(old: Frame, new: Frame) -> bool:
    """Whether the new sentence says so of a topic that is not the old one's."""
    topic = new.topic
    return bool(topic and old.about - new.ended) and not _is_about(old, new, topic)


def _is_about(old: Frame, new: Frame, topic: frozenset[str]) -> bool:
    """Whether the old sentence speaks of the topic of the new one, and of no sibling of it."""
    near = any(_is_same_stem(one, other) for one in topic for other in old.about)
    for key, follows in zip(new.keys, new.words[1:], strict=False):
        if key in new.ended - old.about and follows.article:  # "no longer edit the wiki"
            return False
    return near and not find_siblings(old, new, new.ended)


def _is_same_stem(one: str, other: str) -> bool:
    """Whether the shorter one begins the longer one: "format", "formatter"."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _STEM_CHARS_MIN and long.startswith(short))


def _compare_reshaped(old: Frame, new: Frame, shared: frozenset[str]) -> Truth | None:
    """The verdict on sentences of other skeletons, by what they are about and by their values."""
    kinds = _find_rival_kinds(old, new)
    same = _has_same_subject(old, new, shared) and not has_other_head(old, new)
    if siblings := find_siblings(old, new, _list_value_words(kinds, (old, new))):
        same_matter = len(shared) > 1 or (new.changes and shared)
        return Related(siblings) if same_matter else Independent(siblings)
    opposite = _turns_opposite(old, new)
    if new.changes and (opposite or (kinds and same and not old.where - new.where)):
        return Outdates("the opposite" if opposite else f"another {kinds[0]}")
    sourced = (old.sourced or new.sourced) and (new.changes or not _is_made_alike(old, new))
    apart = old.subject and new.subject and not old.subject & new.about
    both = sourced and old.sourced and new.sourced
    sourced = sourced and (both or not apart)
    if kinds and kinds != ["name"] and sourced and len(shared) > 1 - both:
        return Disputes(f"another {kinds[0]}")
    near = 2 * len(shared) >= min(len(old.about), len(new.about))
    if both and shared and (near or same):
        return Disputes("each stands on another word")
    if new.changes and (shared or kinds):
        return Related("it says that something changed")
    return Related("they speak of the same") if len(shared) > 1 else None


def _find_rival_kinds(old: Frame, new: Frame) -> list[str]:
    """The kinds of which both have a value, where the new one may speak of what has the old one.

    A sentence that names nothing but its value says of a name alone nothing. One that tells of a
    version speaks of that tool; of another one only in the place of what has the name of its kind.
    """
    kinds = _find_other_values(old, new)
    if not kinds or not is_elliptical(new) or _list_changed(new):
        return kinds
    versions = new.words[0].key in words("words", "upgrades") and not _has_name_of_kind(old)
    return [kind for kind in kinds if kind != "name" and not (versions and kind in new.families)]


def _list_value_words(kinds: Sequence[str], frames: Sequence[Frame]) -> frozenset[str]:
    """The words of the values of these kinds."""
    keys = [key for frame in frames for kind in kinds for key in frame.values.get(kind, ())]
    return frozenset(part for key in keys for part in (key, *map(stem, key.split())))


def _turns_opposite(old: Frame, new: Frame) -> bool:
    """Whether all that differs but for verbs is a word for its opposite: "dark mode", "light"."""
    ours, theirs = (
        {key for word, key in zip(frame.words, frame.keys, strict=True) if word.kind != "verb"}
        for frame in (new, old)
    )
    gone, come = theirs - ours, ours - theirs
    one = len(gone) == len(come) == 1 and bool(ours & theirs & old.about)
    return one and any(gone | come <= group for group in _opposites())


def _is_made_alike(old: Frame, new: Frame) -> bool:
    """Whether one is made like the other, as a list of facts is: none denies another one.

    They begin alike, or the same words stand at the same places, but for two that are apart.
    """
    if old.keys[:_BEGINNING] == new.keys[:_BEGINNING]:
        return True
    if len(old.keys) != len(new.keys):
        return False
    same = [ours == theirs for ours, theirs in zip(new.keys, old.keys, strict=True)]
    runs = sum(not each for each, _ in groupby(same))
    return runs > 1 and 2 * sum(same) >= len(same)


def _find_other_values(old: Frame, new: Frame) -> list[str]:
    """The kinds of which both have a value, and none in common; not the same in other units."""
    return sorted(
        kind
        for kind in old.values.keys() & new.values.keys()
        if _is_other(kind, old.values[kind] - old.subject, new.values[kind] - old.subject)
        and not _read_amounts(old, kind) & _read_amounts(new, kind)
        and not (kind == "count" and count_other_things(old, new))
        and not (kind == "name" and name_other_kinds(old, new))
        and (
            kind in _UNLIKE
            or {key.partition(" ")[2] for key in old.values[kind]}
            & {key.partition(" ")[2] for key in new.values[kind]}
        )
    )


def _read_amounts(frame: Frame, kind: str) -> set[str]:
    """The values of this kind in their plainest form."""
    return {
        amount
        for word in frame.words
        if word.kind == "value" and word.dimension == kind
        if (amount := read_amount(word.key, word.dimension))
    }


def _is_other(kind: str, before: frozenset[str], after: frozenset[str]) -> bool:
    """Whether the values differ; of several people one may stay."""
    if kind == "name":
        return bool(before - after and after - before)
    return bool(before and after) and before.isdisjoint(after)


def _has_name(old: Frame, keys: frozenset[str]) -> bool:
    return any(
        word.key in keys and (word.kind in ("name", "identifier") or _is_value(word.key))
        for word in old.words
    )


def _has_same_subject(old: Frame, new: Frame, shared: frozenset[str]) -> bool:
    if is_elliptical(new):
        changed = _list_changed(new)
        return not changed or bool(changed & old.about) or _has_name_of_kind(old)
    if is_elliptical_we(new) and _has_name_of_kind(old):
        return True
    if old.subject and old.values.get("name", frozenset()) & new.about:
        return bool(old.subject & new.about)
    if old.subject:
        own = new.subject and not new.subject & old.about
        return old.subject <= (new.about - _find_targets(new) if own else new.about)
    return bool(shared) and len(shared) >= _SHARED_MIN * len(old.about - _find_value_words(old))


def _list_changed(frame: Frame) -> frozenset[str]:
    """What a sentence without a subject names as changed: "bumped Python to 3.13".

    "Switched to Rust", which is read as "use Rust", names nothing.
    """
    if frame.words[0].text == "use":
        return frozenset()
    named = takewhile(lambda word: word.kind in (*_NAMED[:2], "word"), frame.words[1:])
    return frozenset(word.key for word in named)


def _has_name_of_kind(frame: Frame) -> bool:
    """Whether its subject is the kind of its value: "the database is MySQL"."""
    kinds = frozenset(stem(part) for kind in frame.families for part in kind.split("_"))
    named = frame.subject or frame.about - _find_value_words(frame)
    return bool(named) and named <= kinds | words("words", "kinds") | merge_words("ranked")


def _find_targets(frame: Frame) -> frozenset[str]:
    """The words behind "to": what the subject was changed to, and nothing of what it is."""
    return frozenset(
        key
        for key, before in zip(frame.keys[1:], frame.words, strict=False)
        if before.key in words("words", "targets")
    )


def _find_value_words(frame: Frame) -> frozenset[str]:
    """The words of what is said, not of what it is said of."""
    placed = {stem(word) for key in frame.values.get("place", ()) for word in key.split()}
    said = placed | words("singles", "verbs") | words("places", "kept") | words("places", "done")
    said |= words("words", "bounding")
    return frozenset(key for key in frame.about if _is_value(key) or key in said)


def has_other_head(old: Frame, new: Frame) -> bool:
    """Whether the old subject is only part of a name: "firmware releases", "birthday party"."""
    for at, (word, key) in enumerate(zip(new.words, new.keys, strict=True)):
        if key not in old.subject:
            continue
        acts = at == 1 and is_elliptical(new)  # "bumped Node to 22"
        if at and not (acts or word.article or word.set_off) and _is_noun(old, new, at - 1):
            return True
        if at + 1 < len(new.words) and not new.words[at + 1].set_off:
            follows = new.words[at + 1]
            named = _is_noun(old, new, at + 1) and not _names_bound(old, follows)
            if named and not follows.text.endswith(("s", "ed", "t", "n")):
                return True
    return False


def _names_bound(old: Frame, word: Word) -> bool:
    """Whether a word names what the old sentence says: "at least 80 %" is a threshold."""
    return word.key in words("words", "thresholds") and matches(
        "truths", "bounded", old.text.casefold()
    )


def _is_noun(old: Frame, new: Frame, at: int) -> bool:
    word, key = new.words[at], new.keys[at]
    named = word.kind in ("word", "name", "identifier") and not _is_value(key)
    return named and key in new.about and key not in old.about


def _show(frame: Frame, keys: frozenset[str]) -> str:
    """The words of these keys as the sentence writes them; a figure stands as its key."""
    shown = [
        word.text
        for word, key in zip(frame.words, frame.keys, strict=True)
        if not keys.isdisjoint((word.key, *split(key)))
    ]
    return ", ".join(dict.fromkeys(shown)) or ", ".join(sorted(keys))


def _join(found: Sequence[Word]) -> str:
    return " ".join(word.text for word in found)
