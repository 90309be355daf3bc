"""Shortens a text to a limit: by the language model if there is one, else by cutting its end."""

import asyncio
import hashlib
import json

from memory_mcp.domain.limits import (
    COMPRESS_PIECES_MAX,
    COMPRESS_ROUNDS_DEFAULT,
    LANGUAGE_TURNS_CHARS_MAX,
)
from memory_mcp.domain.normalise import normalise
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import MemoryMcpError
from memory_mcp.frozen import frozen
from memory_mcp.ports import LanguageModel
from memory_mcp.text.secrets import redact
from memory_mcp.text.sentences import shorten, split_pieces


@frozen
class CompressionRequest:
    """How a text is shortened: `about` says what it is, `instructions` replace the usual ones."""

    chars_max: int
    about: str = ""
    instructions: str = ""
    rounds_max: int = COMPRESS_ROUNDS_DEFAULT


async def compress(
    workspace: Workspace, text: str, request: CompressionRequest, *, use_cache: bool = True
) -> str:
    """The text if it fits; else what the model made of it, cut if that is still too long.

    It never fails and is never longer than asked. No secret is sent, nor in what is returned of a
    text that did not fit: half a secret would not be recognised afterwards.
    """
    if len(text) <= request.chars_max:
        return text
    plain = _redact(text)
    language = workspace.language
    if language is None or request.chars_max < 1 or len(plain) <= request.chars_max:
        return shorten(plain, request.chars_max)
    asked = (text, request.chars_max, request.about, request.instructions, language.identity)
    digest = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
    if use_cache and (known := workspace.shortened.get(digest)) is not None:
        return known
    shortest = await _shorten_by_model(language, plain, request)
    short = shorten(shortest, request.chars_max)
    if shortest != plain:
        workspace.shortened.note(digest, short)
    return short


async def _shorten_by_model(language: LanguageModel, text: str, request: CompressionRequest) -> str:
    """What the model makes of the text, round by round until it fits or gets no shorter."""
    for _ in range(request.rounds_max):
        try:
            shorter = await _shorten_pieces(language, text, request)
        except (MemoryMcpError, ValueError):
            break
        if len(shorter) >= len(text):
            break
        text = shorter
        if len(text) <= request.chars_max:
            break
    return text


async def _shorten_pieces(language: LanguageModel, text: str, request: CompressionRequest) -> str:
    """One round: as many pieces as the model needs, each to its share of the room."""
    pieces = split_pieces(text, LANGUAGE_TURNS_CHARS_MAX)[:COMPRESS_PIECES_MAX]
    about, instructions = _redact(request.about), _redact(request.instructions)
    room = request.chars_max - len(pieces) + 1
    shares = [max(1, room * len(piece) // len(text)) for piece in pieces]
    answers = await asyncio.gather(
        *(
            language.shorten(piece, share, about, instructions)
            for piece, share in zip(pieces, shares, strict=True)
        )
    )
    return "\n".join(_redact(answer) for answer in answers)


def _redact(text: str) -> str:
    """The text without secrets, whatever MEMORY_SECRETS lets be stored."""
    return redact(normalise(text)).text
