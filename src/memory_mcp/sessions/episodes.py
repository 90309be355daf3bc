"""An episode of a session: what happened in its last turns, if it is time to write that down.

Nothing is kept but records: when the next episode is due follows from those there are. No lock is
taken either. Each capture looks right before it writes, so that of captures that follow each other
none is too early; those that overlap may each write one, and every later one sees them all.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Final

from memory_mcp.domain.ids import ROOT, parse_id_time
from memory_mcp.domain.outcomes import EpisodeOutcome, EpisodePostponed, EpisodeSaved
from memory_mcp.domain.record import EPISODE_PREFIX, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.sessions import Turn
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.cleaning import clean
from memory_mcp.engine.head import current, view_on, writing
from memory_mcp.engine.pending import pending_note
from memory_mcp.engine.phases import phase_at_work
from memory_mcp.engine.reading import load
from memory_mcp.engine.recovery import forgotten_here
from memory_mcp.engine.workspace import Workspace, writes_refused
from memory_mcp.errors import InvalidRequestError, ModelUnavailableError, StoreError
from memory_mcp.profile.sync import read_profile, zone_named
from memory_mcp.ranking.query import parse_query
from memory_mcp.text.episodes import (
    MergeInto,
    Moment,
    OwnTurns,
    Past,
    Wait,
    Write,
    build_episode,
    check_too_early,
    clean_summary,
    drop_recalled,
    drop_speakers,
    find_last,
    find_start_of_day,
    find_time,
    mark_turns,
    measure_novelty,
    name_series,
    number_last_turn,
    plan_episode,
    select_new_turns,
    select_turns_since,
    summarise_turns,
)

_TURN_MAX: Final = 999_999_999
_TODAY_MAX: Final = 2_000
"""More episodes than a day of a session may hold, with those of roads that were left."""
_MOVES_LOOKED_AT: Final = 20
"""How many of the last moves may be the one that left a road since the last episode."""


async def episodic_capture(
    workspace: Workspace, turns: Sequence[Turn], turn: int | None, *, final: bool = False
) -> EpisodeOutcome:
    """Write down what the last turns were about, if it is time for it.

    `turn` numbers the last of the turns, counted from the session's beginning. Without it those
    that the last episode told are known again by their words, and the others are new. At the
    session's end (`final`) no cooldown holds; the cap of the day does.

    Raises:
        InvalidRequestError: the number cannot be that of the last turn given, or a turn holds a
            secret and MEMORY_SECRETS is refuse.
    """
    if skipped := writes_refused(workspace):
        return skipped
    if turn is not None:
        _check_turn(turn, len(turns))
    pace = workspace.policy.episode_settings
    now = workspace.clock.now()
    timeline = (await current(workspace)).timeline
    past = await _past(workspace, timeline, now)
    cleaned: list[Turn] | None = None
    if turn is None:
        cleaned = [_cleaned(workspace, each) for each in turns]
        turn = min(number_last_turn(cleaned, past.last), _TURN_MAX)
    moment = Moment(turn, now, final)
    if early := check_too_early(past, moment, pace):
        return EpisodePostponed(early.reason)
    cleaned = cleaned or [_cleaned(workspace, each) for each in turns]
    moment = replace(moment, mark=mark_turns(cleaned), zone=await _zone(workspace, timeline))
    every = drop_recalled(cleaned)
    left = await _road_left(workspace, past)
    chosen = select_turns_since(select_new_turns(every.turns, past, moment, pace), left)
    text, notes = await _told(workspace, OwnTurns(tuple(chosen), every.recalled))
    moment = replace(moment, now=workspace.clock.now())  # a model takes its time
    timeline = (await current(workspace)).timeline
    past = await _past(workspace, timeline, moment.now)
    match plan_episode(text, _novelty(text, past.open, moment.now), past, moment, pace):
        case Wait(reason):
            return EpisodePostponed(reason)
        case Write() | MergeInto() as plan:
            place = writing(workspace, timeline, moment.now)
            record = build_episode(plan, moment, place, await phase_at_work(workspace, "project"))
    notes += await workspace.project.keep(record)
    gone = await _line_left(workspace, record)
    if isinstance(gone, EpisodePostponed):
        return gone
    return EpisodeSaved(record, record.supersedes, (*notes, *gone, *await pending_note(workspace)))


def _cleaned(workspace: Workspace, turn: Turn) -> Turn:
    """The turn as it may be kept and sent: every text of an episode goes through here, whole.

    Before anything is cut out of it: half a secret looks like none.

    Raises:
        InvalidRequestError: it holds a secret, and MEMORY_SECRETS is refuse.
    """
    text = turn.content.encode(errors="replace").decode()  # half a character cannot be stored
    return Turn(turn.role, clean(text, workspace.policy.secrets).text, turn.at)


def _check_turn(turn: int, given: int) -> None:
    if not 0 <= turn <= _TURN_MAX:
        raise InvalidRequestError(f"turn is {turn}; it must be 0 to {_TURN_MAX:,}.")
    if turn < given:
        raise InvalidRequestError(
            f"turn is {turn}, but {given} turns were given. It numbers the last of them, counted "
            "one by one (each message is a turn) from the beginning of the session."
        )


async def _zone(workspace: Workspace, timeline: Timeline) -> tzinfo:
    """Where the user is, if the profile knows it; a title is not worth an error."""
    try:
        known = await read_profile(workspace, view_on(workspace, timeline))
    except StoreError:
        return UTC
    return zone_named(known.zone) or UTC


async def _past(workspace: Workspace, timeline: Timeline, now: datetime) -> Past:
    """The session's episodes: on all roads, forgotten ones too, and what can be seen from here."""
    pool = workspace.project
    here = view_on(workspace, timeline)
    everywhere = View(chain=frozenset({ROOT, *timeline.segments}), now=here.now)
    origin = workspace.origin()
    mine = Filters(kinds=frozenset({"episode"}), session=origin.session)
    today = replace(mine, since=find_start_of_day(now))
    buried = Filters(
        kinds=frozenset({"tombstone"}),
        statement=f"{EPISODE_PREFIX}{name_series(workspace.scope, origin)}",
    )
    last = await load(pool, await pool.index.find(everywhere, mine, 1))
    there = await load(pool, await pool.index.find(everywhere, today, _TODAY_MAX))
    gone = await load(pool, await pool.index.find(everywhere, buried, _TODAY_MAX))
    open_ = await load(pool, await pool.index.find(here, mine, 1))
    return Past(find_last([*last, *gone]), (*there, *gone), next(iter(open_), None))


async def _road_left(workspace: Workspace, past: Past) -> datetime | None:
    """When a road was last left on this branch since the last episode.

    Of a session without an episode it is not known when it began: only its own moves count.
    """
    pool = workspace.project
    newest = sorted(await pool.index.moves(), reverse=True)[:_MOVES_LOOKED_AT]
    after = find_time(past.last) if past.last else None
    moves = await load(pool, [id_ for id_ in newest if after is None or parse_id_time(id_) > after])
    left = [
        record.created_at
        for record in moves
        if record.move is not None
        and record.move.act in ("backtrack", "restore")
        and record.move.branch == workspace.caller.branch
        and (after is not None or record.origin.session == workspace.origin().session)
    ]
    return max(left, default=None)


async def _told(workspace: Workspace, heard: OwnTurns) -> tuple[str, tuple[str, ...]]:
    """What the turns tell: a model's words if there is one that answers, else their own."""
    own = summarise_turns(heard)
    if workspace.language is None or not own:
        return own, ()
    try:
        said = await workspace.language.summarise(
            [f"{turn.role}: {turn.content}" for turn in heard.turns]
        )
    except ModelUnavailableError as error:
        return own, (f"Summed up without the language model: {error}",)
    cleaned = _cleaned(workspace, Turn("assistant", said)).content
    return clean_summary(cleaned, heard.recalled) or own, ()


def _novelty(text: str, known: Record | None, now: datetime) -> float:
    return measure_novelty(_terms(text, now), _terms(known.content, now) if known else frozenset())


def _terms(text: str, now: datetime) -> frozenset[str]:
    """The words that carry a meaning, as the index knows them."""
    return frozenset(term.text for term in parse_query(drop_speakers(text), now).terms)


async def _line_left(workspace: Workspace, record: Record) -> tuple[str, ...] | EpisodePostponed:
    """What to say if another session left this line while the episode was being written."""
    head = await current(workspace)
    if record.segment in await forgotten_here(workspace, head):
        await workspace.project.erase({record.id})
        return EpisodePostponed(
            "Another session gave up this line for good: its episode went with it."
        )
    if record.segment in head.timeline.chain(workspace.caller.branch):
        return ()
    return ("Another session backtracked meanwhile: this was stored on the line that was left.",)
