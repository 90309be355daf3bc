"""What the page can do: each action calls the use case that the tool or the command calls.

An action without `confirm` says what it would do, in the words of the tools, and gives a token.
With that token it is carried out, if what it would do is still the same. Erasing asks a second
time. The answer names the action that takes it back; where there is none, the question says so.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from memory_mcp import branches, memories, sessions
from memory_mcp.domain.captures import SuggestionsDecided
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import cut, pluralise
from memory_mcp.domain.outcomes import (
    AddOutcome,
    Backtracked,
    CheckpointDecided,
    DecisionPreview,
    MemoryAdded,
    MovePreview,
    Skipped,
)
from memory_mcp.domain.record import Record, cut_title
from memory_mcp.engine.head import load_view
from memory_mcp.engine.lookup import require_memory
from memory_mcp.engine.workspace import Workspace, refuse_writes
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError
from memory_mcp.render.difference import compare_words
from memory_mcp.render.outcomes import (
    render_decision,
    render_effect,
    render_later,
    render_preview,
    render_receipt,
    render_trust_report,
)
from memory_mcp.server.page.reads import describe_invalid, find_any
from memory_mcp.text.drafts import check_branch
from memory_mcp.trust import report_trust, revoke_trust, trust_project

Fields = dict[str, Any]

_QUOTED_CHARS_MAX: Final = 200

_NO_WAY_BACK: Final = "This cannot be undone."
_NO_MORE: Final = (
    "It holds no more: since it was shown here, another session corrected or hid it, or went back. "
    "Nothing was changed; choose it anew in the list."
)
_SURE: Final = f"{_NO_WAY_BACK} Erase for good?"


class _Action(BaseModel):
    model_config = ConfigDict(extra="forbid")

    branch: str = ""
    confirm: str = Field(default="", max_length=200)


class Backtrack(_Action):
    """Go back to a checkpoint or phase, or restore a left line."""

    action: Literal["backtrack"]
    to: str
    mode: Literal["continue", "forget"] = "continue"
    lesson: str = ""


class Undo(_Action):
    """Undo the last move."""

    action: Literal["undo"]


class Correct(_Action):
    """Replace what a memory says."""

    action: Literal["correct"]
    memory_id: str
    content: str
    title: str = ""
    reason: str = ""


class Forget(_Action):
    """Hide a memory from here on, or erase it for good."""

    action: Literal["forget"]
    memory_id: str
    mode: Literal["hide", "erase"] = "hide"
    reason: str = ""


class PutBack(_Action):
    """Remember again, as it was, what was hidden or what `instead` took the place of."""

    action: Literal["put_back"]
    memory_id: str
    instead: str = ""


class Pin(_Action):
    """Pin a memory, or no longer."""

    action: Literal["pin"]
    memory_id: str
    pinned: bool


class CiteAgain(_Action):
    """A memory still holds: what it cites is cited as it is now."""

    action: Literal["cite_again"]
    memory_id: str


class Decide(_Action):
    """Save, edit or skip a checkpoint that is pending, or take that back."""

    action: Literal["decide"]
    checkpoint_id: str
    decision: branches.Decision
    summary: str = ""


class Review(_Action):
    """Whether what another member wrote stands in the user's contexts."""

    action: Literal["review"]
    memory_id: str
    keep: bool


class Suggest(_Action):
    """Keep or drop what the user said and was suggested."""

    action: Literal["suggestion"]
    statement: str = Field(min_length=1)
    keep: bool


class WithdrawReview(_Action):
    """Take the word on another member's memory back: it waits again."""

    action: Literal["withdraw_review"]
    memory_id: str
    keep: bool


class SuggestAgain(_Action):
    """Have a suggestion that was decided wait again; `kept` is the memory that was made of it."""

    action: Literal["suggest_again"]
    statement: str = Field(min_length=1)
    kept: str = ""
    replaced: str = ""
    """The memory that it took the place of."""


class Trust(_Action):
    """Let what came with the repository count, or no longer."""

    action: Literal["trust"]
    trusted: bool


Action = (
    Backtrack | Undo | Correct | Forget | PutBack | Pin | CiteAgain | Decide | Review
    | WithdrawReview | Suggest | SuggestAgain | Trust
)  # fmt: skip

_ACTIONS: Final[TypeAdapter[Action]] = TypeAdapter(Annotated[Action, Field(discriminator="action")])


def parse_action(body: bytes) -> Action:
    """The action of a request.

    Raises:
        InvalidRequestError: it is none of ours; says what is wrong with it.
    """
    try:
        return _ACTIONS.validate_json(body)
    except ValidationError as error:
        raise InvalidRequestError(describe_invalid(error)) from error


async def act(workspace: Workspace, action: Action) -> Fields:
    """Carry out an action, or say what it would do.

    Raises:
        InvalidRequestError: it cannot be done; says why.
        MemoryMcpError: it failed.
    """
    if skipped := refuse_writes(workspace):
        return render_receipt(skipped)
    if action.branch:
        workspace = workspace.at(check_branch(action.branch))
    try:
        fields = await _HANDLERS[type(action)](workspace, action)
    except UnknownMemoryError:
        if await find_any(workspace, getattr(action, "memory_id", "")):
            raise InvalidRequestError(_NO_MORE) from None
        raise
    if action.branch and "undo" in fields:  # it is taken back where it was done
        fields["undo"] = {**fields["undo"], "branch": action.branch}
    return fields


async def _backtrack(workspace: Workspace, action: Backtrack) -> Fields:
    preview = await branches.preview_backtrack(workspace, action.to, action.lesson)
    if isinstance(preview, Skipped):
        return render_receipt(preview)
    erases = action.mode == "forget"
    if asked := _ask(render_preview(preview), preview.token, action.confirm, twice=erases):
        return {**asked, "hides": preview.hides, "erases": preview.erases * erases}
    done = await branches.backtrack(
        workspace, action.to, action.mode, lesson=action.lesson, token=preview.token
    )
    return _answer_move(done, undo=not erases)


async def _undo(workspace: Workspace, action: Undo) -> Fields:
    preview = await branches.preview_undo(workspace)
    match preview:
        case Skipped():
            return render_receipt(preview)
        case MovePreview(token=token):
            said = render_effect(preview)
        case DecisionPreview():
            said, token = render_decision(preview), _make_decision_token(preview)
    if preview.later:
        takes_back = "the last move" if isinstance(preview, MovePreview) else "the answer to it"
        said = f"{render_later(preview.later, takes_back)}\n{said}"
    if asked := _ask(said, token, action.confirm):
        return asked
    return _answer_move(await branches.undo(workspace, preview), undo=True)


def _answer_move(done: Any, *, undo: bool) -> Fields:
    fields = render_receipt(done)
    match done:
        case MovePreview():  # the memory changed since it was asked
            fields["status"] = "undecided"
            fields |= {"message": render_preview(done), "confirm": done.token}
        case Backtracked() if undo:
            fields["undo"] = {"action": "undo"}
        case CheckpointDecided(checkpoint, before):
            back: Fields = {"decision": "reopen"}
            if before.approval == "skipped":
                back = {"decision": "skip"}
            elif before.approval != "pending":
                back = {"decision": "edit", "summary": before.summary}
            way = {"action": "decide", "checkpoint_id": checkpoint.id, **back}
            fields |= {"success": True, "undo": way}
        case _:
            pass
    return fields


async def _decide(workspace: Workspace, action: Decide) -> Fields:
    """A checkpoint saved or skipped, or the word on it taken back."""
    given = action.checkpoint_id, action.decision, action.summary
    preview = await branches.preview_decision(workspace, *given)
    if isinstance(preview, Skipped):
        return render_receipt(preview)
    token = _make_decision_token(preview)
    if asked := _ask(render_decision(preview), token, action.confirm):
        return asked
    done = await branches.decide_checkpoint(workspace, *given, again=False)
    return _answer_move(done, undo=True)


def _make_decision_token(preview: DecisionPreview) -> str:
    return _make_token("decide", preview.checkpoint.id, preview.decision, preview.summary)


async def _correct(workspace: Workspace, action: Correct) -> Fields:
    old = await require_memory(workspace, action.memory_id, await load_view(workspace))
    said = f"Replace what {_quote(old)} says? A backtrack brings the old text back."
    token = _make_token("correct", old.id, action.content, action.title, action.reason)
    if asked := _ask(said, token, action.confirm):
        return {**asked, "words": compare_words(old.content, action.content)}
    done = await memories.update_memory(
        workspace, old.id, action.content, action.title, action.reason
    )
    return _answer_correction(done, old)


def _answer_correction(done: AddOutcome, old: Record) -> Fields:
    """The receipt; the old memory in the place of the new one takes it back."""
    fields = render_receipt(done)
    if isinstance(done, MemoryAdded):
        fields["undo"] = _make_way_back(done.record.id, old.id)
    return fields


def _make_way_back(new: RecordId, old: RecordId | None) -> Fields:
    """The action that takes back what was written: in the place of another memory, or anew."""
    if old:
        return {"action": "put_back", "memory_id": old, "instead": new}
    return {"action": "forget", "memory_id": new, "mode": "hide"}


async def _forget(workspace: Workspace, action: Forget) -> Fields:
    target = await _find_target(workspace, action)
    erases = action.mode == "erase"
    fate = (
        "This erases it everywhere and for good, with what repeats its words."
        if erases
        else "From here on it is hidden. A backtrack to before this brings it back, unless it is "
        "durable."
    )
    token = _make_token("forget", target.id, action.mode, action.reason)
    said = f"Forget {_quote(target)}? {fate}"
    if asked := _ask(said, token, action.confirm, twice=erases):
        return {**asked, "erases": int(erases)}
    done = await memories.forget_memory(workspace, target.id, action.reason, erase=erases)
    fields = render_receipt(done)
    if not erases and not isinstance(done, Skipped):
        fields["undo"] = {"action": "put_back", "memory_id": target.id}
    return fields


async def _find_target(workspace: Workspace, action: Forget) -> Record:
    """The memory to forget; hidden and left ones can be erased too, as by the tool."""
    try:
        return await require_memory(workspace, action.memory_id, await load_view(workspace))
    except UnknownMemoryError:
        if action.mode == "erase" and (found := await find_any(workspace, action.memory_id)):
            return found
        raise


async def _put_back(workspace: Workspace, action: PutBack) -> Fields:
    old = await find_any(workspace, action.memory_id)
    if old is None:
        raise UnknownMemoryError(action.memory_id)
    token = _make_token("put_back", old.id, action.instead)
    now = None
    if action.instead:
        now = await require_memory(workspace, action.instead, await load_view(workspace))
    said = f"Put {_quote(old)} back as it was?" if now else f"Remember {_quote(old)} again?"
    if asked := _ask(said, token, action.confirm):
        if now and now.content != old.content:
            asked["words"] = compare_words(now.content, old.content)
        return asked
    done = await memories.put_back_memory(workspace, old.id, action.instead)
    fields = render_receipt(done)
    if isinstance(done, MemoryAdded):
        fields["message"] = "It holds again, as it was."
        fields["undo"] = _make_way_back(done.record.id, now.id if now else None)
    return fields


async def _pin(workspace: Workspace, action: Pin) -> Fields:
    old = await require_memory(workspace, action.memory_id, await load_view(workspace))
    said = (
        f"Pin {_quote(old)}? It then comes first, in each session."
        if action.pinned
        else f"Pin {_quote(old)} no longer?"
    )
    if asked := _ask(said, _make_token("pin", old.id, str(action.pinned)), action.confirm):
        return asked
    done = await memories.pin_memory(workspace, old.id, pinned=action.pinned)
    fields = render_receipt(done)
    if isinstance(done, MemoryAdded):
        fields["message"] = "Pinned: it comes first." if action.pinned else "No longer pinned."
        fields["undo"] = {"action": "pin", "memory_id": done.record.id, "pinned": not action.pinned}
    return fields


async def _cite_again(workspace: Workspace, action: CiteAgain) -> Fields:
    old = await require_memory(workspace, action.memory_id, await load_view(workspace))
    said = f"Is {_quote(old)} still true? What it cites is cited as it is now."
    if asked := _ask(said, _make_token("cite_again", old.id), action.confirm):
        return asked
    done = await memories.update_memory(workspace, old.id, old.content, old.title)
    return _answer_correction(done, old)


_WAITS_AGAIN: Final = "It waits for your word again."


async def _review(workspace: Workspace, action: Review) -> Fields:
    record = await find_any(workspace, action.memory_id)
    if record is None:
        raise InvalidRequestError(f"No memory {action.memory_id!r:.64} waits for your word.")
    said = (
        f"Keep what {record.scope.user} wrote, {_quote(record)}? It then stands in your contexts."
        if action.keep
        else f"Drop what {record.scope.user} wrote, {_quote(record)}? It stays out of your "
        "contexts, and a search finds it under its author's name."
    )
    if asked := _ask(said, _make_token("review", record.id, str(action.keep)), action.confirm):
        return asked
    done = await memories.review_memory(workspace, record.id, keep=action.keep)
    if done is None:
        raise InvalidRequestError(f"No memory {record.id!r} waits for your word.")
    back = {"action": "withdraw_review", "memory_id": record.id, "keep": action.keep}
    return {**render_receipt(done), "undo": back}


async def _withdraw_review(workspace: Workspace, action: WithdrawReview) -> Fields:
    record = await find_any(workspace, action.memory_id)
    if record is None:
        raise UnknownMemoryError(action.memory_id)
    said = f"Take your word on {_quote(record)} back? It waits for it again."
    if asked := _ask(said, _make_token("withdraw", record.id, str(action.keep)), action.confirm):
        return asked
    done = await memories.withdraw_review(workspace, record.id, keep=action.keep)
    if done is None:
        word = "keep" if action.keep else "drop"
        raise InvalidRequestError(
            f"You did not {word} {record.id!r}: there is no word to take back."
        )
    again = {"action": "review", "memory_id": record.id, "keep": action.keep}
    return {"success": True, "message": _WAITS_AGAIN, "undo": again}


async def _answer_suggestion(workspace: Workspace, action: Suggest) -> Fields:
    await sessions.list_suggestions(workspace)  # what is shown may be decided
    quoted = f"\u201c{cut(action.statement, _QUOTED_CHARS_MAX)}\u201d"
    said = f"{'Keep' if action.keep else 'Drop'} {quoted}?"
    token = _make_token("suggestion", action.statement, str(action.keep))
    if asked := _ask(said, token, action.confirm):
        return asked
    done = await sessions.decide_suggestions(workspace, action.statement, keep=action.keep)
    fields = render_receipt(done)
    match done:
        case SuggestionsDecided(kept=(MemoryAdded(record=kept, replaced=replaced),)):
            fields["undo"] = {"action": "suggest_again", "statement": action.statement}
            fields["undo"] |= {"kept": kept.id, "replaced": replaced[0] if replaced else ""}
        case SuggestionsDecided(dropped=1):
            fields["undo"] = {"action": "suggest_again", "statement": action.statement}
        case _:
            pass
    return fields


async def _suggest_again(workspace: Workspace, action: SuggestAgain) -> Fields:
    quoted = f"\u201c{cut(action.statement, _QUOTED_CHARS_MAX)}\u201d"
    hidden = " What was kept of it is hidden." if action.kept else ""
    token = _make_token("suggest_again", action.statement, action.kept, action.replaced)
    if asked := _ask(f"Ask about {quoted} again?{hidden}", token, action.confirm):
        return asked
    if action.kept and action.replaced:
        await memories.put_back_memory(workspace, action.replaced, action.kept)
    elif action.kept:
        await memories.forget_memory(workspace, action.kept, "", erase=False)
    await sessions.suggest_again(workspace, action.statement)
    again = {"action": "suggestion", "statement": action.statement, "keep": bool(action.kept)}
    return {"success": True, "message": _WAITS_AGAIN, "undo": again}


async def _trust(workspace: Workspace, action: Trust) -> Fields:
    report = await report_trust(workspace)
    if not action.trusted:
        said = "Trust this project no longer? Of it only what this machine wrote counts then."
        if asked := _ask(said, _make_token("revoke", report.remote), action.confirm):
            return asked
        revoked = await revoke_trust(workspace)
        if not revoked:
            return {"success": False, "message": "It was not trusted."}
        return {"success": True, "message": "This project is trusted no longer.",
                "undo": {"action": "trust", "trusted": True}}  # fmt: skip
    said = render_trust_report(report)
    if asked := _ask(said, _make_token("trust", said), action.confirm):
        return asked
    await trust_project(workspace)
    counts = pluralise(report.waiting, "record of others counts", "records of others count")
    return {"success": True, "message": f"This project is trusted. {counts} now.",
            "undo": {"action": "trust", "trusted": False}}  # fmt: skip


_HANDLERS: Final[Mapping[type[_Action], Callable[[Workspace, Any], Awaitable[Fields]]]] = {
    Backtrack: _backtrack, Undo: _undo, Correct: _correct, Forget: _forget, PutBack: _put_back,
    Pin: _pin, CiteAgain: _cite_again, Decide: _decide, Review: _review,
    WithdrawReview: _withdraw_review, Suggest: _answer_suggestion, SuggestAgain: _suggest_again,
    Trust: _trust,
}  # fmt: skip
"""What carries out each action, or asks first."""


def _ask(said: str, token: str, given: str, *, twice: bool = False) -> Fields | None:
    """The question that is still to be answered before the action; None if all were."""
    sure = _make_token("sure", token)
    if given == (sure if twice else token):
        return None
    fields: Fields = {"success": False, "status": "undecided"}
    if twice and given == token:
        return {**fields, "message": _SURE, "confirm": sure, "last": True}
    changed = {"changed": True} if given else {}
    return {**fields, "message": said, "confirm": token, **changed}


def _make_token(*parts: str) -> str:
    """What confirms exactly this."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]


def _quote(record: Record) -> str:
    return f"\u201c{cut_title(record, _QUOTED_CHARS_MAX)}\u201d"
