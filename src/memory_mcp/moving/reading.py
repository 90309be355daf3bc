"""Which source something is, told from what is in it, and who reads it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from posixpath import basename
from typing import Final

from memory_mcp.domain.moving import SOURCES, LeftOut, Material, Parsed, Source
from memory_mcp.domain.shown import GENERATED
from memory_mcp.errors import InvalidRequestError
from memory_mcp.moving import basic_memory, claude_mem, mem0, memory_server
from memory_mcp.moving.claude_notes import CLAUDE_FILES, INDEX, read_auto_memory, read_claude_md
from memory_mcp.moving.front_matter import front_matter
from memory_mcp.moving.own import is_head_of_ours, read_own
from memory_mcp.moving.own_text import INDEX_NAME
from memory_mcp.moving.values import parsed_json

_READERS: Final[dict[Source, Callable[[Material], Parsed]]] = {
    "memory-server": memory_server.read_memory_server,
    "claude-code": read_auto_memory,
    "claude-md": read_claude_md,
    "basic-memory": basic_memory.read_basic_memory,
    "mem0": mem0.read_mem0,
    "claude-mem": claude_mem.read_claude_mem,
    "memory-mcp": read_own,
}

_LOOKED_AT: Final = 50
"""Notes of a folder that are looked at to tell whose they are."""


def read_source(material: Material, source: Source | None, name: str) -> Parsed:
    """What is in a source; without its kind, of the kind that it looks like.

    Raises:
        InvalidRequestError: it is none of them, it could be several, or it cannot be read.
    """
    if not material.documents:
        raise InvalidRequestError(f"There is nothing to read in {name!r}: no Markdown, no JSON.")
    material = _without_ours(material)
    if not material.documents:
        raise InvalidRequestError(
            f"{name!r} holds only what this program wrote of its own memories: there is nothing "
            "to take in."
        )
    chosen = source or source_of(material, name)
    return _READERS[chosen](material)


def _without_ours(material: Material) -> Material:
    """Without the pages that this program renders: they repeat what is remembered already."""
    ours = [d for d in material.documents if d.text.startswith(GENERATED)]
    return replace(
        material,
        documents=tuple(d for d in material.documents if d not in ours),
        left_out=(
            *material.left_out,
            *(LeftOut(d.name, "was written by this program, of its own memories") for d in ours),
        ),
    )


def source_of(material: Material, name: str) -> Source:
    """What it looks like.

    Raises:
        InvalidRequestError: like none, or like several; the message names the choices.
    """
    found = _folder(material) if material.folder else _file(material)
    if len(found) == 1:
        return found[0]
    known = "; ".join(f"{source}: {words}" for source, words in SOURCES.items())
    doubt = f"could be {' or '.join(found)}" if found else "looks like no source that is known"
    raise InvalidRequestError(f"{name!r} {doubt}. Say which with --from. Known are {known}.")


def _folder(material: Material) -> Sequence[Source]:
    names = {basename(document.name) for document in material.documents}
    index = next((d for d in material.documents if d.name == INDEX_NAME), None)
    if index is not None and is_head_of_ours(index.text):
        return ("memory-mcp",)
    found: list[Source] = []
    notes = [d for d in material.documents if d.name.casefold().endswith(".md")][:_LOOKED_AT]
    if INDEX in names or any("metadata" in front_matter(note.text)[0] for note in notes):
        found.append("claude-code")
    if any(basic_memory.looks_like_one(note.text) for note in notes):
        found.append("basic-memory")
    return found


def _file(material: Material) -> Sequence[Source]:
    document = material.documents[0]
    name = basename(document.name).casefold()
    if is_head_of_ours(document.text):
        return ("memory-mcp",)
    if name in CLAUDE_FILES:
        return ("claude-md",)
    if name.endswith((".md", ".markdown")):
        return _note(document.text)
    if memory_server.looks_like_one(document.text):
        return ("memory-server",)
    return _json(document.text, name)


def _note(text: str) -> Sequence[Source]:
    if "metadata" in front_matter(text)[0]:
        return ("claude-code",)
    return ("basic-memory",) if basic_memory.looks_like_one(text) else ()


def _json(text: str, name: str) -> Sequence[Source]:
    """What it looks like.

    Raises:
        InvalidRequestError: it begins as JSON does, and breaks off.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if text.lstrip()[:1] in ("{", "[") and not error.msg.startswith("Extra data"):
            parsed_json(text, name)
        return ()
    except (ValueError, RecursionError):
        return ()
    if claude_mem.looks_like_one(value):
        return ("claude-mem",)
    return ("mem0",) if mem0.looks_like_one(value) else ()
