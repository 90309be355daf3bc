"""Decides when a session leaves an episode, and builds it: a new one, part of the last, or none.

The summary is extractive: the informative sentences of a few turns, without small talk, moods,
output of programs and recalled text.

The existing episodes decide. Their keys hold the session and the number of the last turn, and end
in a mark of the last two turns, which identifies them when the caller gives no number. Episodes on
a line that was left count too, and so do tombstones, which keep the key: no turn is covered twice,
and a backtrack does not double the cap of a day. A merged episode counts for the day of the first
one that it replaced.

A day is a calendar day in UTC, so that a cap does not move with the user. A title names the part of
the day where the user is.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from memory_mcp.domain.ids import RecordId, parse_id_time
from memory_mcp.domain.limits import LINKS_MAX, SUMMARY_CHARS_MAX, TURN_CHARS_MAX
from memory_mcp.domain.normalise import cut, digest, pluralise
from memory_mcp.domain.record import Origin, Record, RecordContext, Scope
from memory_mcp.domain.sessions import EpisodeSettings, Turn
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.text.drafts import build_on_timeline
from memory_mcp.text.gate import (
    Chatter,
    ChatterClass,
    asks_for_capability,
    judge_worth,
    lower_text,
)
from memory_mcp.text.recalled import drop_repeated, repeats_recalled, separate_recalled
from memory_mcp.text.sentences import drop_code, fold_words, split_sentences
from memory_mcp.text.tables import load_pattern, matches

_TURN: Final = compile_later(r":(\d{1,9})(?:~([0-9a-f]{8})([0-9a-f]{8}))?$")
_MARK_DIGITS: Final = 8
_NO_TURN: Final = "0" * _MARK_DIGITS


def name_series(scope: Scope, origin: Origin) -> str:
    """The beginning of the keys of a session's episodes."""
    return f"project:{scope.project or 'none'}:episode:{origin.session or 'none'}"


def mark_turns(turns: Sequence[Turn]) -> str:
    """Identifies the last of these turns by itself and the one before it; '' if there is none."""
    if not turns:
        return ""
    seen = [_digest(turn) for turn in turns[-2:]]
    return _digest_before(seen, len(seen) - 1) + seen[-1]


def number_last_turn(turns: Sequence[Turn], last: Record | None) -> int:
    """The number of the last of these turns, when the caller gave none.

    It is the number in the last episode, plus the turns after that. If the turn that the episode
    ends with is not among them, all of them count.
    """
    if last is None:
        return len(turns)
    found = _TURN.search(last.key)
    seen = [_digest(turn) for turn in turns]
    ends = [place for place, each in enumerate(seen) if found and each == found[3]]
    sure = [
        place for place in ends if found and found[2] in (_NO_TURN, _digest_before(seen, place))
    ]
    # of the first one nobody knows what was before it; a short answer comes again and again
    place = min(sure or [place for place in ends if place == 0], default=-1)
    return read_turn_number(last) + len(turns) - place - 1


def find_last_episode(records: Iterable[Record]) -> Record | None:
    """The record of the last episode."""
    return max(records, key=find_written_at, default=None)


def find_written_at(record: Record) -> datetime:
    """When an episode was written; of a forgotten one its tombstone tells."""
    if record.kind != "tombstone":
        return record.created_at
    return parse_id_time(max(record.supersedes))


def read_turn_number(record: Record) -> int:
    """The number of the session's turns when an episode was written."""
    found = _TURN.search(record.key)
    return int(found[1]) if found else 0


def _digest_before(seen: Sequence[str], place: int) -> str:
    return seen[place - 1] if place else _NO_TURN


def _digest(turn: Turn) -> str:
    return digest(f"{turn.role}: {turn.content}")[:_MARK_DIGITS]


_LINE_CHARS_MAX: Final = 300
"""A longer sentence is cut: an episode is no transcript."""

_LINES_MAX: Final = 16
"""More lines would be a transcript again."""

_WORDS_MIN: Final = 3
"""Fewer words say nothing by themselves ("Fixed it")."""

_CHAT_WORDS_MAX: Final = 6
"""A longer sentence is more than chat."""

_LEFT_OUT: Final[frozenset[ChatterClass]] = frozenset(
    {"empty", "recalled", "output", "small talk", "passing"}
)
"""What an episode leaves out. A request or a question stays: the turn was about it."""


@frozen
class CleanTurns:
    """Turns without recalled text, each cut to its limit, and the recalled sentences."""

    turns: tuple[Turn, ...]
    recalled: frozenset[str]


def drop_recalled(turns: Iterable[Turn]) -> CleanTurns:
    """The turns without recalled text. Call it with all turns before you select some."""
    own: list[Turn] = []
    recalled: frozenset[str] = frozenset()
    for turn in turns:
        parts = separate_recalled(turn.content)
        recalled |= parts.recalled
        own.append(Turn(turn.role, _shorten_turn(parts.own), turn.at))
    return CleanTurns(tuple(own), recalled)


def drop_unanswered(clean: CleanTurns) -> CleanTurns:
    """The turns without the user's questions that got no answer, and what was said to them.

    Call it before you summarise: whoever asks the same later would find the question again.
    """
    exchanges: list[list[Turn]] = [[]]
    for turn in clean.turns:
        if turn.role == "user" and _begins_exchange(turn, clean.recalled):
            exchanges.append([])
        exchanges[-1].append(turn)
    kept = [turn for each in exchanges if _is_kept(each, clean.recalled) for turn in each]
    return CleanTurns(tuple(kept), clean.recalled)


def _is_kept(exchange: Sequence[Turn], recalled: frozenset[str]) -> bool:
    """Whether it is more than a question without an answer."""
    first = exchange[0] if exchange else None
    if first is None or first.role != "user":
        return True
    sorts = _find_sorts(first, recalled)
    only_asks = bool(sorts) and all(sort == "question" for sort in sorts)
    return not only_asks or _has_answer(exchange[1:], recalled)


def _begins_exchange(turn: Turn, recalled: frozenset[str]) -> bool:
    """Whether a turn of the user only asks or orders.

    One that states something belongs to what was before: it may be the answer.
    """
    sorts = _find_sorts(turn, recalled)
    return bool(sorts) and sorts <= {"question", "action"}


def _find_sorts(turn: Turn, recalled: frozenset[str]) -> frozenset[ChatterClass | None]:
    return frozenset(_find_sort(said) for said in _informative_sentences(turn, recalled))


def _has_answer(turns: Sequence[Turn], recalled: frozenset[str]) -> bool:
    """Whether the last thing that was said to a question is more than that nothing is known."""
    told = [
        plain
        for turn in turns
        for said in _informative_sentences(turn, recalled)
        if _find_sort(said) != "question" and not _is_about_itself(turn, said)
        if not matches("episodes", "nothing_done", plain := lower_text(said))
    ]
    return bool(told) and not matches("episodes", "no_answer", told[-1])


def summarise_turns(clean: CleanTurns) -> str:
    """The informative sentences, one a line, in their order; "" if there are none.

    A sentence about what the assistant can do counts only beside other sentences.
    """
    lines: dict[str, str] = {}
    informative = False
    for turn in clean.turns:
        for said in _informative_sentences(turn, clean.recalled):
            line = f"- {turn.role}: {cut(said, _LINE_CHARS_MAX)}"
            lines.setdefault(fold_words(line), line)
            informative = informative or not _is_about_itself(turn, said)
    return limit_lines(lines.values()) if informative else ""


def clean_summary(text: str, recalled: frozenset[str]) -> str:
    """The summary that somebody else wrote, without recalled text, cut to the limit."""
    lines = [line.strip() for line in separate_recalled(text).own.splitlines() if line.strip()]
    kept = [
        line
        for line in drop_repeated(lines, recalled)
        if not any(repeats_recalled(said, recalled) for said in _sentences_of(line))
    ]
    return limit_lines(kept)


def drop_speakers(text: str) -> str:
    """The lines of an episode without who said them."""
    return "\n".join(_drop_speaker(line) for line in text.splitlines())


def limit_lines(lines: Iterable[str]) -> str:
    """As many lines as an episode may hold: the least informative go first, then the oldest."""
    kept = list(lines)
    first_to_go = sorted(range(len(kept)), key=lambda place: (_rate_line(kept[place]), place))
    chars = sum(len(line) + 1 for line in kept)
    gone: set[int] = set()
    for place in first_to_go:
        if len(kept) - len(gone) <= _LINES_MAX and chars <= SUMMARY_CHARS_MAX:
            break
        gone.add(place)
        chars -= len(kept[place]) + 1
    return "\n".join(line for place, line in enumerate(kept) if place not in gone)


def _informative_sentences(turn: Turn, recalled: frozenset[str]) -> Iterable[str]:
    for said in drop_repeated(split_sentences(drop_code(turn.content)), recalled):
        if len(fold_words(said).split()) < _WORDS_MIN and len(said) < _LINE_CHARS_MAX // 10:
            continue
        if _is_aside(turn, said, _find_sort(said)):
            continue
        yield said


def _is_about_itself(turn: Turn, said: str) -> bool:
    """Whether it asks for what the assistant can do, answers that, or only chats."""
    plain = lower_text(said)
    brief = len(plain.split()) <= _CHAT_WORDS_MAX
    if brief and load_pattern("episodes", "chat").match(plain):
        return True
    if turn.role == "assistant":
        return load_pattern("episodes", "self_description").match(plain) is not None
    asked = _find_sort(said) == "question" and asks_for_capability(said)
    return bool(asked) and brief and not matches("episodes", "request", plain)


def _is_aside(turn: Turn, said: str, sort: ChatterClass | None) -> bool:
    """Whether it says nothing, or only what the assistant is about to do: the result follows."""
    if sort in _LEFT_OUT or turn.role == "user":
        return sort in _LEFT_OUT
    about_to = sort in ("action", "question") and not matches("episodes", "outcome", said)
    return about_to or said.endswith(":")


def _rate_line(line: str) -> int:
    """3: something that lasts, 2: a request or an outcome, 1: the rest."""
    said = _drop_speaker(line)
    worth = judge_worth(said)
    if not isinstance(worth, Chatter) and worth.sure:
        return 3
    asked = line.startswith("- user: ") and isinstance(worth, Chatter)
    return 2 if asked or matches("episodes", "outcome", said) else 1


def _find_sort(said: str) -> ChatterClass | None:
    worth = judge_worth(said)
    return worth.sort if isinstance(worth, Chatter) else None


def _drop_speaker(line: str) -> str:
    return line.removeprefix("- ").removeprefix("user: ").removeprefix("assistant: ")


def _sentences_of(line: str) -> Sequence[str]:
    said = _drop_speaker(line)
    return (said, *split_sentences(said))


def _shorten_turn(text: str) -> str:
    if len(text) <= TURN_CHARS_MAX:
        return text
    half = TURN_CHARS_MAX // 2
    return f"{text[:half].rstrip()}\n{text[-half:].lstrip()}"


EPISODE_IMPORTANCE: Final = 2
"""Less than usual: what follows from an episode is a memory of its own and counts more."""

_PARTS_OF_DAY: Final = ("night", "morning", "afternoon", "evening")
_HOURS_A_PART: Final = 6


@frozen
class SessionMoment:
    """Where a session stands: the number of its turns, the time, and whether it ends here.

    `mark` is that of the last turns, `zone` where the user is.
    """

    turn: int
    now: datetime
    final: bool = False
    zone: tzinfo = UTC
    mark: str = ""


@frozen
class EpisodeHistory:
    """The session's episodes, or the tombstones of those that were forgotten.

    `last`: the newest, wherever it lies; `today`: those of this day; `open`: the newest that can be
    seen from here, which another may be merged into.
    """

    last: Record | None = None
    today: Sequence[Record] = ()
    open: Record | None = None


@frozen
class NewEpisode:
    """A new episode."""

    title: str
    text: str


@frozen
class EpisodeMerge:
    """An episode that takes the place of this one, and says what both do."""

    record: Record
    title: str
    text: str


@frozen
class NoEpisode:
    """No episode now; `reason` is a sentence."""

    reason: str


EpisodePlan = NewEpisode | EpisodeMerge | NoEpisode


def check_too_early(
    past: EpisodeHistory, moment: SessionMoment, pace: EpisodeSettings
) -> NoEpisode | None:
    """Why it is too early to look at the turns, if it is; the end of a session never is."""
    if pace.per_day == 0:
        return NoEpisode("Episodes are off (EPISODIC_MAX_PER_DAY=0).")
    if past.last is not None and read_turn_number(past.last) == moment.turn:
        return NoEpisode(f"Turn {moment.turn} of this session was captured already.")
    if past.last is not None and not moment.final:
        age = abs(moment.now - find_written_at(past.last))  # a clock may have been set back
        if age < timedelta(minutes=pace.cooldown_minutes):
            minutes = int(age.total_seconds() // 60)
            return NoEpisode(
                f"The last episode is {pluralise(minutes, 'minute', 'minutes')} old; "
                f"{pace.cooldown_minutes} must lie between (EPISODIC_COOLDOWN_MINUTES)."
            )
    since = _count_turns_since(past.last, moment)
    if since < pace.cooldown_turns and not moment.final:
        return NoEpisode(
            f"{pluralise(since, 'turn', 'turns')} since the last episode; "
            f"{pace.cooldown_turns} must lie between (EPISODIC_COOLDOWN_TURNS)."
        )
    return _check_cap(past, moment, pace) if _find_mergeable(past, moment, pace) is None else None


def select_new_turns(
    turns: Sequence[Turn], past: EpisodeHistory, moment: SessionMoment, pace: EpisodeSettings
) -> Sequence[Turn]:
    """The last turns, without those that an episode covers, be it on a line that was left."""
    wanted = min(pace.window, _count_turns_since(past.last, moment))
    return turns[-wanted:] if wanted else ()


def select_turns_since(turns: Sequence[Turn], left: datetime | None) -> Sequence[Turn]:
    """The turns after a line was left at that time.

    If no turn has a time, only the last exchange is surely of the current line.
    """
    if left is None:
        return turns
    timed = [place for place, turn in enumerate(turns) if turn.at is not None]
    if timed:
        before = [place for place in timed if (at := turns[place].at) is not None and at <= left]
        return turns[max(before) + 1 :] if before else turns
    asked = [place for place, turn in enumerate(turns) if turn.role == "user"]
    return turns[asked[-1] :] if asked else turns[-1:]


def measure_novelty(said: frozenset[str], known: frozenset[str]) -> float:
    """The share (0-1) of these terms that is not known."""
    return len(said - known) / len(said) if said else 0.0


def plan_episode(
    text: str, novelty: float, past: EpisodeHistory, moment: SessionMoment, pace: EpisodeSettings
) -> EpisodePlan:
    """Whether a summary becomes an episode, part of the open one, or none.

    `novelty` is the share of its terms (0-1) that the open episode does not have.
    """
    if early := check_too_early(past, moment, pace):
        return early
    if not text.strip():
        return NoEpisode(
            "Nothing was said that an episode could tell: small talk, output, or recall."
        )
    base = _find_mergeable(past, moment, pace)
    if base is not None and novelty < pace.novelty_min:
        known = base.content.splitlines()
        fresh = [line for line in text.splitlines() if line not in known]
        if not fresh:
            return NoEpisode("It tells nothing that the last episode does not.")
        title = name_part_of_day(find_begun_at(base), moment.now, moment.zone)
        return EpisodeMerge(base, title, limit_lines([*known, *fresh]))
    return _check_cap(past, moment, pace) or NewEpisode(
        name_part_of_day(moment.now, moment.now, moment.zone), text
    )


def build_episode(
    plan: NewEpisode | EpisodeMerge,
    moment: SessionMoment,
    writing: RecordContext,
    phase: int | None,
) -> Record:
    """The record of a plan; a merged one is derived from what it replaces, and falls with it."""
    replaced: tuple[RecordId, ...] = ()
    if isinstance(plan, EpisodeMerge):
        replaced = (plan.record.id, *plan.record.supersedes)
    mark = f"~{moment.mark}" if moment.mark else ""
    return build_on_timeline(
        writing,
        "episode",
        plan.text,
        layer="recall",
        key=f"{name_series(writing.scope, writing.origin)}:{moment.turn}{mark}",
        title=plan.title,
        importance=EPISODE_IMPORTANCE,
        phase=phase,
        supersedes=replaced,
        derived_from=replaced,
    )


def name_part_of_day(first: datetime, last: datetime, zone: tzinfo) -> str:
    """The part of the day: `2026-11-21 evening`, or from one such part to another."""
    names = dict.fromkeys(_part_of_day(at.astimezone(zone)) for at in (first, last))
    return " to ".join(names)


def find_start_of_day(at: datetime) -> datetime:
    """When the day began."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def find_begun_at(record: Record) -> datetime:
    """When the first of the episodes that it stands for was written."""
    return parse_id_time(min((record.id, *record.supersedes)))


def _count_turns_since(last: Record | None, moment: SessionMoment) -> int:
    """Turns since the last episode; a number below that of the episode means a new count."""
    told = read_turn_number(last) if last else 0
    return moment.turn - told if moment.turn >= told else moment.turn


def _find_mergeable(
    past: EpisodeHistory, moment: SessionMoment, pace: EpisodeSettings
) -> Record | None:
    """The open episode, if it is close in time and not full of sources."""
    base = past.open
    if base is None or len(base.supersedes) >= LINKS_MAX:
        return None
    near = abs(moment.now - base.created_at) <= timedelta(hours=pace.merge_hours)
    return base if near else None


def _check_cap(
    past: EpisodeHistory, moment: SessionMoment, pace: EpisodeSettings
) -> NoEpisode | None:
    today = find_start_of_day(moment.now)
    roots: set[RecordId] = {min((record.id, *record.supersedes)) for record in past.today}
    begun = [root for root in roots if parse_id_time(root) >= today]
    if len(begun) < pace.per_day:
        return None
    return NoEpisode(
        f"This session has its {pluralise(pace.per_day, 'episode', 'episodes')} of the day "
        "(EPISODIC_MAX_PER_DAY)."
    )


def _part_of_day(at: datetime) -> str:
    return f"{at:%Y-%m-%d} {_PARTS_OF_DAY[at.hour // _HOURS_A_PART]}"
