"""Reads a statement as frames: of what it speaks, what it says of it, and with which values.

A frame is read once for each text and compared quickly with many others. The word lists are those
of `data/truths.toml`; the words of a sentence are those that merging compares, too.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import islice, pairwise, takewhile
from typing import Final

from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.clauses import split_clauses
from memory_mcp.text.merge.reading import (
    NOT,
    Sentence,
    Word,
    find_first_of_groups,
    opposites,
    places,
    read_sentence,
    stem,
)
from memory_mcp.text.merge.reading import words as merge_words
from memory_mcp.text.sentences import split_sentences, straighten_quotes
from memory_mcp.text.tables import load_pattern, load_table, matches, rewrite
from memory_mcp.text.truths.everyday import names_tool
from memory_mcp.text.truths.renames import Rename, find_rename
from memory_mcp.words.dates import split_day

_TEXT_CHARS_MAX: Final = 2_000
_FRAMES_MAX: Final = 8
"""What a memory states first is what it is about; a longer one is a document."""
_FRAMES_KEPT: Final = 2_048
_PART_CHARS_MIN: Final = 4
_ENDED_WORDS_MAX: Final = 3
_PLACES: Final = compile_later(r"[^\W_]{3,}")
"""The parts of an identifier that may name a place; "io" names none."""
_RULES: Final = compile_later(r"(?i)[;,]\s+(?=(?:never|always|do not|don't|nie|niemals|immer)\b)")
"""Where a rule begins that is no part of what stands before it."""
_CLAUSES: Final = compile_later(r"[,;:]\s")


@frozen
class Frame:
    """One statement: its words, what it is about, its values by kind, and how it is said.

    `about` are the content words, `subject` those before the place of the `predicate` (0: none is
    known); `where` names places and people that it is limited to. `stated` are the words that stand
    as values. `exclusive` are those of `about` that name one of several things that are not the
    same, such as staging. `general`: it speaks of all of a kind. `several`: one of several.
    `attributed`: it names whose word it is.

    What few comparisons ask for is found when the first one does.
    """

    text: str
    sentence: Sentence
    words: tuple[Word, ...]
    keys: tuple[str, ...]
    predicate: int
    about: frozenset[str]
    subject: frozenset[str]
    where: frozenset[str]
    values: Mapping[str, frozenset[str]]
    families: frozenset[str]
    stated: frozenset[str]
    exclusive: frozenset[str]
    general: bool
    supposed: bool
    attributed: bool
    several: bool

    @property
    def negations(self) -> int:
        """How often it says no."""
        return len(self.sentence.words) - len(self.words)

    @cached_property
    def ended(self) -> frozenset[str]:
        """The words of what it says is over; what is no longer done with a thing is none."""
        return self._ended[0] - {self._act} if self.unused else self._ended[0]

    @cached_property
    def topic(self) -> frozenset[str]:
        """For what it says that something is over; empty: for all, or it says no such thing."""
        return _find_topic(self) if self.ended else frozenset()

    @cached_property
    def undone(self) -> str:
        """What is no longer done: "mail" of "we no longer mail backups"; "": something is over."""
        return "" if self._act in words("words", "ending") else self._act

    @property
    def unused(self) -> bool:
        """Whether nothing more is done with something: "we no longer use Redis"."""
        return bool(self._act) and not self.undone

    @cached_property
    def _act(self) -> str:
        return _find_act(_fold(self.text))

    @cached_property
    def changes(self) -> bool:
        """Whether something is other than it was."""
        told = self._ended[1] or matches("truths", "changes", _drop_rules(_fold(self.text)))
        return told or self.renamed is not None

    @cached_property
    def renamed(self) -> Rename | None:
        """What it says of a new name."""
        return find_rename(self.text)

    @cached_property
    def past(self) -> bool:
        """Whether it was so once."""
        told = self.sentence.past or self.sentence.event
        return matches("truths", "past", _fold(self.text)) or (told and not self.changes)

    @cached_property
    def sourced(self) -> bool:
        """Whether it stands on somebody's word."""
        return self.attributed or matches("truths", "sourced", self.text)

    @cached_property
    def _ended(self) -> tuple[frozenset[str], bool]:
        return _find_ended(_drop_rules(_fold(self.text)))


@cache
def words(group: str, name: str) -> frozenset[str]:
    """The words of a list, and their stems."""
    listed = load_table("truths")[group][name].split()
    return frozenset(listed) | frozenset(map(stem, listed))


@cache
def families() -> Mapping[str, frozenset[str]]:
    """The kinds of value that a word is one of."""
    found: dict[str, frozenset[str]] = {}
    for family, members in load_table("truths")["families"].items():
        for word in members.split():
            for key in {word, stem(word)}:
                found[key] = found.get(key, frozenset()) | {family}
    return found


@cache
def _synonyms() -> Mapping[str, str]:
    return find_first_of_groups(load_table("truths")["groups"]["synonyms"])


def split_statements(text: str) -> tuple[str, ...]:
    """The first sentences of a text; a clause that can stand alone is one, too."""
    sentences = split_sentences(text[:_TEXT_CHARS_MAX])
    clauses = (clause for sentence in sentences for clause in split_clauses(sentence))
    return tuple(islice(clauses, _FRAMES_MAX))


@lru_cache(maxsize=_FRAMES_KEPT)
def read_frames(text: str) -> tuple[Frame, ...]:
    """The statements of a text, in order.

    What begins with a day and an hour states none: it tells what was said, or was so, at that hour.
    """
    if split_day(text).timed:
        return ()
    parts = (
        part
        for each in split_statements(text)
        for clause in _split_spliced(each)
        for part in _RULES.split(clause)
    )
    frames = (read_frame(part) for part in islice(parts, _FRAMES_MAX))
    return tuple(frame for frame in frames if frame.words)


def _split_spliced(sentence: str) -> Sequence[str]:
    """The clauses of their own that a comma or an "and" joins.

    "Bugs are in Linear, Jira is read-only"; "the room opens at 7 and Piet has the key".
    """
    if joined := load_pattern("truths", "joined").search(sentence):
        before, behind = sentence[: joined.start()], sentence[joined.end() :]
        if _stands_alone(before) and _has_own_subject(behind):
            return (*_split_spliced(before), behind)
    first, *more = load_pattern("truths", "spliced").split(sentence)
    if not more or matches("truths", "conditional", sentence) or not read_sentence(first).predicate:
        return (sentence,)
    return (first, *more)


def _stands_alone(clause: str) -> bool:
    """Whether it says what is so, and neither a condition nor what led to what follows."""
    said = read_sentence(clause)
    told = said.past or said.event or matches("truths", "conditional", clause)
    return bool(said.predicate) and not told


def _has_own_subject(clause: str) -> bool:
    """Whether a verb that is known stands behind its first word, which is a name."""
    sentence = read_sentence(clause)
    return sentence.predicate == 1 and sentence.words[1].kind == "verb"


@lru_cache(maxsize=_FRAMES_KEPT)
def read_frame(text: str) -> Frame:
    """One sentence as a frame."""
    plain, sources = load_pattern("truths", "attribution").subn("", straighten_quotes(text).strip())
    plain = load_pattern("truths", "holder").sub(r"\g<role> is \g<name>", plain)
    sentence = read_sentence(_rewrite_change(plain))
    low = _fold(text)
    found = tuple(word for word in sentence.words if word.key != NOT)
    keys = tuple(_synonyms().get(word.key, word.key) for word in found)
    content = [_is_content(word, key) for word, key in zip(found, keys, strict=True)]
    predicate = _find_predicate(sentence, found)
    values = _find_values(found, low)
    kinds = _find_kind_words(keys, values)
    about = frozenset(
        each for key, counts in zip(keys, content, strict=True) if counts for each in split(key)
    )
    stated = frozenset(
        word.key
        for at, word in enumerate(found)
        if word.after_copula or word.key in families() or _is_made_there(found, at)
    )
    return Frame(
        text,
        sentence,
        found,
        keys,
        predicate,
        about=about,
        subject=frozenset(
            key for key, counts in zip(keys[:predicate], content, strict=False) if counts
        ),
        where=frozenset(
            part
            for at, (word, key) in enumerate(zip(found, keys, strict=True))
            if word.kind != "verb" and not _is_made_there(found, at)
            for part in (map(stem, _PLACES.findall(key)) if word.kind == "identifier" else (key,))
            if (part in places() and part not in kinds) or part in words("words", "holders")
        ),
        values=values,
        families=frozenset(values.keys() & load_table("truths")["families"].keys()),
        stated=stated,
        exclusive=(about & opposites().keys()) - stated,
        general=not words("words", "every").isdisjoint(keys[: max(predicate, 1)]),
        supposed=matches("truths", "supposed", low),
        attributed=sources > 0,
        several=matches("truths", "several", low),
    )


def _find_kind_words(keys: Sequence[str], values: Iterable[str]) -> set[str]:
    """The words that name a kind of its values in a row, and no place: "our web framework"."""
    said = f" {' '.join(keys)} "
    rows = [[*map(stem, kind.split("_"))] for kind in values]
    return {part for row in rows if f" {' '.join(row)} " in said for part in row}


def _rewrite_change(plain: str) -> str:
    """The sentence as what follows from the change: who moves to an editor does not live there."""
    text = rewrite(plain, "truths")
    if text == plain or not (moved := load_pattern("truths", "moved_to").match(text)):
        return text
    name = moved["name"].casefold()
    tool = name in families() and name not in words("words", "everyday")
    return f"{moved['who']}use {text[moved.start('name') :]}" if tool else text


def is_elliptical(frame: Frame) -> bool:
    """Whether it says nothing of what changed: "upgraded to Node 22"."""
    return load_pattern("truths", "elliptical").match(frame.sentence.text) is not None


def is_elliptical_we(frame: Frame) -> bool:
    """Whether it says no more of what changed than that it is ours."""
    return load_pattern("truths", "elliptical_we").match(frame.sentence.text) is not None


def _fold(text: str) -> str:
    return straighten_quotes(text).casefold().strip()


def _drop_rules(low: str) -> str:
    """Without what happens to each: "are deleted after a week" ends no photos."""
    return load_pattern("truths", "each").sub(" ", low)


def _find_predicate(sentence: Sentence, found: Sequence[Word]) -> int:
    """The verb, or the copula behind what only looks like one: "the upload limit for A is"."""
    at = sentence.predicate or 0
    at -= sum(word.key == NOT for word in sentence.words[:at])
    copula = next((n for n, word in enumerate(found) if word.after_copula), 0)
    between = [word.kind for word in found[at:copula]]
    return copula if at and "preposition" in between and "join" not in between else at


def split(key: str) -> Iterable[str]:
    """A word and the parts of a compound: "mkdocs-config" says "mkdocs", too."""
    if "-" not in key:
        return (key,)
    parts = [part for part in key.split("-") if len(part) >= _PART_CHARS_MIN]
    return (key, *map(stem, parts)) if len(parts) > 1 else (key,)


def _is_content(word: Word, key: str) -> bool:
    return (
        word.kind not in ("preposition", "join", "not", "value")
        and (key not in words("words", "little") or (word.text.isupper() and len(word.text) > 1))
        and key not in merge_words("pronouns")
        and not key.startswith("@")
    )


def _find_values(found: Sequence[Word], low: str) -> Mapping[str, frozenset[str]]:
    """The values by what they measure, or by the family of which they are one.

    Names behind no preposition are values, too: who it is. So is where something is or went.
    """
    values: dict[str, set[str]] = {}
    german = matches("truths", "german", low)
    for at, word in enumerate(found):
        if word.kind == "value":
            values.setdefault(word.dimension, set()).add(word.key)
        elif word.kind == "name" and _names_whom(found, at, german=german):
            values.setdefault("name", set()).add(word.key)
        for part in (word.text.casefold(), *split(word.key)):
            kinds = families().get(part, frozenset())
            if not kinds <= words("words", "habits") and not names_tool(found, at, german=german):
                continue
            for family in kinds:
                values.setdefault(family, set()).add(part)
    for kind in ("often", "place"):
        for match in load_pattern("truths", kind).finditer(low):
            values.setdefault(kind, set()).add(match.group(match.lastindex or 0))
    return {kind: frozenset(keys) for kind, keys in values.items()}


def _names_whom(found: Sequence[Word], at: int, *, german: bool) -> bool:
    """Whether a name stands behind no preposition but "by" and "with": it is who, not where.

    In German every noun has a capital, and only a title tells.
    """
    if found[at].key in words("words", "titles"):
        return False
    if german:
        return at > 0 and found[at - 1].key in words("words", "titles")
    first = at
    while first and found[first - 1].kind == "name" and not found[first].set_off:
        first -= 1
    before = found[first - 1] if first else None
    return before is None or before.kind != "preposition" or before.key in words("words", "agents")


def _is_made_there(found: Sequence[Word], at: int) -> bool:
    """Whether it is what a verb says where it is done: "rendered on the server"."""
    behind = (word.key for word in found[max(at - 2, 0) : at])
    return found[at].key in words("places", "sides") and any(
        key in words("places", "made") for key in behind
    )


def _find_topic(frame: Frame) -> frozenset[str]:
    """Of what the clause speaks that says so: its subject, what was moved, "for the reports"."""
    places = [at for at, key in enumerate(frame.keys) if not frame.ended.isdisjoint(split(key))]
    if not places:  # it was read as what follows from the change
        return frame.subject
    first = places[0]
    clause = _find_clause(frame.words, first)
    swapped = matches("truths", "swapped", _fold(frame.text))
    moved = first > 0 and frame.words[first - 1].key in words("words", "away")
    found = set[str]()
    subject = True
    for at in clause:
        word, before = frame.words[at], frame.words[at - 1] if at > clause[0] else None
        subject = subject and word.kind != "verb" and not word.after_copula
        scoped = before is not None and before.key in words("words", "scopes")
        named = at < first and (swapped or ((moved or subject) and word.kind != "verb"))
        if named or (scoped and word.kind != "verb"):
            found.add(frame.keys[at])
    found -= _find_successors(frame)
    if swapped:
        found -= frame.values.get("name", frozenset()) | families().keys()
    return frozenset(found & frame.about) - frame.ended - words("words", "turns")


def _find_successors(frame: Frame) -> frozenset[str]:
    """What takes the place of what is over: "ruff" of "dropped flake8 for ruff".

    It is named as what is over is: as one of its kind, or right before "instead of it".
    """
    over = frozenset[str]().union(*(families().get(key, ()) for key in frame.ended))
    found = {key for key in frame.keys if over & families().get(key, frozenset())}
    for before, word in pairwise(frame.words):
        if before.kind in ("name", "identifier") and word.key in words("words", "instead"):
            found.add(before.key)
    return frozenset(found)


def _find_clause(found: Sequence[Word], at: int) -> range:
    """The places of the words between the commas around this one."""
    breaks = [n for n, word in enumerate(found) if word.set_off and not word.after_copula]
    first = max((n for n in breaks if n <= at), default=0)
    return range(first, min((n for n in breaks if n > at), default=len(found)))


def _find_ended(low: str) -> tuple[frozenset[str], bool]:
    """The words of what is over: "Airflow is gone", "instead of the train"; and if it says so."""
    over = list(load_pattern("truths", "over").finditer(low))
    ended = load_pattern("truths", "ended").finditer(low)
    named = [_cut_phrase(match.group(match.lastindex or 0).split()) for match in ended]
    before = [_CLAUSES.split(low[: match.start()])[-1].split() for match in over]
    named += [_cut_phrase(each[: -_ENDED_WORDS_MAX - 1 : -1]) for each in before]
    found = (word.strip(".,;:'").removesuffix("'s") for phrase in named for word in phrase)
    articles = merge_words("articles")  # "no longer run the tests"
    keys = {each for word in found if word not in articles for each in split(stem(word))}
    little = words("words", "little") | merge_words("dropped") | merge_words("negations")
    ended = frozenset(_synonyms().get(key, key) for key in keys - little)
    return ended, bool(over and ended)


def _find_act(low: str) -> str:
    """The verb of what is no longer done; "" where something is over."""
    found = load_pattern("truths", "undone").search(low)
    said = found.group(found.lastindex or 0) if found else ""
    little = merge_words("dropped") | merge_words("pronouns") | merge_words("copulas")
    if said in little | _list_stops():
        return ""
    return _synonyms().get(stem(said), stem(said))


def _cut_phrase(found: Iterable[str]) -> Iterable[str]:
    """The words up to the first preposition: beyond it stands where, or for what."""
    stops = _list_stops()
    return takewhile(lambda word: word not in stops, found)


@cache
def _list_stops() -> frozenset[str]:
    return merge_words("prepositions") | merge_words("joins")
