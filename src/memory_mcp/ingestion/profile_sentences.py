"""The sentences of a text in which somebody speaks for themselves, outright."""

import re
from collections.abc import Iterator
from typing import Final

from memory_mcp.ingestion.sentences import plain_quotes, sentences, without_code

__all__ = ["said_outright"]

_SENTENCE_CHARS_MAX: Final = 400
"""A longer one is a document's, and would take the patterns long."""

_STAGED: Final = re.compile(
    r"\b(?:translat(?:e|ion)|übersetz\w*|sample text|example sentences?|lyrics|role-?play\w*|"
    r"pretend\w*|imagine|fictional|persona|test data|fixtures?|placeholder|dummy|lorem|"
    r"beispielsatz|stell dir vor|rollenspiel|testdaten)\b",
    re.IGNORECASE,
)
_HEARSAY: Final = re.compile(
    r"\b(?:said|says|told|tells|wrote|writes|asked|asks|claim(?:s|ed)|replied|reads|sings?|sang|"
    r"quot(?:e|es|ed)|for example|for instance|sagte?|meinte|schrieb|fragte|behauptete?|erzählte?|"
    r"zum beispiel|lautet)\b|\be\.g\.|\bz\.b\.|\ufffc",
    re.IGNORECASE,
)
_OURS: Final = re.compile(
    r"\b(?:that said|(?:the |this |our )?user (?:said|says|told me|mentioned)(?: that)?)\b",
    re.IGNORECASE,
)
_SPEAKER: Final = re.compile(r"[A-ZÀ-Þ]\w*(?: [A-ZÀ-Þ]\w*)?(?: \([^)]*\))?:\s")
_FRAMED: Final = re.compile(
    r"[^.!?:]{0,60}\b(?:prompts?|signatures?|templates?|e-?mails?|mails?|messages?|scripts?|"
    r"characters?|examples?|quotes?|outputs?|inputs?|drafts?|novel|story|scene|dialogue|chapter|"
    r"demo|vorlage|signatur|beispiel|roman|geschichte|figur)\b[^.!?:]{0,40}:(?=\s|$)\s*",
    re.IGNORECASE,
)
"""What a text is announced as that speaks for nobody, or for somebody else."""
_TITLES: Final = re.compile(
    r"(?:note|user|human|me|update|remember|fyi|important|info|profile|correction|news|hinweis|"
    r"about me|reminder|wichtig|merke|background|personal|preference|preferences|summary|nutzer):"
    r"\s",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(
    r"\"([^\"\n]{0,400})\"|[»«]([^»«\n]{0,400})[»«]"
    r"|(?<!\w)'([^'\n]{3,400})'(?!\w)|`([^`\n]{0,400})`"
)
_PROPER: Final = re.compile(r"[A-ZÀ-Þ][\w-]*(?: [A-ZÀ-Þ][\w-]*)?")
_HOLE: Final = "\ufffc"  # stands for what was said by somebody else


def said_outright(text: str) -> Iterator[str]:
    """The sentences said outright: no code, no quote, no other speaker's turn, no question."""
    if _STAGED.search(text):
        return
    plain = plain_quotes(without_code(text))
    plain = plain.replace("I've ", "I have ").replace("I'd ", "I would ")
    plain = _QUOTED.sub(_unquoted, plain)
    for line in plain.splitlines():
        stripped = line.strip()
        if stripped.startswith(">"):
            continue
        if framed := _FRAMED.match(stripped):
            if framed.end() == len(stripped):  # all that follows is in it
                return
            continue
        if _SPEAKER.match(stripped) and not _TITLES.match(stripped):
            continue
        for whole in sentences(stripped):
            if len(whole) > _SENTENCE_CHARS_MAX or whole.rstrip("\"')]}*_").endswith("?"):
                continue
            if not _HEARSAY.search(_OURS.sub("", whole)):
                yield whole


def _unquoted(found: re.Match[str]) -> str:
    """A name in quotes is a name; anything longer was said by somebody, or is code."""
    inside = next((part for part in found.groups() if part is not None), "")
    return inside if _PROPER.fullmatch(inside) else _HOLE
