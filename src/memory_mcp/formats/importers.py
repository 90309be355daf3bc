"""Find out which importer reads a source, and let it read."""

from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from memory_mcp.domain.sessions import PAGE_MARK
from memory_mcp.domain.transfer import LeftOutItem, ParsedSource, SourceMaterial
from memory_mcp.errors import InvalidRequestError
from memory_mcp.formats.sources import OWN_EXPORT, SOURCES
from memory_mcp.formats.values import is_markdown, refuse_broken_json


class Importer(Protocol):
    """A module of this package that reads the files of one program."""

    def matches(self, material: SourceMaterial) -> bool:
        """Whether the file or folder looks like one of that program's."""
        ...

    def read(self, material: SourceMaterial) -> ParsedSource:
        """Every memory in it, and what is left out; InvalidRequestError if it cannot be read."""
        ...


def read_source(material: SourceMaterial, source: str | None, name: str) -> ParsedSource:
    """Read a source; without its kind, as the kind that it looks like.

    Raises:
        InvalidRequestError: it looks like none or like several, or cannot be read.
    """
    if not material.documents:
        raise InvalidRequestError(f"There is nothing to read in {name!r}: no Markdown, no JSON.")
    material = _drop_own_pages(material)
    if not material.documents:
        raise InvalidRequestError(
            f"{name!r} holds only what this program wrote of its own memories: there is nothing "
            "to take in."
        )
    if source not in (None, OWN_EXPORT) and _load(OWN_EXPORT).matches(material):
        raise InvalidRequestError(
            f"{name!r} is an export of memory-mcp. Leave --from out, or say --from {OWN_EXPORT}."
        )
    return _load(source or _identify(material, name)).read(material)


def _load(source: str) -> Importer:
    return cast("Importer", import_module(f"memory_mcp.formats.{SOURCES[source].module}"))


def _drop_own_pages(material: SourceMaterial) -> SourceMaterial:
    """Leave out the pages that this program renders: they repeat memories that are here."""
    pages = [d for d in material.documents if d.text.startswith(PAGE_MARK)]
    reason = "was written by this program, of its own memories"
    return replace(
        material,
        documents=tuple(d for d in material.documents if d not in pages),
        left_out=(*material.left_out, *(LeftOutItem(d.name, reason) for d in pages)),
    )


def _identify(material: SourceMaterial, name: str) -> str:
    """The kind of source that the material looks like; a folder must look like one only."""
    if _load(OWN_EXPORT).matches(material):
        return OWN_EXPORT
    found: list[str] = []
    for source in SOURCES:
        if source != OWN_EXPORT and _load(source).matches(material):
            found.append(source)
            if not material.folder:
                break
    if len(found) == 1:
        return found[0]
    if not material.folder and not is_markdown(material.documents[0].name):
        refuse_broken_json(material.documents[0])
    known = "; ".join(f"{source}: {each.title}" for source, each in SOURCES.items())
    doubt = f"could be {' or '.join(found)}" if found else "looks like no source that is known"
    raise InvalidRequestError(f"{name!r} {doubt}. Say which with --from. Known are {known}.")
