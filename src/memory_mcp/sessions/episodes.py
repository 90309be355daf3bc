"""Captures an episode: what happened in the last turns of a session, if one is due.

When the next episode is due follows from the existing records alone. There is no lock: each capture
checks right before it writes. Captures that overlap may write one episode each; every later one
sees them all.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from memory_mcp.domain.ids import ROOT, parse_id_time
from memory_mcp.domain.outcomes import EpisodeOutcome, EpisodePostponed, EpisodeSaved
from memory_mcp.domain.record import EPISODE_PREFIX, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.sessions import Turn
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.head import load_head, load_head_to_write, make_view, make_writing
from memory_mcp.engine.phases import find_phase_to_file
from memory_mcp.engine.records import is_move_back, load_records, recheck_line
from memory_mcp.engine.redaction import redact_text
from memory_mcp.engine.workspace import Workspace, refuse_writes
from memory_mcp.errors import InvalidRequestError, ModelUnavailableError
from memory_mcp.ranking.query import parse_query
from memory_mcp.sessions.consolidate import find_zone
from memory_mcp.text.episodes import (
    CleanTurns,
    EpisodeHistory,
    EpisodeMerge,
    NewEpisode,
    NoEpisode,
    SessionMoment,
    build_episode,
    check_too_early,
    clean_summary,
    drop_recalled,
    drop_speakers,
    drop_unanswered,
    find_last_episode,
    find_start_of_day,
    find_written_at,
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
"""More episodes than one session writes in a day, on all lines."""
_MOVES_LOOKED_AT: Final = 20
"""The newest moves, among which the last backtrack or restore is looked for."""
_LINE_LEFT: Final = (
    "Another session backtracked meanwhile: this was stored on the line that was left."
)


async def capture_episode(
    workspace: Workspace, turns: Sequence[Turn], turn: int | None, *, final: bool = False
) -> EpisodeOutcome:
    """Write an episode about the last turns, if one is due.

    `turn` numbers the last of the turns, from the session's beginning. Without it, turns of the
    last episode are recognised by their words. At the session's end (`final`) the cooldown does
    not count; the day's maximum does.

    Raises:
        InvalidRequestError: `turn` cannot be the number of the last turn, or a turn holds a secret
            and MEMORY_SECRETS is refuse.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    if turn is not None:
        _check_turn(turn, len(turns))
    pace = workspace.policy.episode_settings
    now = workspace.clock.now()
    timeline = (await load_head(workspace)).timeline
    past = await _load_past(workspace, timeline, now)
    redacted: list[Turn] | None = None
    if turn is None:
        redacted = [_redact_turn(workspace, each) for each in turns]
        turn = min(number_last_turn(redacted, past.last), _TURN_MAX)
    moment = SessionMoment(turn, now, final)
    if early := check_too_early(past, moment, pace):
        return EpisodePostponed(early.reason)
    redacted = redacted or [_redact_turn(workspace, each) for each in turns]
    moment = replace(
        moment,
        mark=mark_turns(redacted),
        zone=await find_zone(workspace, make_view(workspace, timeline)),
    )
    own = drop_recalled(redacted)
    departure = await _find_last_departure(workspace, past)
    chosen = select_turns_since(select_new_turns(own.turns, past, moment, pace), departure)
    told = drop_unanswered(CleanTurns(tuple(chosen), own.recalled))
    text, notes = await _summarise(workspace, told)
    # The head is read again on purpose: a model may have taken its time, and of captures that
    # overlap the later one must see what the earlier one wrote.
    timeline = (await load_head_to_write(workspace)).timeline
    moment = replace(moment, now=workspace.clock.now())
    past = await _load_past(workspace, timeline, moment.now)
    match plan_episode(text, _measure_novelty(text, past.open, moment.now), past, moment, pace):
        case NoEpisode(reason):
            return EpisodePostponed(reason)
        case NewEpisode() | EpisodeMerge() as plan:
            place = make_writing(workspace, timeline, moment.now)
            phase = await find_phase_to_file(workspace, timeline, "project")
            record = build_episode(plan, moment, place, phase)
    notes += await workspace.project.keep(record)
    line = await recheck_line(workspace, record)
    if line == "given up":
        return EpisodePostponed(
            "Another session gave up this line for good: its episode went with it."
        )
    if line == "left":
        notes += (_LINE_LEFT,)
    return EpisodeSaved(record, record.supersedes, (*notes, *await describe_pending(workspace)))


def _redact_turn(workspace: Workspace, turn: Turn) -> Turn:
    """The turn without its secrets. It comes before any cut: half a secret is not recognised."""
    text = turn.content.encode(errors="replace").decode()  # half a character cannot be stored
    return Turn(turn.role, redact_text(text, workspace.policy.secrets).text, turn.at)


def _check_turn(turn: int, count: int) -> None:
    if not 0 <= turn <= _TURN_MAX:
        raise InvalidRequestError(f"turn is {turn}; it must be 0 to {_TURN_MAX:,}.")
    if turn < count:
        raise InvalidRequestError(
            f"turn is {turn}, but {count} turns were given. It numbers the last of them, counted "
            "one by one (each message is a turn) from the beginning of the session."
        )


async def _load_past(workspace: Workspace, timeline: Timeline, now: datetime) -> EpisodeHistory:
    """The session's episodes on all lines, with forgotten ones, and the one visible from here."""
    bank = workspace.project
    here = make_view(workspace, timeline)
    everywhere = View(chain=frozenset({ROOT, *timeline.segments}), now=here.now)
    origin = workspace.origin()
    mine = Filters(kinds=frozenset({"episode"}), session=origin.session)
    today = replace(mine, since=find_start_of_day(now))
    buried = Filters(
        kinds=frozenset({"tombstone"}),
        statement=f"{EPISODE_PREFIX}{name_series(workspace.scope, origin)}",
    )
    last = await load_records(bank, await bank.index.find(everywhere, mine, 1))
    of_today = await load_records(bank, await bank.index.find(everywhere, today, _TODAY_MAX))
    gone = await load_records(bank, await bank.index.find(everywhere, buried, _TODAY_MAX))
    open_ = await load_records(bank, await bank.index.find(here, mine, 1))
    return EpisodeHistory(
        find_last_episode([*last, *gone]), (*of_today, *gone), next(iter(open_), None)
    )


async def _find_last_departure(workspace: Workspace, past: EpisodeHistory) -> datetime | None:
    """When this branch was last moved back since the last episode.

    Without an episode the session's beginning is unknown, so only its own moves count.
    """
    bank = workspace.project
    newest = sorted(await bank.index.moves(), reverse=True)[:_MOVES_LOOKED_AT]
    after = find_written_at(past.last) if past.last else None
    moves = await load_records(
        bank, [id_ for id_ in newest if after is None or parse_id_time(id_) > after]
    )
    left = [
        record.created_at
        for record in moves
        if is_move_back(workspace, record)
        and (after is not None or record.origin.session == workspace.origin().session)
    ]
    return max(left, default=None)


async def _summarise(workspace: Workspace, turns: CleanTurns) -> tuple[str, tuple[str, ...]]:
    """A summary by the language model if it answers, else by rules; and a note if it failed."""
    own = summarise_turns(turns)
    if workspace.language is None or not own:
        return own, ()
    try:
        answer = await workspace.language.summarise(
            [f"{turn.role}: {turn.content}" for turn in turns.turns]
        )
    except ModelUnavailableError as error:
        return own, (f"Summed up without the language model: {error}",)
    redacted = _redact_turn(workspace, Turn("assistant", answer)).content
    return clean_summary(redacted, turns.recalled) or own, ()


def _measure_novelty(text: str, known: Record | None, now: datetime) -> float:
    return measure_novelty(
        _extract_terms(text, now), _extract_terms(known.content, now) if known else frozenset()
    )


def _extract_terms(text: str, now: datetime) -> frozenset[str]:
    """The terms of the text as the index has them."""
    return frozenset(term.text for term in parse_query(drop_speakers(text), now).terms)
