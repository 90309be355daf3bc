"""What came with a repository: found by a search and marked, and counting for nothing else.

It is a collection of its own, with an index of its own: a stranger's records stand in no context
and no profile, and supersede, hide and erase nothing but each other, because nothing else looks
here.
Once the user trusts the project they belong to its collection, as a teammate's do.
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
from memory_mcp.engine.head import follow_files, rebuild_head
from memory_mcp.engine.workspace import Strangers, Workspace
from memory_mcp.errors import InvalidRequestError, StoreError
from memory_mcp.timeline.moves import fold_moves

PLACE: Final = "this repository; not written on this machine and not trusted"

_TITLES_MAX: Final = 20
"""How many of them are named: enough to see whose they are."""

_NOTE: Final = (
    "This repository brought {} that this machine did not write here: a search shows them, marked, "
    "and they count for nothing else until the user has looked at them and run `memory-mcp trust`."
)
_MANY: Final = (
    "This repository brought {} that this machine did not write here. They are too many to be "
    "searched before the user has run `memory-mcp trust`, and count for nothing until then."
)
_LINK: Final = (
    "{} is a link, which is not followed: what belongs there is neither read nor kept. The user "
    "moves it away, or names the folder that is meant by MEMORY_DIR or MEMORY_STATE_DIR."
)
_AGAIN: Final = (
    "This project is trusted since this session began: the next one sends it to the cloud, and "
    "`memory-mcp sync --push-all` what was written until then."
)
_NAME: Final = (
    "Nothing of this project goes to the cloud or comes from it: only the repository says that it "
    "is {}. If it is, the user runs `memory-mcp trust`."
)


async def present_strangers(workspace: Workspace) -> Strangers | None:
    """The strangers' collection if it holds any visible memory; None if it does not.

    What cannot be looked at is not there: it is not worth an error.
    """
    strangers = workspace.strangers
    if strangers is None:
        return None
    try:
        if strangers.pool.records.changed():
            await _look(workspace, strangers)
    except StoreError:
        return None
    return strangers if strangers.count else None


async def _look(workspace: Workspace, strangers: Strangers) -> None:
    pool = strangers.pool
    strangers.timeline, strangers.count = Timeline(), len(await pool.records.ids())
    strangers.searchable = 0 < strangers.count <= STRANGERS_SEARCHED_MAX
    if not strangers.searchable:
        await pool.index.reset()  # of those that are trusted by now nothing must stay here
        return
    await pool.index.catch_up()
    moves = [record async for record in pool.records.scan(await pool.index.moves())]
    strangers.timeline = fold_moves(moves)
    view = view_on_strangers(workspace, strangers)
    strangers.count = await pool.index.count(view, Filters(kinds=MEMORY_KINDS))


def view_on_strangers(workspace: Workspace, strangers: Strangers) -> View:
    """What holds among the strangers' records, by their own moves."""
    return View(chain=strangers.timeline.chain(MAIN), now=workspace.clock.now())


def as_project(workspace: Workspace, strangers: Strangers) -> Workspace:
    """The workspace in which the strangers' collection stands in the project's place."""
    return replace(workspace, project=strangers.pool)


def with_strangers_hits(own: list[Hit], theirs: list[Hit], limit: int) -> list[Hit]:
    """Own hits and marked ones of strangers by score, who take at most half of the places."""
    share = max(1, limit // 2, limit - len(own))
    marked = [replace(hit, place=PLACE) for hit in theirs[:share]]
    return sorted([*own[: limit - len(marked)], *marked], key=lambda hit: -hit.score)


async def strangers_note(workspace: Workspace) -> tuple[str, ...]:
    """What is to be said of what came with the repository, as long as it makes a difference."""
    strangers = workspace.strangers
    if strangers is None:
        return ()
    notes = [_LINK.format(link) for link in strangers.trust.links()]
    if await present_strangers(workspace):
        number = strangers.count
        counted = f"{number} memor{'y' if number == 1 else 'ies'}"
        notes.append((_NOTE if strangers.searchable else _MANY).format(counted))
    if workspace.user.mirror and not strangers.trust.vouched():
        notes.append(_NAME.format(strangers.trust.remote))
    elif workspace.user.mirror and not workspace.project.mirror:
        notes.append(_AGAIN)
    return tuple(notes)


async def mention_strangers(workspace: Workspace) -> tuple[str, ...]:
    """The same, in the first answer of a session alone."""
    strangers = workspace.strangers
    if strangers is None or strangers.mentioned:
        return ()
    notes = await strangers_note(workspace)
    strangers.mentioned = bool(notes)
    return notes


async def trust_report(workspace: Workspace) -> TrustReport:
    """Whether the project is trusted, and what waits for it.

    Raises:
        InvalidRequestError: there is neither a project nor a cloud, so there is nothing to trust.
    """
    mirror = workspace.user.mirror
    cloud = mirror.trust.address if mirror and not mirror.trust.trusted() else ""
    if workspace.strangers is None and mirror:
        return TrustReport(not cloud, "", 0, (), cloud=cloud)
    strangers = _required(workspace)
    await present_strangers(workspace)
    titles: list[str] = []
    if strangers.count and strangers.searchable:
        view = view_on_strangers(workspace, strangers)
        ids = await strangers.pool.index.find(view, Filters(kinds=MEMORY_KINDS), _TITLES_MAX)
        found = {record.id: record async for record in strangers.pool.records.scan(ids)}
        titles = [found[id_].title or found[id_].content for id_ in ids if id_ in found]
    trust = strangers.trust
    trusted, before = trust.trusted(), trust.trusted_as()
    return TrustReport(
        trusted,
        trust.remote,
        strangers.count,
        tuple(titles),
        None if trusted else before,
        tuple(await _would_erase(workspace, strangers)),
        cloud,
    )


async def _would_erase(workspace: Workspace, strangers: Strangers) -> list[str]:
    """The titles of own memories that strangers' tombstones name: once trusted, they erase them."""
    theirs, own = strangers.pool.records, workspace.project.records
    erased: set[RecordId] = set()
    async for record in theirs.scan(await theirs.ids()):
        erased |= set(record.erases)
    there = erased & await own.ids()
    return [record.title or record.content async for record in own.scan(there) if record.recalled]


async def trust_project(workspace: Workspace) -> TrustReport:
    """Let every valid record of the project count from now on, and of the cloud, if there is one.

    Raises:
        InvalidRequestError: there is neither a project nor a cloud.
        StoreUnavailableError: it could not be written down.
    """
    if workspace.user.mirror:
        workspace.user.mirror.trust.grant()
    if workspace.strangers or not workspace.user.mirror:
        _required(workspace).trust.grant()
    await follow_files(workspace)
    await render_views(workspace)
    return await trust_report(workspace)


def leave_untrusted(workspace: Workspace) -> None:
    """The user was asked and did not say yes: this session does not ask again."""
    if workspace.strangers:
        workspace.strangers.asked = True


async def revoke_trust(workspace: Workspace) -> bool:
    """Let only what this machine wrote count from now on; whether it was otherwise.

    Raises:
        InvalidRequestError: there is no project.
        StoreUnavailableError: it could not be written down.
    """
    revoked = _required(workspace).trust.revoke()
    await follow_files(workspace)
    await rebuild_head(workspace)
    await render_views(workspace)
    return revoked


def _required(workspace: Workspace) -> Strangers:
    if workspace.strangers is None:
        raise InvalidRequestError(
            "There is no project here, so nothing came with one. Run this in a project's folder."
        )
    return workspace.strangers
