"""Captures what the user says that is worth keeping, without being asked.

MEMORY_CAPTURE says what follows: it is named in the next context and waits for the user's word, or
it is kept at once and said then. Whatever is kept goes through `add_memory`: redaction, duplicates,
contradictions. A prompt waits for none of it: it is read beside the answer, and until then it is in
memory alone, because secrets are taken out before anything is written.

A suggestion belongs to the place where it was said. After a backtrack to before that place, or a
rewind of the conversation, it is gone.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.captures import (
    Capture,
    CaptureCategory,
    CaptureReport,
    Suggestion,
    SuggestionKey,
    Suggestions,
    SuggestionsDecided,
    SuggestionState,
    add_latest,
    ask_again,
    digest_statement,
    drop_expired,
    replace_states,
    withdraw,
    withdraw_since,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import (
    AddOutcome,
    MemoryAdded,
    MemoryDeclined,
    MemoryWaiting,
    Skipped,
)
from memory_mcp.domain.record import Draft, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.sessions import SessionEnded, Turn
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.git import choose_segment
from memory_mcp.engine.head import load_head, load_head_to_write, make_view
from memory_mcp.engine.records import find_moves_back, load_records
from memory_mcp.engine.redaction import redact_text
from memory_mcp.engine.workspace import HeardPrompt, Workspace, refuse_reads, refuse_writes
from memory_mcp.errors import InvalidRequestError, MemoryMcpError, ModelUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.hints import name_step
from memory_mcp.memories.add import add_memory, is_known
from memory_mcp.memories.beside import find_rivals
from memory_mcp.memories.forget import forget_memory
from memory_mcp.ports import LanguageModel
from memory_mcp.render.block import Section
from memory_mcp.render.outcomes import describe_effect
from memory_mcp.text.capture import (
    MESSAGE_CHARS_MAX,
    TURNS_MAX,
    find_captures,
    find_retracted,
    is_typed_command,
    list_candidates,
    needs_context,
    retracts,
)
from memory_mcp.text.transcript import read_turns

_LOG: Final = logging.getLogger("memory_mcp.capture")
_TAG: Final = "captured"
_HEADING: Final = "From what the user said"
_OFFER: Final = (
    "Kept if you agree: {} (ask the user in passing; then "
    'add_memory(content="", suggested="keep") or "drop"{})'
)
_ONE_ALONE: Final = "; content: words of one, to decide it alone"
_KEPT: Final = "Kept just now: {} (say so in passing; forget_memory takes it back)"
_UNNAMED: Final = ("waiting", "listed")
"""Not named to an agent yet."""
_NAMED: Final = ("named", "passed")
_SHOWN: Final = ("listed", "named")
"""What a word of the user's is about."""
_NAMED_MAX: Final = 3
"""More is a list to be worked through; the others follow with the next prompt."""
_NAMED_CHARS_MAX: Final = 160
_CANDIDATES_MAX: Final = 4
"""Sentences of one message that a language model is asked about."""
_CONTEXT_TURNS_MAX: Final = 6
_REDACTED: Final = "[redacted:"
_STATED_MAX: Final = 20
"""Memories that say the very same."""


async def capture_turns(
    workspace: Workspace,
    turns: Sequence[Turn],
    *,
    turns_max: int = TURNS_MAX,
    at: datetime | None = None,
) -> CaptureReport | Skipped:
    """Keep or suggest what the user's last turns say that is worth a memory.

    `at` is when the last turn was said: what a backtrack has left since is not captured.
    """
    mode = workspace.policy.capture
    if skipped := refuse_writes(workspace):
        return skipped
    if mode == "off":
        return Skipped("Nothing was captured: MEMORY_CAPTURE is off.")
    found = await _find_captures(workspace, turns, turns_max)
    before = await _load(workspace)
    latest = [each for each in before if _is_latest(workspace, each)]
    if not found.kept and not found.unmeant and not latest:
        return CaptureReport(mode)
    head = await load_head_to_write(workspace)
    retracted = await _take_back(workspace, found, before)
    if at is not None and await find_moves_back(workspace, head, at):
        return CaptureReport(mode, retracted=retracted)
    known = await _list_known(workspace, head.timeline)
    fresh = [each for each in found.kept if digest_statement(each.statement) not in known]
    kept: list[MemoryAdded] = []
    noted: list[Suggestion] = []
    for capture in fresh:
        said = _make_suggestion(workspace, capture, head.timeline)
        said = said.model_copy(update={"latest": capture.statement in found.latest})
        outcome = await _keep(workspace, capture) if mode == "auto" and capture.sure else None
        if isinstance(outcome, MemoryAdded):
            kept.append(outcome)
            said = said.model_copy(update={"memory": outcome.record.id})
        noted.append(said.moved_to(await _choose_state(workspace, capture, outcome)))
    if noted or latest:
        session, user = workspace.origin().session, workspace.scope.user
        await _change(workspace, partial(add_latest, more=noted, session=session, user=user))
    suggested = tuple(each.capture for each in noted if each.state == "waiting")
    return CaptureReport(mode, tuple(kept), suggested, retracted)


async def _choose_state(
    workspace: Workspace, capture: Capture, outcome: AddOutcome | None
) -> SuggestionState:
    """What is left to do of a capture: that it was kept is said, what is known is not asked."""
    match outcome:
        case None:
            return "decided" if await is_known(workspace, _make_draft(capture)) else "waiting"
        case MemoryAdded() | MemoryWaiting():
            return "kept"
        case _:
            return "decided"


async def capture_heard(workspace: Workspace) -> None:
    """Capture the prompts that came since the last look, one after the other."""
    prompts = workspace.conversations.prompts
    async with prompts.capturing:
        while prompts.heard:
            heard = prompts.heard.popleft()
            try:
                then = replace(workspace, caller=heard.caller)
                turns = await _load_context(then, heard)
                await capture_turns(then, turns, turns_max=1, at=heard.at)
            except MemoryMcpError as error:
                _LOG.warning("a prompt was not captured: %s", error)
            except Exception:  # noqa: BLE001  # a fault of ours must not keep the inbox waiting
                _LOG.exception("a prompt was not captured")


def note_prompt(workspace: Workspace, prompt: str, session: str, transcript: str) -> None:
    """Have the prompt captured beside what goes on."""
    if workspace.policy.capture == "off" or refuse_writes(workspace) or is_typed_command(prompt):
        return
    prompts, caller = workspace.conversations.prompts, workspace.caller
    if caller.conversation == "" and session:  # by then the only client may be in another one
        caller = replace(caller, conversation=session)
    prompts.heard.append(HeardPrompt(caller, session, prompt, workspace.clock.now(), transcript))
    prompts.came.set()


async def bring_up_captures(
    workspace: Workspace, timeline: Timeline, *, to_user: bool = False
) -> list[Section]:
    """The section that names what was captured, once: what was kept, and what waits for a word.

    `to_user`: the user alone sees it, so that it is still to be named to the agent.
    """
    if workspace.policy.capture == "off" or refuse_writes(workspace):
        return []
    here = [
        each
        for each in await _load(workspace)
        if each.is_open and _holds_here(workspace, each, timeline)
    ]
    told = [each for each in here if each.state == "kept"][:_NAMED_MAX]
    asked = [each for each in here if each.state in _UNNAMED][:_NAMED_MAX]
    if not told and not asked:
        return []
    states: dict[SuggestionKey, SuggestionState] = {}
    if not to_user:
        states = {each.key: "decided" for each in told}
        if asked:  # a word that comes now is about these
            states |= {each.key: "passed" for each in here if each.state == "named"}
    states |= {each.key: "listed" if to_user else "named" for each in asked}
    await _change(workspace, partial(replace_states, states=states, user=workspace.scope.user))
    facts = [_KEPT.format(_quote(told))] if told else []
    alone = _ONE_ALONE if len(asked) > 1 else ""
    facts += await _describe_effects(workspace, told, make_view(workspace, timeline))
    facts += [_OFFER.format(_quote(asked), alone)] if asked else []
    return [Section(_HEADING, facts=tuple(facts), firm=True)]


async def list_suggestions(workspace: Workspace) -> tuple[Capture, ...] | Skipped:
    """What waits for the user's word here. Whoever lists it has seen it, and may decide it."""
    if skipped := refuse_reads(workspace):
        return skipped
    timeline = (await load_head(workspace)).timeline
    here = [
        each
        for each in await _load(workspace)
        if each.state in (*_UNNAMED, *_NAMED) and _holds_here(workspace, each, timeline)
    ]
    states: dict[SuggestionKey, SuggestionState] = {
        each.key: "listed" if each.state in _UNNAMED else "named" for each in here
    }
    if any(each.state not in _SHOWN for each in here) and not refuse_writes(workspace):
        await _change(workspace, partial(replace_states, states=states, user=workspace.scope.user))
    return tuple(each.capture for each in here)


async def decide_suggestions(
    workspace: Workspace, only: str = "", *, keep: bool
) -> SuggestionsDecided | Skipped:
    """Keep or drop what the user was shown last; what was not shown yet goes on waiting.

    `only` is one that was ever shown, or a part of it; without it all that were shown last.

    Raises:
        InvalidRequestError: nothing of this waits for the user's word.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    timeline = (await load_head(workspace)).timeline
    asked = [
        each
        for each in await _load(workspace)
        if each.state in _SHOWN or (only.strip() and each.state in _NAMED)
        if _holds_here(workspace, each, timeline)
        if only.strip().casefold() in each.statement.casefold()
    ]
    asked = [each for each in asked if each.statement == only] or asked
    if not asked:
        such = f" that says {only[:_NAMED_CHARS_MAX]!r}" if only else ""
        raise InvalidRequestError(
            f"Nothing{such} waits for the user's word: it was decided, it has expired, or a "
            "backtrack left it. To keep a statement, give it to "
            f"{name_step('add_memory', content=...)}."
        )
    outcomes = [await _keep(workspace, each.capture) for each in asked] if keep else []
    states: dict[SuggestionKey, SuggestionState] = {
        each.key: "decided" if keep else "dropped" for each in asked
    }
    await _change(workspace, partial(replace_states, states=states, user=workspace.scope.user))
    return SuggestionsDecided(tuple(outcomes), 0 if keep else len(asked))


async def suggest_again(workspace: Workspace, statement: str) -> Capture | Skipped:
    """Have a decided suggestion wait for the user's word again, at the place where it was said.

    Raises:
        InvalidRequestError: nothing of these words was decided.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    digest = digest_statement(statement)
    timeline = (await load_head(workspace)).timeline
    known = await _load(workspace)
    for each in sorted(known, key=lambda each: not _holds_here(workspace, each, timeline)):
        if each.digest == digest and not each.is_open:
            user = workspace.scope.user
            change = partial(ask_again, key=each.key, statement=statement, user=user)
            await _change(workspace, change)
            return replace(each.capture, statement=statement)
    raise InvalidRequestError(
        f"Nothing of these words was suggested and decided: {statement[:_NAMED_CHARS_MAX]!r}. "
        f"To keep a statement, give it to {name_step('add_memory', content=...)}."
    )


async def withdraw_captures(workspace: Workspace, session: str, since: datetime) -> None:
    """Drop what the session said on the way that the user left, as far as nobody answered it."""
    await _change(workspace, partial(withdraw_since, session=workspace.named(session), since=since))


@frozen
class _Found:
    """What the turns say that is worth keeping, and what the last one takes back.

    `latest` are the statements of the last turn alone. `before`: it takes back what was said
    before it, which is not among the turns.
    """

    kept: Sequence[Capture]
    latest: frozenset[str]
    unmeant: Sequence[Capture]
    before: bool


async def _take_back(
    workspace: Workspace, found: _Found, known: Sequence[Suggestion]
) -> tuple[str, ...]:
    """Drop what the user did not mean of what the session captured, and hide what of it was kept.

    What another session kept as well stays: there it was meant.
    """
    likely = {digest_statement(each.statement): each.statement for each in reversed(found.unmeant)}
    session = workspace.origin().session
    there = [
        each
        for each in known
        if (each.digest in likely and each.session == session)
        or (found.before and _is_latest(workspace, each))
    ]
    if not there:
        return ()
    gone = {each.key for each in there}
    await _change(workspace, partial(withdraw, gone=gone, user=workspace.scope.user))
    retracted: list[str] = []
    for digest, said in {each.digest: each.statement for each in there}.items():
        captured = await _find_captured(workspace, digest)
        for record in captured:
            await forget_memory(workspace, record.id, "", erase=False)
        words = [likely.get(digest, ""), said, *(record.content for record in captured)]
        retracted += [each for each in words if each][:1]
    return tuple(retracted)


async def _find_captures(workspace: Workspace, turns: Sequence[Turn], turns_max: int) -> _Found:
    """What is worth keeping by the rules, or by the language model where one answers."""

    def read() -> tuple[list[Turn], list[Capture], Sequence[Capture], tuple[Capture, ...]]:
        latest = turns[-2 * (turns_max + _CONTEXT_TURNS_MAX) :]
        clean = [_redact(workspace, turn) for turn in latest]
        found = list(find_captures(clean, turns_max))
        said = sum(turn.role == "user" for turn in clean)
        last = find_captures(clean, 1) if found and min(said, turns_max) > 1 else found
        return clean, found, last, find_retracted(clean)

    # in a thread: the first message compiles the patterns, and none may hold up a call
    clean, found, last, unmeant = await asyncio.to_thread(read)
    own = [turn.content for turn in clean if turn.role == "user"]
    earlier = {each.statement for each in found} - {each.statement for each in last}
    if workspace.language is not None:
        ruled = {each.statement: each for each in found}
        candidates = dict.fromkeys([*ruled, *list_candidates(clean)])
        asked = [*candidates][:_CANDIDATES_MAX]
        try:
            async with asyncio.timeout(limits.LANGUAGE_SECONDS_MAX):
                found = await _ask_model(workspace.language, asked, ruled)
        except (ModelUnavailableError, TimeoutError):
            pass  # then the rules decide
    kept = [each for each in found if _REDACTED not in each.statement]
    latest = frozenset(each.statement for each in kept) - earlier
    return _Found(kept, latest, unmeant, before=len(own) == 1 and retracts(own[0]))


async def _find_captured(workspace: Workspace, digest: str) -> list[Record]:
    """The visible memories that were captured of the session in these words."""
    session = workspace.origin().session
    view = make_view(workspace, (await load_head(workspace)).timeline)
    found: list[Record] = []
    for bank in workspace.banks:
        ids = await bank.index.find(view, Filters(statement=digest), _STATED_MAX)
        found += await load_records(bank, ids)
    return [r for r in found if r.recalled and r.origin.session == session and _TAG in r.tags]


async def _list_known(workspace: Workspace, timeline: Timeline) -> set[str]:
    """The digests of what is not captured again: what was said on this line, or is not wanted.

    What was kept or offered on a line that a backtrack left cannot be seen here: it counts anew.
    """
    chain = timeline.chain(workspace.caller.branch)
    return {
        each.digest
        for each in await _load(workspace)
        if each.segment in chain or each.state == "dropped"
    }


async def _ask_model(
    language: LanguageModel, candidates: Sequence[str], ruled: dict[str, Capture]
) -> list[Capture]:
    """The candidates that the language model would keep; the rules' own category goes first."""
    found: list[Capture] = []
    for text in candidates:
        judged = await language.classify(text)
        if judged.keep:
            category: CaptureCategory = judged.sort  # pyright: ignore[reportAssignmentType]  # kept
            known = ruled.get(text, Capture(text, category))
            found.append(replace(known, sure=True))
    return found


def _redact(workspace: Workspace, turn: Turn) -> Turn:
    """The turn without secrets; without a word if a secret is refused.

    It is cut far behind the part that is read, where no half of a secret shows.
    """
    text = turn.content[: 2 * MESSAGE_CHARS_MAX].encode(errors="replace").decode()
    try:
        return replace(turn, content=redact_text(text, workspace.policy.secrets).text)
    except InvalidRequestError:
        return replace(turn, content="")


async def _load_context(workspace: Workspace, heard: HeardPrompt) -> list[Turn]:
    """The prompt, with what was said before where it cannot be understood without."""
    own = Turn("user", heard.text, heard.at)
    if not heard.transcript or not needs_context(heard.text):
        return [own]
    event = SessionEnded(
        event="session-end",
        session=heard.session,
        at=heard.at,
        transcript_path=heard.transcript[: limits.EVENT_PATH_CHARS_MAX],
    )
    data = await workspace.inbox.transcript(event)
    before = await asyncio.to_thread(read_turns, data) if data else []
    if before and before[-1].content.split() == heard.text.split():  # it may be there already
        before.pop()
    return [*before[-_CONTEXT_TURNS_MAX:], own]


def _make_draft(capture: Capture) -> Draft:
    return Draft(
        content=capture.statement,
        kind=capture.kind,
        category=capture.category,
        tags=(_TAG,),
        importance=capture.importance,
        reach="user" if capture.everywhere else "project",
    )


async def _keep(workspace: Workspace, capture: Capture) -> AddOutcome:
    try:
        return await add_memory(workspace, _make_draft(capture))
    except InvalidRequestError as error:
        return MemoryDeclined(f"cannot be stored: {error}")


async def _describe_effects(
    workspace: Workspace, told: Sequence[Suggestion], view: View
) -> list[str]:
    """What each of these that was kept replaced and contradicts, where it still holds."""
    named = {RecordId(each.memory): _quote([each]) for each in told if each.memory}
    found: list[str] = []
    for bank in workspace.banks if named else ():
        for record in await load_records(bank, sorted(await bank.index.visible(named, view))):
            rivals = await find_rivals(workspace, view, record)
            added = MemoryAdded(record, replaced=record.supersedes, similar=rivals)
            if effect := describe_effect(added):
                found.append(f"{named[record.id]}: {effect}")
    return found


def _make_suggestion(workspace: Workspace, capture: Capture, timeline: Timeline) -> Suggestion:
    branch = workspace.caller.branch
    return Suggestion(
        digest=digest_statement(capture.statement),
        statement=capture.statement,
        category=capture.category,
        everywhere=capture.everywhere,
        state="waiting",
        at=workspace.clock.now(),
        user=workspace.scope.user,
        branch=branch,
        segment=choose_segment(workspace, timeline),
        session=workspace.origin().session,
    )


def _holds_here(workspace: Workspace, each: Suggestion, timeline: Timeline) -> bool:
    """Whether the place where it was said is on the caller's branch."""
    branch = workspace.caller.branch
    return each.branch == branch and each.segment in timeline.chain(branch)


def _is_latest(workspace: Workspace, each: Suggestion) -> bool:
    """Whether the session said it last; without a name nobody knows whose it is."""
    return each.latest and each.session != "" and each.session == workspace.origin().session


def _quote(said: Sequence[Suggestion]) -> str:
    return "; ".join(f'"{each.statement[:_NAMED_CHARS_MAX]}"' for each in said)


async def _load(workspace: Workspace) -> Suggestions:
    """The suggestions of the user, without those that have expired."""
    known = drop_expired(await workspace.suggestions.load(), workspace.clock.now())
    return tuple(each for each in known if each.user == workspace.scope.user)


async def _change(workspace: Workspace, change: "partial[Suggestions]") -> None:
    now = workspace.clock.now()
    await workspace.suggestions.change(lambda known: change(drop_expired(known, now)))
