"""`memory-mcp add`, `search`, `list`, `show`, `update` and `forget`."""

from argparse import ArgumentParser, Namespace
from typing import Final, get_args

from memory_mcp.cli.arguments import (
    PHASE,
    STATEMENT,
    not_empty,
    number_within,
    parse_past,
    parse_time,
    whole_within,
)
from memory_mcp.cli.commands import Subcommand, in_workspace
from memory_mcp.cli.inputs import UsageError, read_text
from memory_mcp.cli.output import Fields, Output, find_width, fit_lines, results_text
from memory_mcp.domain import limits
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.normalise import cut, put_on_one_line
from memory_mcp.domain.outcomes import CheckpointDetails, Skipped
from memory_mcp.domain.record import MEMORY_KINDS, SEARCHABLE_KINDS, Draft, Kind, Reach, Record
from memory_mcp.domain.search import Filters, SelectionOptions
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import UnknownMemoryError, UnknownTargetError
from memory_mcp.hints import name_id
from memory_mcp.render.outcomes import (
    render_hits,
    render_list,
    render_receipt,
    render_record,
    render_text,
)
from memory_mcp.render.reasons import render_provenance, render_provenance_text
from memory_mcp.text.drafts import WRITABLE_KINDS

_LINE_CHARS_MAX: Final = 100
_LINE_CHARS_MIN: Final = 30
"""Of a memory in a list. Where less has room beside its id, it is wrapped, not cut."""
_LISTED: Final = whole_within(0, limits.LISTED_MEMORIES_MAX)
_KINDS: Final = tuple(kind for kind in get_args(Kind) if kind in SEARCHABLE_KINDS)
_IMPORTANCE: Final = whole_within(limits.IMPORTANCE_MIN, limits.IMPORTANCE_MAX)


async def add(workspace: Workspace, args: Namespace) -> Output:
    """Remember one thing."""
    from memory_mcp.memories import add_memory

    draft = Draft(
        content=read_text(" ".join(args.content)),
        kind=args.kind,
        title=args.title,
        category=args.category,
        tags=tuple(args.tags),
        importance=args.importance,
        pinned=args.pinned,
        expires_at=args.expires,
        phase=args.phase,
        supersedes=tuple(args.supersedes),
        cites=tuple(args.cites),
        reach=args.scope,
    )
    return Output(render_receipt(await add_memory(workspace, draft, gate=args.gate)))


def _add_add_options(parser: ArgumentParser) -> None:
    parser.add_argument("content", nargs="+", type=STATEMENT,
                        help="one self-contained statement; - reads it from stdin")  # fmt: skip
    parser.add_argument("--kind", choices=WRITABLE_KINDS, default="fact", metavar="KIND",
                        help=f"{', '.join(WRITABLE_KINDS)} (default fact)")  # fmt: skip
    parser.add_argument("--title", default="", help="a line of its own, above the text")
    parser.add_argument("--scope", choices=get_args(Reach), default="project",
                        help="user: in every project; team: in every one of it")  # fmt: skip
    parser.add_argument("--importance", type=_IMPORTANCE, default=3, metavar="N",
                        help="1 to 5 (default 3)")  # fmt: skip
    parser.add_argument("--pinned", action="store_true", help="first in the context")
    parser.add_argument("--expires", type=parse_time, metavar="TIME",
                        help="ISO 8601, e.g. 2026-12-31")  # fmt: skip
    parser.add_argument("--supersedes", action="append", default=[], metavar="ID",
                        help="a memory that this one replaces; may be repeated")  # fmt: skip
    parser.add_argument("--cite", action="append", default=[], dest="cites", metavar="PLACE",
                        help="code it rests on: path, path:12-20 or path#name")  # fmt: skip
    parser.add_argument("--gate", action="store_true", help="store it only if it is worth keeping")
    _add_filter_options(parser)


async def search(workspace: Workspace, args: Namespace) -> Output:
    """Find what holds."""
    from memory_mcp.search import search_memories

    if args.key is not None and not args.key.strip():
        raise UsageError("--key is empty. Give a key, or leave it out.")
    filters = Filters(
        category=args.category,
        key=(args.key or "").strip(),
        tags=tuple(args.tags),
        kinds=frozenset({args.kind} if args.kind else ()),
        phase=args.phase,
        branch=BranchName(args.on_branch) if args.on_branch else None,
        reach=args.scope,
        since=args.since,
        until=args.until,
    )
    wish = SelectionOptions(min_score=args.min_score, diverse=args.diverse)
    found = await search_memories(workspace, " ".join(args.query), filters, args.limit, wish)
    return Output(render_hits(found, why=args.why, keys=bool(args.key)), results_text)


def _add_search_options(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", help="words; without any: the newest")
    parser.add_argument("--limit", type=whole_within(1, limits.RESULTS_MAX), default=5,
                        metavar="N", help=f"1 to {limits.RESULTS_MAX} (default 5)")  # fmt: skip
    _add_kind_option(parser)
    parser.add_argument("--key", metavar="KEY",
                        help="that key, or what begins so: 'user:preferences:*'")  # fmt: skip
    _add_filter_options(parser)
    parser.add_argument("--scope", choices=get_args(Reach), help="default: all")
    parser.add_argument("--on-branch", default="", metavar="NAME", help="written on that branch")
    parser.add_argument("--since", type=parse_past, metavar="TIME",
                        help="written then or later: 2026-01-31, 2h (ago)")  # fmt: skip
    parser.add_argument("--until", type=parse_past, metavar="TIME",
                        help="written before that")  # fmt: skip
    parser.add_argument(
        "--min-score", type=number_within(0, 1), default=0.0, metavar="SCORE",
        help="0 to 1; 0.5: likely relevant",
    )  # fmt: skip
    parser.add_argument("--diverse", action="store_true", help="leave out near twins")
    parser.add_argument("--why", action="store_true", help="say what spoke for each result")


def _add_kind_option(parser: ArgumentParser) -> None:
    parser.add_argument("--kind", choices=_KINDS, default="", metavar="KIND",
                        help="fact, decision, preference, …")  # fmt: skip


def _add_filter_options(parser: ArgumentParser) -> None:
    parser.add_argument("--category", default="", metavar="WORDS", help="one word, or a few")
    parser.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG",
                        type=not_empty("give it a word, or leave it out"),
                        help="may be repeated")  # fmt: skip
    parser.add_argument("--phase", type=PHASE, metavar="N", help="the pipeline phase, a number")


async def list_newest(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """List what holds, a line each; checkpoints, which are no memories, only by their kind."""
    from memory_mcp.listing import list_memories

    filters = Filters(
        category=args.category,
        tags=tuple(args.tags),
        kinds=frozenset[Kind]({args.kind}) if args.kind else MEMORY_KINDS,
        phase=args.phase,
        reach=args.scope,
    )
    listed = await list_memories(workspace, filters, args.limit or limits.LISTED_MEMORIES_MAX)
    return listed if isinstance(listed, Skipped) else Output(render_list(listed), _list_text)


def _list_text(fields: Fields) -> str:
    return fit_lines([*map(_list_line, fields["memories"]), fields["message"]])


def _list_line(memory: Fields) -> str:
    """A memory on a line; on a terminal too narrow for that it is wrapped."""
    begins = f"{memory['createdAt'][:10]}  {name_id(memory['memoryId'])}  {memory['kind']:<12}"
    marks = _name_marks(memory)
    room = find_width() - len(begins) - len(marks)
    chars = _LINE_CHARS_MAX if room < _LINE_CHARS_MIN else min(room, _LINE_CHARS_MAX)
    return f"{begins}{cut(_name_memory(memory), int(chars))}{marks}"


def _name_marks(memory: Fields) -> str:
    newer = memory.get("outdated_by")
    marks = (f"outdated by {name_id(newer)}" if newer else "", memory.get("standing", ""))
    return "".join(f" ({mark})" for mark in marks if mark)


def _name_memory(memory: Fields) -> str:
    """Its title and its text, on one line."""
    said = (memory.get("title"), memory["content"])
    return ": ".join(put_on_one_line(text) for text in said if text)


def _add_list_options(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", type=_LISTED, default=20, metavar="N",
                        help="default 20; 0 shows all")  # fmt: skip
    _add_kind_option(parser)
    parser.add_argument("--scope", choices=get_args(Reach), help="default: all")
    _add_filter_options(parser)


async def show(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show a memory or a checkpoint with all that is known of it."""
    from memory_mcp.code import make_marker
    from memory_mcp.search import explain_memory

    found, gone = await _find_shown(workspace, args.id, history=args.why)
    why = ""
    match found:
        case Skipped():
            return found
        case Record():
            standing = make_marker(workspace)(found)
            fields = render_record(found, standing)
            if args.why:
                known = await explain_memory(workspace, found)
                fields["why"] = render_provenance(known)
                why = f"\n\n{render_provenance_text(known)}"
            if gone:
                fields["message"] = gone
                gone += " It said:\n\n"
            elif notes := [*_begin_sentence(standing), *_list_moved(workspace, found)]:
                why = f"\n\n{'; '.join(notes)}.{why}"
        case CheckpointDetails(checkpoint):
            fields = {"checkpointId": checkpoint.id, **checkpoint.list_json()}
    return Output({"success": True, **fields}, lambda _: gone + render_text(found) + why)


def _begin_sentence(text: str) -> list[str]:
    """The text with a capital, unless it begins with a path."""
    first, _, rest = text.partition(" ")
    capital = first[:1].upper() + first[1:] if first.isalpha() else first
    return [f"{capital} {rest}"] if text else []


def _list_moved(workspace: Workspace, record: Record) -> list[str]:
    """The code that it cites and that stands unchanged in another place."""
    from memory_mcp.code import check_cites

    checked = check_cites(workspace, record)
    return [str(each) for each in checked if each.state == "holds" and each.now]


async def _find_shown(
    workspace: Workspace, id_: str, *, history: bool
) -> tuple[Record | CheckpointDetails | Skipped, str]:
    """What has that id, and why it holds no more.

    What a backtrack left is shown too, and with `history` what was replaced or hidden.
    """
    from memory_mcp.branches.get import get_checkpoint, get_left, get_memory, get_replaced

    try:
        return await get_memory(workspace, id_), ""
    except UnknownMemoryError as unknown:
        if history and (old := await get_replaced(workspace, id_)):
            return old, str(unknown)
        if left := await get_left(workspace, id_):
            return left, str(unknown)
        try:
            return await get_checkpoint(workspace, id_), ""
        except UnknownTargetError:
            raise unknown from None


def _add_show_options(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of a memory or checkpoint, or a phase")
    parser.add_argument(
        "--why",
        action="store_true",
        help="where it is from, what it replaced and what contradicts it; of one that was "
        "replaced or hidden also when, by whom and why",
    )


async def update(workspace: Workspace, args: Namespace) -> Output:
    """Replace what a memory says."""
    from memory_mcp.memories import update_memory

    outcome = await update_memory(
        workspace, args.memory_id, read_text(args.content), args.title, args.reason
    )
    return Output(render_receipt(outcome))


def _add_update_options(parser: ArgumentParser) -> None:
    parser.add_argument("memory_id", metavar="ID", help="of the memory")
    parser.add_argument("content", type=STATEMENT, help="the whole new text; - reads it from stdin")
    parser.add_argument("--title", default="", help="the old title goes with the old text")
    parser.add_argument("--reason", default="", help="why the old text is wrong: it is remembered")


async def forget(workspace: Workspace, args: Namespace) -> Output:
    """Erase one memory for good, or hide it."""
    from memory_mcp.memories import forget_memory

    erase = not args.hide
    outcome = await forget_memory(workspace, args.memory_id, args.reason, erase=erase)
    return Output(render_receipt(outcome))


def _add_forget_options(parser: ArgumentParser) -> None:
    parser.add_argument("memory_id", metavar="ID", help="of the memory")
    parser.add_argument("--hide", action="store_true", help="hide it here, keep it restorable")
    parser.add_argument("--reason", default="", help="why it is wrong: it is remembered")


COMMANDS: Final = {
    "add": Subcommand(in_workspace(add), _add_add_options),
    "search": Subcommand(in_workspace(search), _add_search_options),
    "list": Subcommand(in_workspace(list_newest), _add_list_options),
    "show": Subcommand(in_workspace(show), _add_show_options),
    "update": Subcommand(in_workspace(update), _add_update_options),
    "forget": Subcommand(in_workspace(forget), _add_forget_options),
}
