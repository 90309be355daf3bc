"""The command `episode`: the door for hooks that run when a session pauses or ends."""

import argparse
from dataclasses import replace
from datetime import UTC
from typing import Annotated, Final

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli.show import Shown, typed
from memory_mcp.context.episode_text import episode_fields
from memory_mcp.domain.episodes import Turn
from memory_mcp.domain.given import spoken, without_null
from memory_mcp.errors import InvalidRequestError
from memory_mcp.setting_values import plain

_TURNS: Final = TypeAdapter(
    Annotated[list[Turn], BeforeValidator(lambda given: spoken(without_null(given)))]
)


async def episode(rooms: Rooms, given: argparse.Namespace) -> Shown:
    """Capture what the turns were about.

    Raises:
        InvalidRequestError: the turns are no JSON of the form that the help names.
    """
    text: str = typed() if given.turns == "-" else given.turns
    turns = _read(text)
    if given.session:
        rooms = replace(rooms, conversation=plain(given.session))
    outcome = await app.episodic_capture(rooms, turns, given.turn, final=given.final)
    return Shown(episode_fields(outcome))


def _read(text: str) -> list[Turn]:
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
