"""`memory-mcp consolidate`, `episode`, `phase`, `identity` and `profile`.

`closeout_of` reads what `checkpoint` is given to close a phase with.
"""

import argparse
from dataclasses import replace
from datetime import UTC
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from memory_mcp import engine, memories, sessions
from memory_mcp.cli.memories import read_text
from memory_mcp.cli.show import Fields, Output, read_stdin
from memory_mcp.config.values import escape_name
from memory_mcp.domain.json_input import InputForm, drop_nulls, keep_spoken_messages
from memory_mcp.domain.outcomes import Closeout, ClosingDecision, ConsolidationDraft, Skipped
from memory_mcp.domain.profile import LABELS, Profile
from memory_mcp.domain.sessions import Turn
from memory_mcp.domain.timeline import PhaseHistory
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.profile import get_profile
from memory_mcp.render.outcomes import (
    render_fields,
    render_phases,
)
from memory_mcp.render.profile import render_profile_line

Options = argparse.Namespace
Form = TypeVar("Form", bound=InputForm)


class _StrictForm(InputForm):
    model_config = ConfigDict(extra="forbid")


class _DecisionForm(_StrictForm):
    text: str
    rationale: str = ""

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, given: object) -> object:
        return {"text": given} if isinstance(given, str) else given


_several = BeforeValidator(lambda given: [given] if isinstance(given, str | dict) else given)
_Texts = Annotated[list[str], _several]


class _CloseoutForm(_StrictForm):
    """The form of `checkpoint --closeout`, as the tool takes it."""

    decisions: Annotated[list[_DecisionForm], _several] = Field(default_factory=list[_DecisionForm])
    artifacts: _Texts = Field(default_factory=list[str])
    issues: _Texts = Field(default_factory=list[str])
    agents: _Texts = Field(default_factory=list[str])


class _ConsolidationForm(_StrictForm):
    """The form of `consolidate -`, as the tool takes it."""

    history_entry: str = ""
    memory_update: str = ""
    insights: str | list[str] = ""
    session_id: str = ""
    final: bool = False


def make_closeout(given: Options) -> Closeout:
    """What is to be written with a checkpoint, from its options and from JSON.

    Raises:
        InvalidRequestError: the JSON is none of that form.
    """
    form = _read_form(_CloseoutForm, given.closeout) if given.closeout else _CloseoutForm()
    decided = [each.partition("::") for each in given.decided]
    return Closeout(
        decisions=(
            *(ClosingDecision(each.text, each.rationale) for each in form.decisions),
            *(ClosingDecision(text.strip(), why.strip()) for text, _, why in decided),
        ),
        artifacts=(*form.artifacts, *given.artifact),
        issues=(*form.issues, *given.issue),
        agents=(*form.agents, *given.agent),
    )


async def consolidate(workspace: Workspace, given: Options) -> Output:
    """Hand on what a later session needs; without anything, what was handed on last.

    Raises:
        InvalidRequestError: it cannot be stored, or the JSON is none of that form.
    """
    form = _read_form(_ConsolidationForm, given.given) if given.given else _ConsolidationForm()
    insights = [form.insights] if isinstance(form.insights, str) else form.insights
    said = ConsolidationDraft(
        history_entry=given.history or form.history_entry,
        memory_update=given.update or form.memory_update,
        insights=tuple(text for text in (*insights, *given.insight) if text.strip()),
        session=escape_name(given.session or form.session_id).strip(),
        final=given.final or form.final,
    )
    outcome = await sessions.consolidate(workspace, said)
    return Output(render_fields(outcome), _latest_text)


async def phase(workspace: Workspace, given: Options) -> Output:
    """Show the phase and how the project got there, or move to another one."""
    if given.number is not None:
        return Output(render_fields(await engine.move_to_phase(workspace, given.number)))
    match await engine.list_phases(workspace):
        case PhaseHistory() as known:
            steps = [
                {"phase": step.number, "at": step.at.isoformat(), "sealed": step.sealed}
                for step in known.steps
            ]
            fields = {"success": True, "phase": known.now.number, "by": known.now.by or None,
                      "history": steps}  # fmt: skip
            return Output(fields, lambda _: render_phases(known))
        case Skipped(reason):
            return Output({"success": False, "message": reason})


async def identity(workspace: Workspace, given: Options) -> Output:
    """Show what the project is, or say it anew."""
    if text := read_text(given.text):
        return Output(render_fields(await memories.set_identity(workspace, text)))
    known = await memories.load_identity(workspace)
    if isinstance(known, Skipped):
        return Output({"success": False, "message": known.reason})
    found = [{"content": record.content, "memoryId": record.id} for record in known]
    said = "\n".join(record.content for record in known) or (
        "Nobody said yet what this project is: memory-mcp identity 'A web shop for …'."
    )
    return Output({"success": True, "identity": found, "message": said}, lambda _: said)


def _latest_text(fields: Any) -> str:
    latest = fields.get("latest")
    if not latest:
        return str(fields["message"])
    whose = f"{latest['at'][:10]}, session {latest['session'] or '(unnamed)'}"
    said = [latest[name] for name in ("memoryUpdate", "insights") if name in latest]
    return "\n".join(
        (f"{fields['message']} ({whose}{', final' if latest['final'] else ''})", *said)
    )


def _read_form(form: type[Form], text: str) -> Form:
    """What was typed as JSON, or piped in for a dash."""
    try:
        return TypeAdapter(form).validate_json(read_stdin() if text == "-" else text)
    except ValidationError as error:
        first, *_ = error.errors(include_url=False)
        where = ".".join(map(str, first["loc"]))
        known = ", ".join(form.model_fields)
        raise InvalidRequestError(
            f"The JSON cannot be read{f' at {where}' if where else ''}: {first['msg']}. Give one "
            f"object with any of: {known}."
        ) from error


_TURNS: Final = TypeAdapter(
    Annotated[list[Turn], BeforeValidator(lambda given: keep_spoken_messages(drop_nulls(given)))]
)


async def episode(workspace: Workspace, given: argparse.Namespace) -> Output:
    """Capture what the turns were about.

    Raises:
        InvalidRequestError: the turns are no JSON of the form that the help names.
    """
    text: str = read_stdin() if given.turns == "-" else given.turns
    turns = _read_turns(text)
    if given.session:
        workspace = replace(
            workspace, caller=replace(workspace.caller, conversation=escape_name(given.session))
        )
    outcome = await sessions.capture_episode(workspace, turns, given.turn, final=given.final)
    return Output(render_fields(outcome))


def _read_turns(text: str) -> list[Turn]:
    try:
        turns = _TURNS.validate_json(text)
    except ValidationError as error:
        first, *_ = error.errors(include_url=False)
        where = ".".join(map(str, first["loc"]))
        raise InvalidRequestError(
            f"The turns cannot be read{f' at {where}' if where else ''}: {first['msg']}. Give a "
            'JSON list of {"role": "user" or "assistant", "content": …}, oldest first.'
        ) from error
    return [
        replace(turn, at=turn.at.replace(tzinfo=UTC)) if turn.at and not turn.at.tzinfo else turn
        for turn in turns
    ]


async def profile(workspace: Workspace, given: argparse.Namespace) -> Output:
    """Show the profile, field by field."""
    del given
    match await get_profile(workspace):
        case Profile() as known:
            return Output(_profile_fields(known), _profile_text)
        case Skipped(reason):
            return Output({"success": False, "message": reason})


def _profile_fields(known: Profile) -> Fields:
    return {
        "success": True,
        "line": render_profile_line(known),
        "facts": [
            {
                "field": entry.fact.field,
                "value": entry.fact.value,
                "memoryId": entry.memory_id,
                "from": list(entry.sources),
            }
            for entry in known.entries
        ],
        "timeZone": known.zone or None,
        "impliedBy": known.value("city") if known.implied_zone else None,
        "message": (
            ""
            if known.entries
            else 'Nothing is known of the user yet: memory-mcp add --scope user "My name is …".'
        ),
    }


def _profile_text(fields: Fields) -> str:
    lines: list[str] = []
    for fact in fields["facts"]:
        origin = f"from {', '.join(fact['from'])}" if fact["from"] else "as it was said"
        lines.append(f"{LABELS[fact['field']]}: {fact['value']}\n     {fact['memoryId']} {origin}")
    if fields["impliedBy"]:
        lines.append(f"Time zone: {fields['timeZone']}, because of {fields['impliedBy']}")
    return "\n".join([*lines, *([fields["message"]] if fields["message"] else [])])
