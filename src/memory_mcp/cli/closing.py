"""`memory-mcp consolidate`, `phase`, `identity`, and what a checkpoint is given to close with."""

import argparse
from typing import Annotated, Any, TypeVar

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli.show import Shown, typed
from memory_mcp.cli.writing import text_of
from memory_mcp.context.receipts import added_fields
from memory_mcp.context.session_text import consolidation_fields, phase_fields, phases_text
from memory_mcp.domain.closeout import Closeout, Settled
from memory_mcp.domain.consolidation import ToConsolidate
from memory_mcp.domain.given import Given
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.phases import Phases
from memory_mcp.errors import InvalidRequestError
from memory_mcp.setting_values import plain

Options = argparse.Namespace
Form = TypeVar("Form", bound=Given)


class _Strict(Given):
    model_config = ConfigDict(extra="forbid")


class _Decided(_Strict):
    text: str
    rationale: str = ""

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, given: object) -> object:
        return {"text": given} if isinstance(given, str) else given


_several = BeforeValidator(lambda given: [given] if isinstance(given, str | dict) else given)
_Texts = Annotated[list[str], _several]


class _Closeout(_Strict):
    """The form of `checkpoint --closeout`, as the tool takes it."""

    decisions: Annotated[list[_Decided], _several] = Field(default_factory=list[_Decided])
    artifacts: _Texts = Field(default_factory=list[str])
    issues: _Texts = Field(default_factory=list[str])
    agents: _Texts = Field(default_factory=list[str])


class _Consolidation(_Strict):
    """The form of `consolidate -`, as the tool takes it."""

    history_entry: str = ""
    memory_update: str = ""
    insights: str | list[str] = ""
    session_id: str = ""
    final: bool = False


def closeout_of(given: Options) -> Closeout:
    """What is to be written with a checkpoint, from its options and from JSON.

    Raises:
        InvalidRequestError: the JSON is none of that form.
    """
    form = _read(_Closeout, given.closeout) if given.closeout else _Closeout()
    decided = [each.partition("::") for each in given.decided]
    return Closeout(
        decisions=(
            *(Settled(each.text, each.rationale) for each in form.decisions),
            *(Settled(text.strip(), why.strip()) for text, _, why in decided),
        ),
        artifacts=(*form.artifacts, *given.artifact),
        issues=(*form.issues, *given.issue),
        agents=(*form.agents, *given.agent),
    )


async def consolidate(rooms: Rooms, given: Options) -> Shown:
    """Hand on what a later session needs; without anything, what was handed on last.

    Raises:
        InvalidRequestError: it cannot be stored, or the JSON is none of that form.
    """
    form = _read(_Consolidation, given.given) if given.given else _Consolidation()
    insights = [form.insights] if isinstance(form.insights, str) else form.insights
    said = ToConsolidate(
        history_entry=given.history or form.history_entry,
        memory_update=given.update or form.memory_update,
        insights=tuple(text for text in (*insights, *given.insight) if text.strip()),
        session=plain(given.session or form.session_id).strip(),
        final=given.final or form.final,
    )
    outcome = await app.consolidate(rooms, said)
    return Shown(consolidation_fields(outcome), _latest_text)


async def phase(rooms: Rooms, given: Options) -> Shown:
    """Show the phase and how the project got there, or move to another one."""
    if given.number is not None:
        return Shown(phase_fields(await app.move_to_phase(rooms, given.number)))
    match await app.phases(rooms):
        case Phases() as known:
            steps = [
                {"phase": step.number, "at": step.at.isoformat(), "sealed": step.sealed}
                for step in known.steps
            ]
            fields = {"success": True, "phase": known.now.number, "by": known.now.by or None,
                      "history": steps}  # fmt: skip
            return Shown(fields, lambda _: phases_text(known))
        case Skipped(reason):
            return Shown({"success": False, "message": reason})


async def identity(rooms: Rooms, given: Options) -> Shown:
    """Show what the project is, or say it anew."""
    if text := text_of(given.text):
        return Shown(added_fields(await app.set_identity(rooms, text)))
    known = await app.project_identity(rooms)
    if isinstance(known, Skipped):
        return Shown({"success": False, "message": known.reason})
    found = [{"content": record.content, "memoryId": record.id} for record in known]
    said = "\n".join(record.content for record in known) or (
        "Nobody said yet what this project is: memory-mcp identity 'A web shop for …'."
    )
    return Shown({"success": True, "identity": found, "message": said}, lambda _: said)


def _latest_text(fields: Any) -> str:
    latest = fields.get("latest")
    if not latest:
        return str(fields["message"])
    whose = f"{latest['at'][:10]}, session {latest['session'] or '(unnamed)'}"
    said = [latest[name] for name in ("memoryUpdate", "insights") if name in latest]
    return "\n".join(
        (f"{fields['message']} ({whose}{', final' if latest['final'] else ''})", *said)
    )


def _read(form: type[Form], text: str) -> Form:
    """What was typed as JSON, or piped in for a dash."""
    try:
        return TypeAdapter(form).validate_json(typed() if text == "-" else text)
    except ValidationError as error:
        first, *_ = error.errors(include_url=False)
        where = ".".join(map(str, first["loc"]))
        known = ", ".join(form.model_fields)
        raise InvalidRequestError(
            f"The JSON cannot be read{f' at {where}' if where else ''}: {first['msg']}. Give one "
            f"object with any of: {known}."
        ) from error
