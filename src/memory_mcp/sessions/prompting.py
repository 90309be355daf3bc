"""Adds to a prompt of the user the few memories that bear on it.

A hook waits for it, so it searches locally: it asks neither the cloud nor a remote embedder. It
gives a session each memory once, and none that the session has read or written itself.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from memory_mcp.code import make_marker
from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import normalise
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, RankedCandidate, View
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.index_sync import takes_partial_answers
from memory_mcp.engine.members import present_records
from memory_mcp.engine.records import load_hits
from memory_mcp.engine.workspace import MemoryBank, ShownMemories, Workspace, refuse_reads
from memory_mcp.errors import MemoryMcpError
from memory_mcp.learnt import Features
from memory_mcp.patterns import compile_later
from memory_mcp.ports.models import Embedder
from memory_mcp.profile import read_profile
from memory_mcp.ranking.bearing import (
    WORDS,
    Meanings,
    choose_bearing,
    describe_candidates,
    describe_prompt,
    find_subjects,
    list_readers,
    load_learnt,
    weigh_words,
)
from memory_mcp.ranking.query import parse_query
from memory_mcp.render.block import Section, render_context
from memory_mcp.render.profile import render_profile_line
from memory_mcp.search.local import Matches, find_local, put_elsewhere_behind
from memory_mcp.search.truths import load_by_truth
from memory_mcp.sessions.capture import (
    bring_up_captures,
    capture_heard,
    note_prompt,
)
from memory_mcp.sessions.nudges import bring_up_nudge
from memory_mcp.sessions.rewinds import take_rewinds
from memory_mcp.text.capture import retracts
from memory_mcp.text.prompts import sort_prompt, states_norm
from memory_mcp.words.terms import split_terms

_HEADING: Final = "From memory, for this prompt"
_FILE: Final = compile_later(
    r"(?<![\w.@-])(?![A-Z]\w*\.js\b)(?:[\w-]{3,}(?:\.\w+)*\.[A-Za-z]\w{0,9}|\w+_\w+)\b(?![.\w])"
)
"""The name of a file, a field or a column; "Node.js" is none."""
_BY_WORDS_MIN: Final = 0.7
"""From this likelihood on the words alone show a memory where the model shows none."""
_OVERLOOKED_MAX: Final = 0.6
"""From this likelihood on the model has seen what it does not show: the words are not asked."""
_NAMED_MAX: Final = 2
"""Words that say to what something is done: who says more means more than the act."""
_RULES: Final = ("norm", "convention", "preference", "lesson")
"""The signs of a memory that says what is to be done."""
_UNSPACED: Final = "\u2e80"
"""The scripts from here on put no spaces between words."""


@takes_partial_answers
async def prompt_context(
    workspace: Workspace, prompt: str, session: str, transcript: str = ""
) -> str:
    """The text to put before this prompt; nearly always empty."""
    if refuse_reads(workspace):
        return ""
    shown = _load_shown(workspace, session, transcript)
    if workspace.caller.branch != workspace.conversations.begun_on and not shown.greeted:
        await note_branch(workspace)  # `/clear` began another session on the same branch
    if unsaid := retracts(prompt):  # then nothing of what it takes back is named
        note_prompt(workspace, prompt, session, transcript)
    await _finish_captures(workspace)
    timeline = (await load_head(workspace)).timeline
    view = make_view(workspace, timeline)
    before = workspace.git.take_notes() if workspace.git else []
    sections: list[Section] = []
    said, left = await take_rewinds(workspace, session)
    if said:
        before.append(said)
        sections.append(Section("Written on the way that was left", facts=left))
        view = make_view(workspace, (await load_head(workspace)).timeline)
    sections += await _greet(workspace, shown)
    sections += await bring_up_captures(workspace, timeline)
    if not unsaid:
        note_prompt(workspace, prompt, session, transcript)
    found = await _find_likely(workspace, prompt, view, shown, session)
    budget = limits.PROMPT_TOKENS_MAX - sum(len(line) for line in before) // limits.CHARS_PER_TOKEN
    sections = [*sections, Section(_HEADING, found)]
    user = await _describe_user(workspace, view) if found or sections[:-1] else ""
    block = render_context((), sections, budget - 1, user=user, mark=make_marker(workspace))
    if not block.shown:
        return "\n".join(before)
    given = [record.id for record in found if record.id in block.text]
    for id_ in given:
        shown.note(id_)
    if given and session and not workspace.policy.meta:
        with suppress(MemoryMcpError):  # then only this server knows
            await workspace.inbox.note_given(session, given)
    return "\n".join([*before, block.text])


async def _finish_captures(workspace: Workspace) -> None:
    """Have what was said before captured, if that is not done yet; a slow one is not waited for."""
    with suppress(TimeoutError):
        async with asyncio.timeout(limits.PROMPT_NUDGE_SECONDS_MAX):
            await capture_heard(workspace)


async def _describe_user(workspace: Workspace, view: View) -> str:
    """The profile line, which heads what a prompt is given."""
    with suppress(MemoryMcpError):  # the line is a courtesy
        return render_profile_line(await read_profile(workspace, view))
    return ""


def _load_shown(workspace: Workspace, session: str, transcript: str) -> ShownMemories:
    """What the session was shown. It becomes the current one if one client owns the server."""
    prompts = workspace.conversations.prompts
    prompts.came.set()
    if workspace.caller.conversation == "" and session != prompts.session:
        if prompts.session:
            workspace.conversations.begin_anew(workspace.caller.conversation)
        prompts.session = session
    if workspace.caller.conversation == "":
        prompts.watched = transcript
    return prompts.of(session or workspace.caller.conversation or "")


async def note_branch(workspace: Workspace) -> None:
    """Note the session's branch for its hooks, which are other processes."""
    session = workspace.origin().session
    if session and not workspace.policy.meta:
        with suppress(MemoryMcpError):  # then they stay where the session began
            await workspace.inbox.note_branch(session, workspace.caller.branch)


async def _greet(workspace: Workspace, shown: ShownMemories) -> list[Section]:
    """The waiting nudge, with the session's first prompt; a slow queue is asked again later."""
    if shown.greeted:
        return []
    try:
        async with asyncio.timeout(limits.PROMPT_NUDGE_SECONDS_MAX):
            sections = await bring_up_nudge(workspace, (), limits.PROMPT_TOKENS_MAX)
    except TimeoutError:
        return []
    shown.greeted = True
    return sections


async def _find_likely(
    workspace: Workspace, prompt: str, view: View, shown: ShownMemories, session: str
) -> Sequence[Record]:
    """The memories that the prompt more likely means than not, best first."""
    text = normalise(prompt[: limits.PROMPT_CHARS_MAX]).strip()
    if text.startswith(("/", "!", "#")):  # a command, a shell's line, a note for CLAUDE.md
        return ()
    sort = sort_prompt(text)
    instructs = sort == "instruction"
    words = _measure_prompt(text, view.now, instructs=instructs)
    if sort == "aside" or words == "little":
        return ()
    local = _keep_embedder(workspace, _reads_instructions if instructs else _is_here)
    matches = await find_local(local, text, view, Filters())
    matches = await put_elsewhere_behind(matches, view)
    read = await workspace.inbox.shown(session) if session else frozenset[str]()
    fits = [place for place in matches.ranked if place.agreement >= limits.PROMPT_SCORE_MIN]
    if instructs:
        matches, fits = await _find_bearing_either(workspace, matches, text, view)
    elif words == "few" and (
        len(fits) > 1 or any(f.agreement < limits.PROMPT_FEW_MIN for f in fits)
    ):
        return ()
    likely = [place for place in fits if place.id not in shown and place.id not in read]
    many = 2 * limits.PROMPT_HITS_MAX
    hits, _ = await load_by_truth(
        workspace, matches, likely, text, view, filters=Filters(), limit=many
    )
    holding = present_records(workspace, (h.excerpt for h in hits if h.outdated_by is None))
    unseen = [record for record in holding if record.id not in shown and record.id not in read]
    own = workspace.named(session) or workspace.origin().session
    records = [record for record in unseen if not own or record.origin.session != own]
    records.sort(key=lambda record: record.kind == "episode")  # a fact says more than an episode
    return records[: limits.PROMPT_HITS_MAX]


async def _find_bearing_either(
    workspace: Workspace, matches: Matches, text: str, view: View
) -> tuple[Matches, list[RankedCandidate]]:
    """The one that bears on an instruction by meaning, or else clearly by its words alone.

    A model that knows the language or the field little overlooks what the words say. What it
    holds for rather likely it has not overlooked.
    """
    best, likely = await find_likeliest(matches, text, view)
    reader = _name_reader(matches)
    if likely >= load_learnt()[reader]["from"]:
        return matches, best
    if reader == WORDS or likely >= _OVERLOOKED_MAX:
        return matches, []
    by_words = await find_local(_keep_embedder(workspace, _is_none), text, view, Filters())
    by_words = await put_elsewhere_behind(by_words, view)
    best, likely = await find_likeliest(by_words, text, view)
    return by_words, best if likely >= _BY_WORDS_MIN else []


async def find_likeliest(
    matches: Matches, text: str, view: View
) -> tuple[list[RankedCandidate], float]:
    """The one that likeliest bears on an instruction, and how likely.

    What alone names the same file does, and the one rule for what is done to nothing known.
    """
    if named := _find_named(matches, text):
        return named, 1.0
    described, none = await describe_instruction(matches, text, view)
    if ruling := _find_ruling(matches, described):
        return [place for place in matches.every if place.id == ruling], 1.0
    reader = _name_reader(matches)
    chosen = choose_bearing(described, none, _weigh_meanings(matches, described, reader), reader)
    if chosen is None:
        return [], 0.0
    return [place for place in matches.every if place.id == chosen[0]], chosen[1]


def _find_named(matches: Matches, text: str) -> list[RankedCandidate]:
    """The memory that names a file or column of the text, if no other one does."""
    for name in _FILE.findall(text):
        terms = frozenset(split_terms(name))
        bodies = ((place, matches.fields[place.id].body.split()) for place in matches.every)
        naming = [place for place, body in bodies if len(terms) > 1 and terms.issubset(body)]
        if len(naming) == 1:
            return naming
    return []


def _find_ruling(matches: Matches, described: Mapping[RecordId, Features]) -> RecordId | None:
    """The one rule for an act of whose object no memory knows anything: "install lodash"."""
    acts = [term for term in matches.question.row if find_subjects((term,))]
    others = [term for term in matches.question.row if term not in acts]
    if len(acts) != 1 or not 0 < len(others) <= _NAMED_MAX:  # as most: it spares the rest
        return None
    bodies = {id_: frozenset(matches.fields[id_].body.split()) for id_ in described}
    if not frozenset[str]().union(*bodies.values()).isdisjoint(others):
        return None
    subjects = find_subjects(acts)
    ruling = [
        id_
        for id_, each in described.items()
        if any(each.get(sign) for sign in _RULES) and subjects & find_subjects(bodies[id_])
    ]
    return ruling[0] if len(ruling) == 1 else None


def _weigh_meanings(matches: Matches, candidates: Collection[RecordId], reader: str) -> Meanings:
    """What the meanings of prompt and candidates add, by whoever read them."""
    if reader == WORDS:
        return weigh_words(matches.question)
    from memory_mcp.ranking.bearing_vectors import weigh_vectors  # noqa: PLC0415  # numpy

    wholes = {id_: matches.wholes[id_] for id_ in candidates if id_ in matches.wholes}
    return weigh_vectors(matches.asked, wholes, reader)


def _name_reader(matches: Matches) -> str:
    """Who read these memories: the kind of model, or words."""
    banks = matches.home.values() if matches.wholes else ()
    return next((_name_kind(bank.meaning.embedder) for bank in banks if bank.meaning), WORDS)


async def describe_instruction(
    matches: Matches, text: str, view: View
) -> tuple[dict[RecordId, Features], Features]:
    """What speaks for each of the first candidates, and what for none of them."""
    first = matches.every[: limits.PROMPT_COMPARED_MAX]
    hits, _ = await load_hits(first, matches.home, view, len(first))
    states = {
        hit.record.id: {hit.record.kind: 1.0, "norm": float(states_norm(hit.record.content))}
        for hit in hits
    }
    read = [place for place in first if place.id in states]
    return (
        describe_candidates(matches.question, read, matches.fields, states),
        describe_prompt(matches.question, text, asks="?" in text),
    )


def _measure_prompt(
    text: str, now: datetime, *, instructs: bool
) -> Literal["little", "few", "enough"]:
    """How many meaningful words the text has.

    Few of them do for an instruction, and for a whole question that matches one memory alone. One
    is enough of an instruction if it names a step of the work: "commit this".
    """
    words = len(text.split()) >= limits.PROMPT_TERMS_FEW or any(c >= _UNSPACED for c in text)
    question = parse_query(text, now)
    if not words or question.only_stop_words:
        return "little"
    if len(question.terms) >= limits.PROMPT_TERMS_MIN:
        return "enough"
    step = instructs and find_subjects(term.text for term in question.terms)
    return "few" if step or len(question.terms) >= limits.PROMPT_TERMS_FEW else "little"


def _is_here(embedder: Embedder) -> bool:
    return embedder.here


def _is_none(_: Embedder) -> bool:
    return False


def _reads_instructions(embedder: Embedder) -> bool:
    """Whether figures were learnt of it: how near two texts are is another figure for each."""
    return embedder.here and _name_kind(embedder) in list_readers()


def _name_kind(embedder: Embedder) -> str:
    return embedder.identity.partition("/")[0]


def _keep_embedder(workspace: Workspace, fits: Callable[[Embedder], bool]) -> Workspace:
    """The workspace without an embedder that does not fit."""

    def keep(bank: MemoryBank) -> MemoryBank:
        unfit = bank.meaning is not None and not fits(bank.meaning.embedder)
        return replace(bank, meaning=None) if unfit else bank

    return replace(
        workspace,
        project=keep(workspace.project),
        team=keep(workspace.team) if workspace.team else None,
        user=keep(workspace.user),
    )
