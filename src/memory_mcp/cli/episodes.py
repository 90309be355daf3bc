"""The command `episode`: the door for hooks that run when a session pauses or ends."""

import argparse
import sys
from dataclasses import replace
from datetime import UTC
from typing import Final

from pydantic import TypeAdapter, ValidationError

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli.show import Shown
from memory_mcp.context.episode_text import episode_fields
from memory_mcp.domain.episodes import Turn
from memory_mcp.errors import InvalidRequestError
from memory_mcp.setting_values import plain

__all__ = ["episode"]

_TURNS: Final = TypeAdapter(list[Turn])


async def episode(rooms: Rooms, given: argparse.Namespace) -> Shown:
    """Capture what the turns were about.

    Raises:
        InvalidRequestError: the turns are no JSON of the form that the help names.
    """
    text: str = sys.stdin.read() if given.turns == "-" else given.turns
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
