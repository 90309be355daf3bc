"""Strangers: records that came with a repository which the user does not trust.

They lie in a bank of their own with its own index, which only a search reads and marks. So they
enter no context and no profile, and supersede, hide and erase nothing but each other. Once the user
trusts the project they belong to its bank.
"""

from dataclasses import replace
from typing import Final

from memory_mcp.bootstrap.views import render_views
from memory_mcp.domain.ids import MAIN, RecordId
from memory_mcp.domain.limits import STRANGERS_SEARCHED_MAX
from memory_mcp.domain.outcomes import TrustReport
from memory_mcp.domain.record import MEMORY_KINDS
from memory_mcp.domain.search import Filters, Hit, View
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.head import follow_folder_changes, rebuild_head
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Strangers, Workspace
from memory_mcp.errors import InvalidRequestError, StoreError
from memory_mcp.hints import address
from memory_mcp.timeline.moves import fold_moves

STRANGERS_PLACE: Final = "this repository; not written on this machine and not trusted"

_TITLES_MAX: Final = 20
"""Titles that a report names: enough to see whose they are."""

_NOTE: Final = (
    "This repository brought {} that this machine did not write here: a search shows them, marked, "
    "and they count for nothing else until {who} looked at them and run `memory-mcp trust`."
)
_MANY: Final = (
    "This repository brought {} that this machine did not write here. They are too many to be "
    "searched before {who} run `memory-mcp trust`, and count for nothing until then."
)
_SETTINGS: Final = (
    "What .claude/memory.toml sets ({}) counts for nothing until {who} looked at it, as it is now, "
    "and run `memory-mcp trust`."
)
_LINK: Final = (
    "{} is a link, which is not followed: what belongs there is neither read nor kept. The user "
    "moves it away, or names the folder that is meant by MEMORY_DIR or MEMORY_STATE_DIR."
)
_AGAIN: Final = (
    "This project is trusted since this session began: the next one sends it to the cloud, and "
    "`memory-mcp cloud sync --push-all` what was written until then."
)
_NAME: Final = (
    "Nothing of this project goes to the cloud or comes from it: only the repository says that it "
    "is {}. If it is, the user runs `memory-mcp trust`."
)


async def find_strangers(workspace: Workspace) -> Strangers | None:
    """The strangers if there is a visible memory among them; None also if they cannot be read."""
    strangers = workspace.strangers
    if strangers is None:
        return None
    try:
        if strangers.bank.records.changed():
            await _count_strangers(workspace, strangers)
    except StoreError:
        return None
    return strangers if strangers.count else None


async def _count_strangers(workspace: Workspace, strangers: Strangers) -> None:
    bank = strangers.bank
    strangers.timeline, strangers.count = Timeline(), len(await bank.records.ids())
    strangers.searchable = 0 < strangers.count <= STRANGERS_SEARCHED_MAX
    if not strangers.searchable:
        await bank.index.reset()  # records that are trusted by now must not stay here
        return
    await bank.index.catch_up()
    moves = [record async for record in bank.records.scan(await bank.index.moves())]
    strangers.timeline = fold_moves(moves)
    view = make_strangers_view(workspace, strangers)
    strangers.count = await bank.index.count(view, Filters(kinds=MEMORY_KINDS))


def make_strangers_view(workspace: Workspace, strangers: Strangers) -> View:
    """What is visible among the strangers' records, by their own moves."""
    return View(chain=strangers.timeline.chain(MAIN), now=workspace.clock.now())


def mix_strangers_hits(own: list[Hit], theirs: list[Hit], limit: int) -> list[Hit]:
    """Own hits and marked ones of strangers by score; strangers take at most half of the places."""
    share = max(1, limit // 2, limit - len(own))
    marked = [replace(hit, place=STRANGERS_PLACE) for hit in theirs[:share]]
    return sorted([*own[: limit - len(marked)], *marked], key=lambda hit: -(hit.score or 0))


async def describe_strangers(workspace: Workspace) -> tuple[str, ...]:
    """Notes on links, strangers, and what keeps the project from the cloud."""
    strangers = workspace.strangers
    if strangers is None:
        return ()
    who = address("the user has", "you have")
    notes = [_LINK.format(link) for link in strangers.trust.find_links()]
    if waiting := describe_settings(workspace):
        notes.append(waiting)
    if await find_strangers(workspace):
        number = strangers.count
        counted = f"{number} memor{'y' if number == 1 else 'ies'}"
        notes.append((_NOTE if strangers.searchable else _MANY).format(counted, who=who))
    if workspace.user.mirror and not strangers.trust.may_use_cloud():
        notes.append(_NAME.format(strangers.trust.remote))
    elif workspace.user.mirror and not workspace.project.mirror:
        notes.append(_AGAIN)
    return tuple(notes)


def describe_settings(workspace: Workspace) -> str:
    """The note on settings of the project that wait for the user's trust; '' if none do."""
    settings = _list_settings(workspace.strangers) if workspace.strangers else ()
    who = address("the user has", "you have")
    return _SETTINGS.format(", ".join(settings), who=who) if settings else ""


def _list_settings(strangers: Strangers) -> tuple[str, ...]:
    """The keys of the project's file that set nothing in this process, unless trusted since."""
    return () if strangers.trust.trusts_settings() else strangers.settings


async def describe_strangers_once(workspace: Workspace) -> tuple[str, ...]:
    """The same notes, in the first answer of a session alone."""
    strangers = workspace.strangers
    if strangers is None or strangers.mentioned:
        return ()
    notes = await describe_strangers(workspace)
    strangers.mentioned = bool(notes)
    return notes


async def report_trust(workspace: Workspace) -> TrustReport:
    """Whether the project is trusted, and what waits for it.

    Raises:
        InvalidRequestError: there is neither a project nor a cloud.
    """
    mirror = workspace.user.mirror
    cloud = mirror.trust.address if mirror and not mirror.trust.trusted() else ""
    if workspace.strangers is None and mirror:
        return TrustReport(not cloud, "", 0, (), cloud=cloud)
    strangers = _require_strangers(workspace)
    await find_strangers(workspace)
    titles: list[str] = []
    if strangers.count and strangers.searchable:
        view = make_strangers_view(workspace, strangers)
        ids = await strangers.bank.index.find(view, Filters(kinds=MEMORY_KINDS), _TITLES_MAX)
        titles = [r.title or r.content for r in await load_records(strangers.bank, ids)]
    trust = strangers.trust
    trusted = trust.trusted()
    return TrustReport(
        trusted,
        trust.remote,
        strangers.count,
        tuple(titles),
        None if trusted else trust.trusted_remote(),
        tuple(await _find_erased_titles(workspace, strangers)),
        cloud,
        _list_settings(strangers),
    )


async def _find_erased_titles(workspace: Workspace, strangers: Strangers) -> list[str]:
    """Titles of own memories that the strangers' tombstones would erase once trusted."""
    theirs, own = strangers.bank.records, workspace.project.records
    erased: set[RecordId] = set()
    async for record in theirs.scan(await theirs.ids()):
        erased |= set(record.erases)
    there = erased & await own.ids()
    return [record.title or record.content async for record in own.scan(there) if record.recalled]


async def trust_project(workspace: Workspace) -> TrustReport:
    """Trust the project's records from now on, and the cloud's if there is one.

    Raises:
        InvalidRequestError: there is neither a project nor a cloud.
        StoreUnavailableError: it could not be written.
    """
    if workspace.user.mirror:
        workspace.user.mirror.trust.grant()
    if workspace.strangers or not workspace.user.mirror:
        _require_strangers(workspace).trust.grant()
    await follow_folder_changes(workspace)
    await render_views(workspace)
    return await report_trust(workspace)


def note_trust_declined(workspace: Workspace) -> None:
    """Note that the user did not agree, so that this session does not ask again."""
    if workspace.strangers:
        workspace.strangers.asked = True


async def revoke_trust(workspace: Workspace) -> bool:
    """Trust only what this machine wrote from now on; whether that is a change.

    Raises:
        InvalidRequestError: there is no project.
        StoreUnavailableError: it could not be written.
    """
    revoked = _require_strangers(workspace).trust.revoke()
    await follow_folder_changes(workspace)
    await rebuild_head(workspace)
    await render_views(workspace)
    return revoked


def _require_strangers(workspace: Workspace) -> Strangers:
    if workspace.strangers is None:
        raise InvalidRequestError(
            "There is no project here, so nothing came with one. Run this in a project's folder."
        )
    return workspace.strangers
