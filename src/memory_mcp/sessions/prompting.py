"""What goes with a prompt of the user: the few memories that bear on it, and nothing else.

Called by hooks before the model sees the prompt, so it is looked for here alone: the cloud, and a
server far away that makes vectors, are never asked. A session is given each memory once, and not
what it has read when it began or wrote itself.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from memory_mcp.domain import limits
from memory_mcp.domain.normalise import cut, normalised
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.head import current, view_on
from memory_mcp.engine.reading import hits_of, newest
from memory_mcp.engine.workspace import Pool, ShownMemories, Workspace, reads_refused
from memory_mcp.errors import MemoryMcpError
from memory_mcp.ranking.query import parse_query
from memory_mcp.render.block import Section, render_context
from memory_mcp.search.find import find_here
from memory_mcp.sessions.nudges import brought_up

_HEADING: Final = "From memory, for this prompt"
_UNSPACED: Final = "\u2e80"
"""From here on are the scripts that put no spaces between words."""
_ASKS: Final = ("?", "？", "؟")  # noqa: RUF001  # the full-width one is meant
_LEFT_MAX: Final = 8
"""Memories of a road that was left, by name; the answer says how many more there are."""

_WENT_BACK: Final = (
    "The user went back to an earlier point of this conversation (/rewind). Memory stays as it is "
    "until somebody says otherwise: what this session wrote after that point is named below. If it "
    "no longer holds, ask the user whether to backtrack or to forget it."
)


async def prompt_context(workspace: Workspace, prompt: str, session: str) -> str:
    """What to tell the model with this prompt; nearly always nothing."""
    if reads_refused(workspace):
        return ""
    given = _of_session(workspace, session)
    if workspace.caller.branch != workspace.conversations.begun_on and not given.greeted:
        await note_branch(workspace)  # after `/clear` the session is another, and the branch is not
    view = view_on(workspace, (await current(workspace)).timeline)
    before: list[str] = []
    sections: list[Section] = []
    if left := await _left(workspace, view, session):
        before.append(_WENT_BACK)
        sections.append(Section("Written on the way that was left", facts=left))
    sections += await _greeting(workspace, given)
    found = await _found(workspace, prompt, view, given, session)
    budget = limits.PROMPT_TOKENS_MAX - sum(len(line) for line in before) // limits.CHARS_PER_TOKEN
    block = render_context((), [*sections, Section(_HEADING, found)], budget - 1)
    if not block.shown:
        return ""
    told = [record.id for record in found if record.id in block.text]
    for id_ in told:
        given.note(id_)
    if told and session and not workspace.policy.meta:
        with suppress(MemoryMcpError):  # then only this server knows
            await workspace.inbox.note_given(session, told)
    return "\n".join([*before, block.text])


def _of_session(workspace: Workspace, session: str) -> ShownMemories:
    """What the session was given. Where one client has the server to itself, it is on now."""
    prompts = workspace.conversations.prompts
    prompts.came.set()
    if workspace.caller.conversation == "" and session != prompts.session:
        if prompts.session:
            workspace.conversations.begin_anew(workspace.caller.conversation)
        prompts.session = session
    return prompts.of(session or workspace.caller.conversation or "")


async def note_branch(workspace: Workspace) -> None:
    """Note where the session is: its hooks are other processes, and go where it goes."""
    session = workspace.origin().session
    if session and not workspace.policy.meta:
        with suppress(MemoryMcpError):  # then they stay where the session began
            await workspace.inbox.note_branch(session, workspace.caller.branch)


async def _greeting(workspace: Workspace, given: ShownMemories) -> list[Section]:
    """The nudge that waits, with the session's first prompt; a slow queue is asked again."""
    if given.greeted:
        return []
    try:
        async with asyncio.timeout(limits.PROMPT_NUDGE_SECONDS_MAX):
            sections = await brought_up(workspace, (), limits.PROMPT_TOKENS_MAX)
    except TimeoutError:
        return []
    given.greeted = True
    return sections


async def _found(
    workspace: Workspace, prompt: str, view: View, given: ShownMemories, session: str
) -> Sequence[Record]:
    """The memories that are more likely meant than not, best first."""
    text = normalised(prompt[: limits.PROMPT_CHARS_MAX]).strip()
    if text.startswith(("/", "!", "#")):  # a command, a shell's line, a note for CLAUDE.md
        return ()
    says = _says(text, view.now)
    if says == "little":
        return ()
    matches = await find_here(_here_alone(workspace), text, view, Filters())
    shown = await workspace.inbox.shown(session) if session else frozenset[str]()
    fits = [place for place in matches.ranked if place.score >= limits.PROMPT_SCORE_MIN]
    if says == "few" and (len(fits) > 1 or any(f.score < limits.PROMPT_FEW_MIN for f in fits)):
        return ()
    likely = [place for place in fits if place.id not in given and place.id not in shown]
    hits, _ = await hits_of(likely, matches.home, view, 2 * limits.PROMPT_HITS_MAX)
    own = workspace.named(session) or workspace.origin().session
    records = [hit.record for hit in hits if not own or hit.record.origin.session != own]
    records.sort(key=lambda record: record.kind == "episode")  # what holds says more than a story
    return records[: limits.PROMPT_HITS_MAX]


def _says(text: str, now: datetime) -> Literal["little", "few", "enough"]:
    """Whether it has enough words that carry a meaning; a name may be several terms.

    A whole question may have few of them, if what it asks for is one memory alone.
    """
    words = len(text.split()) >= limits.PROMPT_TERMS_MIN or any(c >= _UNSPACED for c in text)
    asked = parse_query(text, now)
    if not words or asked.only_stop_words:
        return "little"
    if len(asked.terms) >= limits.PROMPT_TERMS_MIN:
        return "enough"
    few = text.endswith(_ASKS) and len(asked.terms) >= limits.PROMPT_TERMS_FEW
    return "few" if few else "little"


def _here_alone(workspace: Workspace) -> Workspace:
    """The workspace without an embedder that is elsewhere."""

    def here(pool: Pool) -> Pool:
        there = pool.meaning is not None and not pool.meaning.embedder.here
        return replace(pool, meaning=None) if there else pool

    return replace(workspace, project=here(workspace.project), user=here(workspace.user))


async def _left(workspace: Workspace, view: View, session: str) -> list[str]:
    """What the session wrote after the point that the user went back to; told once."""
    if not session or workspace.policy.meta:
        return []
    try:
        went = await workspace.inbox.went_back(session)
    except MemoryMcpError:  # it is told with the next prompt
        return []
    if went is None or not isinstance(went.since, datetime):
        return []
    mine = Filters(session=workspace.named(session), since=went.since)
    records = (await newest(workspace, view, mine, limits.RESULTS_MAX)).records
    named = [f"{_name(record)} [{record.id}]" for record in records[:_LEFT_MAX]]
    return [*named, "… and more"] if len(records) > _LEFT_MAX else named


def _name(record: Record) -> str:
    return cut(record.title or " ".join(record.content.split()), 60)  # to know it by
