"""The Python API: the memory of a project, for programs.

    async with Memory.open("path/to/project") as memory:
        await memory.add_memory("Orders live in PostgreSQL because the reports join them.")
        found = await memory.at("experiment").search_memories("where are orders stored?")

The methods do what the tools of the same names do, and return their outcomes as values. They ask
nobody: a program that needs a user's approval asks first. Bad input raises `InvalidRequestError`,
whose message names the value, the choices and the next step.

The methods `mem_…` are those of a program that searches a tree: a node is a branch, and each of
these calls names its node, or means the branch of this value.

    with Memory.open_sync("path/to/project") as memory:
        memory.mem_node_fork(None, "node 3")
        memory.mem_core_set("goal", "0.95", branch_id="node 3")

`open_sync` is for scripts and worker processes: the same methods without `await`.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast, get_args

from anyio.from_thread import start_blocking_portal

from memory_mcp import bootstrap, branches, layers, memories, search, sessions
from memory_mcp.api.final import FINAL_JSON, FINAL_MARKDOWN, export_final_memory
from memory_mcp.api.sync import SyncMemory
from memory_mcp.build import build_resource_files, open_workspace
from memory_mcp.config.load import load_settings
from memory_mcp.config.settings import SETTINGS, parse_settings
from memory_mcp.config.values import resolve_folder
from memory_mcp.domain.captures import Capture, CaptureReport, SuggestionsDecided
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.layers import (
    ArchivalRecord,
    ArchivalSearch,
    ArchivalUpdate,
    ArchivalWrite,
    Consolidate,
    CoreChange,
    CoreDelete,
    CoreSet,
    LayerReceipt,
    LayerScope,
    Meta,
    NodeDiscarded,
    NodeForked,
    NodeJoined,
    NodeView,
    Prefer,
    RecallAppend,
    RecallEvent,
    RecallEvict,
    RecallSearch,
    UpdatesApplied,
    Write,
)
from memory_mcp.domain.limits import (
    COMPRESS_ROUNDS_DEFAULT,
    IMPORTANCE_DEFAULT,
    RENDER_CHARS_DEFAULT,
    RESULTS_DEFAULT,
)
from memory_mcp.domain.outcomes import (
    AddOutcome,
    BacktrackOutcome,
    BranchReady,
    CheckpointOutcome,
    HeadReport,
    MemoryForgotten,
    MovePreview,
    PointComparison,
    SearchResults,
    Skipped,
)
from memory_mcp.domain.record import Draft, Kind, Reach, assume_utc
from memory_mcp.domain.resources import ResourceSnapshot, UsageType
from memory_mcp.domain.search import Filters, SelectionOptions
from memory_mcp.domain.sessions import Turn
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.render.block import Block
from memory_mcp.render.node import RenderLog
from memory_mcp.text.drafts import check_branch

_CHOICES_SHOWN = 5
_NO_FILTERS = Filters()
_NO_OPTIONS = SelectionOptions()


class Memory:
    """The memory of one project, as one branch sees it. Get it from `Memory.open`."""

    def __init__(self, workspace: Workspace, closed: asyncio.Event, folder: Path) -> None:
        self._open_workspace = workspace
        self._closed = closed
        self._folder = folder

    @property
    def _workspace(self) -> Workspace:
        if self._closed.is_set():
            raise InvalidRequestError(
                "This memory is closed. Use it within `async with Memory.open(…)`, or within `with "
                "Memory.open_sync(…)`."
            )
        return self._open_workspace

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        folder: str | os.PathLike[str] = ".",
        settings: Mapping[str, str] | None = None,
    ) -> AsyncGenerator["Memory"]:
        """Open the memory of the project in `folder`; it is closed at the end.

        `settings` are named as in the environment (`MEMORY_PROVIDER`, …) and go before it. Rendered
        files follow what is written, as beside a server.

        Raises:
            InvalidRequestError: `folder` is no folder, or a setting is unknown or wrong.
        """
        settings = settings or {}
        for name in settings:
            _require_one_of("setting", name, SETTINGS)
        parse_settings(settings)
        project = resolve_folder("folder", os.fspath(folder))
        if not project.is_dir():
            raise InvalidRequestError(f"{str(folder)!r} is no folder. Name one that exists.")
        loaded = load_settings(overrides=settings, project=project)
        async with open_workspace(loaded.settings) as built:
            closed = asyncio.Event()
            rendering = asyncio.create_task(bootstrap.keep_rendered(built.workspace, closed))
            following = asyncio.create_task(built.keep_following(closed))
            try:
                yield cls(built.workspace, closed, project)
            finally:
                closed.set()
                await rendering
                await following

    @classmethod
    @contextmanager
    def open_sync(
        cls,
        folder: str | os.PathLike[str] = ".",
        settings: Mapping[str, str] | None = None,
    ) -> Generator[SyncMemory]:
        """What `open` gives, without `await`: its event loop runs in a thread of its own.

        Raises:
            InvalidRequestError: `folder` is no folder, or a setting is unknown or wrong.
        """
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(cls.open(folder, settings)) as memory,
        ):
            yield SyncMemory(memory, portal)

    @property
    def branch(self) -> str:
        """The branch that this value reads and writes."""
        return self._workspace.caller.branch

    def at(self, branch: str) -> "Memory":
        """The same memory as another branch sees it. Nobody is moved by this.

        Raises:
            InvalidRequestError: no branch can have this name.
        """
        return Memory(self._workspace.at(check_branch(branch)), self._closed, self._folder)

    async def add_memory(  # the fields of a memory
        self,
        content: str,
        *,
        kind: Kind = "fact",
        title: str = "",
        category: str = "",
        tags: Sequence[str] = (),
        importance: int = IMPORTANCE_DEFAULT,
        pinned: bool = False,
        expires_at: datetime | None = None,
        phase: int | None = None,
        supersedes: Sequence[str] = (),
        cites: Sequence[str] = (),
        scope: Reach = "project",
    ) -> AddOutcome:
        """Remember one self-contained statement of at most 8,000 characters.

        A time without a zone is UTC.
        """
        _require_one_of("scope", scope, get_args(Reach))
        draft = Draft(
            content=content,
            kind=kind,
            title=title,
            category=category,
            tags=_as_tuple("tags", tags),
            importance=importance,
            pinned=pinned,
            expires_at=assume_utc(expires_at),
            phase=phase,
            supersedes=_as_tuple("supersedes", supersedes),
            cites=_as_tuple("cites", cites),
            reach=scope,
        )
        return await memories.add_memory(self._workspace, draft)

    async def search_memories(
        self,
        query: str = "",
        limit: int = RESULTS_DEFAULT,
        filters: Filters = _NO_FILTERS,
        options: SelectionOptions = _NO_OPTIONS,
    ) -> SearchResults | Skipped:
        """The visible memories that match best, at most ten; without a query, the newest."""
        return await search.search_memories(self._workspace, query, filters, limit, options)

    async def memory_context(
        self, task: str = "", budget_tokens: int | None = None
    ) -> Block | Skipped:
        """What matters now, or for the task, within the budget (characters / 4)."""
        return await sessions.memory_context(self._workspace, task, budget_tokens)

    async def memory_head(self) -> HeadReport | Skipped:
        """Where the project stands: checkpoints, branches, left lines."""
        return await branches.report_head(self._workspace)

    async def update_memory(
        self, memory_id: str, content: str, *, title: str = "", reason: str = ""
    ) -> AddOutcome:
        """Replace what a memory says. A backtrack brings the old text back."""
        return await memories.update_memory(self._workspace, memory_id, content, title, reason)

    async def forget_memory(
        self, memory_id: str, *, reason: str = "", erase: bool = True
    ) -> MemoryForgotten | Skipped:
        """Erase a memory everywhere and for good, or (`erase=False`) hide it from here on."""
        return await memories.forget_memory(self._workspace, memory_id, reason, erase=erase)

    async def capture_turns(self, turns: Sequence[Turn]) -> CaptureReport | Skipped:
        """Keep or suggest what the user's last turns say that is worth it (MEMORY_CAPTURE)."""
        return await sessions.capture_turns(self._workspace, turns)

    async def list_suggestions(self) -> tuple[Capture, ...] | Skipped:
        """What was captured and waits for the user's word."""
        return await sessions.list_suggestions(self._workspace)

    async def decide_suggestions(
        self, only: str = "", *, keep: bool
    ) -> SuggestionsDecided | Skipped:
        """Keep or drop what the user was shown of it; `only` is a part of the one that is meant."""
        return await sessions.decide_suggestions(self._workspace, only, keep=keep)

    async def checkpoint(
        self,
        summary: str,
        phase: int | None = None,
        *,
        again: bool = False,
        cites: Sequence[str] = (),
    ) -> CheckpointOutcome:
        """Seal everything up to here as a restore point. `again` seals a phase once more.

        `cites` are places in the code that it rests on: a path, `path:12-20` or `path#name`.
        """
        return await branches.checkpoint(
            self._workspace, summary, phase, again=again, approval="approved",
            cites=_as_tuple("cites", cites),
        )  # fmt: skip

    async def compare_points(self, a: str, b: str = "head") -> PointComparison | Skipped:
        """What was known at one point of the timeline and not at the other.

        A point is a checkpoint, phase, left line, branch, `head`, `start`, or a time: "2026-01-31",
        or "2h" for two hours ago.
        """
        return await branches.compare_points(
            self._workspace, _require_text("a", a), _require_text("b", b)
        )

    async def preview_backtrack(self, to: str) -> MovePreview | Skipped:
        """What going to this checkpoint, phase or left line would hide. Moves nothing."""
        return await branches.preview_backtrack(self._workspace, to)

    async def backtrack(
        self, to: str, mode: branches.Choice = "continue", *, lesson: str = ""
    ) -> BacktrackOutcome:
        """Go back to a checkpoint or phase, or restore a left line.

        `continue` hides what came after; `forget` also erases it everywhere.
        """
        _require_one_of("mode", mode, get_args(branches.Choice))
        return await branches.backtrack(self._workspace, to, mode, lesson=lesson)

    async def fork(self, branch: str, at: str = "") -> BranchReady | Skipped:
        """Begin a branch at a checkpoint, or here. Use `at(branch)` to work on it."""
        return await branches.fork_branch(self._workspace, branch, at)

    async def mem_node_fork(
        self,
        parent_node_id: str | None,
        child_node_id: str | None,
        ancestor_chain: Sequence[str] | None = None,
        phase: str = "tree_structure",
    ) -> NodeForked | Skipped:
        """Begin a node below its parent (None: the root); to repeat it changes nothing.

        Ids are any text of up to 200 characters. `ancestor_chain` are the nodes from the root to
        the parent: those that are missing are begun. A child of None gets an id.
        """
        chain = _as_tuple("ancestor_chain", ancestor_chain or ())
        return await layers.fork_node(self._workspace, parent_node_id, child_node_id, chain, phase)

    async def mem_node_read(
        self, node_id: str | None = None, scope: LayerScope = "all"
    ) -> NodeView | Skipped:
        """What a node sees of its layers: its own, and what it inherits."""
        _require_one_of("scope", scope, get_args(LayerScope))
        return await layers.read_node(self._find_node(node_id), scope)

    async def mem_node_write(
        self,
        node_id: str | None = None,
        core_updates: Mapping[str, Any] | None = None,
        recall_event: Mapping[str, Any] | None = None,
        archival_records: Sequence[Mapping[str, Any] | str] = (),
    ) -> LayerReceipt | Skipped:
        """Write to the layers of a node in one step: all of it, or nothing.

        A core value of None deletes its key; one that is an object may have ttl and importance.
        """
        writes = layers.parse_node_write(core_updates or {}, recall_event, archival_records)
        return await layers.write_node(self._find_node(node_id), writes)

    async def mem_node_join(
        self, node_id: str, into: str | None = None, prefer: Prefer | None = None
    ) -> NodeJoined | Skipped:
        """Make the line of a node part of its parent's (or of `into`), in one move.

        What both changed is returned as conflicts, and nothing is moved unless `prefer` says whose
        version stands.
        """
        if prefer is not None:
            _require_one_of("prefer", prefer, get_args(Prefer))
        return await layers.join_node(self._find_node(node_id), into, prefer)

    async def mem_node_discard(self, node_id: str, lesson: str = "") -> NodeDiscarded | Skipped:
        """Leave what a node wrote; every node sees the lesson from now on."""
        node = self._find_node(node_id)
        return await layers.discard_node(node, _require_text("lesson", lesson))

    async def mem_core_set(
        self,
        key: str,
        value: str,
        ttl: str | datetime | timedelta | None = None,
        importance: int = IMPORTANCE_DEFAULT,
        branch_id: str | None = None,
    ) -> LayerReceipt | Skipped:
        """Give a key of the core a value on this node. `ttl`: "30m", "2d", or a time."""
        fields = {"key": key, "value": value, "ttl": ttl, "importance": importance}
        return await self._write(branch_id, layers.parse_form(CoreSet, fields))

    async def mem_core_get(
        self, keys: Sequence[str] | None = None, branch_id: str | None = None
    ) -> Mapping[str, str] | Skipped:
        """The values of these keys, as far as the node sees them; None: of all."""
        wanted = None if keys is None else _as_tuple("keys", keys)
        found = await layers.load_core(self._find_node(branch_id), wanted)
        return found if isinstance(found, Skipped) else {each.key: each.value for each in found}

    async def mem_core_del(self, key: str, branch_id: str | None = None) -> LayerReceipt | Skipped:
        """Take a key out of the core of this node."""
        return await self._write(branch_id, layers.parse_form(CoreDelete, {"key": key}))

    async def mem_core_history(
        self, key: str, branch_id: str | None = None
    ) -> tuple[CoreChange, ...] | Skipped:
        """What became of a key, oldest first, on this node and those it inherits from."""
        node = self._find_node(branch_id)
        return await layers.list_core_history(node, _require_text("key", key))

    async def mem_recall_append(
        self, event: Mapping[str, Any], write_archival: bool = False
    ) -> LayerReceipt | Skipped:
        """Add an event to the node that it names (`branch_id`, else `node_id`).

        Known fields: ts, run_id, node_id, branch_id, phase, kind, summary, text, refs, tags,
        task_hint; others are kept in its meta. `write_archival` doubles it into the archive.
        """
        write = layers.parse_form(RecallAppend, event)
        if write_archival:
            write = write.model_copy(update={"write_archival": True})
        return await self._write(write.branch_id or write.node_id or None, write)

    async def mem_recall_search(
        self, query: str = "*", k: int | None = 20, branch_id: str | None = None
    ) -> tuple[RecallEvent, ...] | Skipped:
        """The events that match best; `*` means the newest, and a `k` of None all."""
        asked = layers.parse_form(RecallSearch, {"query": query, "k": k})
        return await layers.search_events(self._find_node(branch_id), asked.query, asked.k)

    async def mem_recall_history(
        self, branch_id: str | None = None, k: int | None = None
    ) -> tuple[RecallEvent, ...] | Skipped:
        """The newest events, evicted and summed up ones included."""
        asked = layers.parse_form(RecallSearch, {"k": k})
        return await layers.load_events(self._find_node(branch_id), asked.k, history=True)

    async def mem_recall_evict(
        self,
        older_than: str | datetime | timedelta | None = None,
        kind: str = "",
        keep: int | None = None,
        ids: Sequence[str] = (),
        branch_id: str | None = None,
    ) -> LayerReceipt | Skipped:
        """Take events out of the window and of searches: by id, or all that fit the others.

        `keep` spares the newest. They stay in the history.
        """
        fields = {"older_than": older_than, "kind": kind, "keep": keep, "ids": ids}
        return await self._write(branch_id, layers.parse_form(RecallEvict, fields))

    async def mem_archival_write(
        self,
        text: str,
        tags: Sequence[str] = (),
        meta: Meta | None = None,
        branch_id: str | None = None,
    ) -> RecordId | Skipped:
        """Store a text in the archive of this node; returns its id."""
        fields = {"text": text, "tags": _as_tuple("tags", tags), "meta": meta}
        done = await self._write(branch_id, layers.parse_form(ArchivalWrite, fields))
        return done if isinstance(done, Skipped) else done.archival[0]

    async def mem_archival_update(
        self,
        id: str,
        text: str | None = None,
        tags: Sequence[str] | None = None,
        meta: Meta | None = None,
        branch_id: str | None = None,
    ) -> RecordId | Skipped:
        """Replace a text of the archive on this node, and return its new id.

        What is left out stays as it was.
        """
        fields = {"id": id, "text": text, "tags": tags, "meta": meta}
        done = await self._write(branch_id, layers.parse_form(ArchivalUpdate, fields))
        return done if isinstance(done, Skipped) else done.archival[0]

    async def mem_archival_search(
        self, query: str, tags: Sequence[str] = (), k: int = 10, branch_id: str | None = None
    ) -> tuple[ArchivalRecord, ...] | Skipped:
        """The texts of the archive that match best and have all of these tags."""
        asked = layers.parse_form(
            ArchivalSearch, {"query": query, "tags": _as_tuple("tags", tags), "k": k}
        )
        node = self._find_node(branch_id)
        return await layers.search_archival(node, asked.query, asked.tags, asked.k)

    async def mem_archival_get(
        self, id: str, branch_id: str | None = None
    ) -> ArchivalRecord | Skipped:
        """The text of the archive of that id; of one that was replaced, what replaced it."""
        return await layers.get_archival(self._find_node(branch_id), _require_text("id", id))

    async def mem_consolidate(
        self, summary: str, ids: Sequence[str] = (), branch_id: str | None = None
    ) -> LayerReceipt | Skipped:
        """Put a summary in the place of events: of `ids`, else of all that the node inherits.

        Other nodes go on to see the events. To take it back, erase it with `forget_memory`.
        """
        fields = {"summary": summary, "ids": _as_tuple("ids", ids)}
        return await self._write(branch_id, layers.parse_form(Consolidate, fields))

    async def apply_llm_memory_updates(
        self,
        branch_id: str | None,
        updates: Mapping[str, Any],
        node_id: str | None = None,
        phase: str | None = None,
    ) -> UpdatesApplied | Skipped:
        """Carry out a document of updates as a model wrote it: all of its writes, or nothing.

        `node_id` and `phase` go to the events that name none of their own; without a `branch_id`
        the node is `node_id`. Both may not name different nodes. What a prompt says of it is
        `memory_operation_instructions`.
        """
        node = self._find_node(branch_id if branch_id is not None else node_id)
        return await layers.apply_updates(node, updates, phase or "", node_id or "")

    @staticmethod
    def memory_operation_instructions() -> str:
        """The text that a prompt needs so that a model writes such updates."""
        return layers.memory_operation_instructions()

    # What a node gives to prompts and reports

    async def compress(  # the names that such programs use
        self,
        text: str,
        max_chars: int,
        context_hint: str = "",
        prompt_template: str | None = None,
        *,
        use_cache: bool = True,
        max_iterations: int = COMPRESS_ROUNDS_DEFAULT,
    ) -> str:
        """The text in at most `max_chars` characters; one that fits is not changed.

        The language model (MEMORY_LLM_MODEL) shortens it, at most `max_iterations` times. Without
        one, or where it fails, the text is cut at a sentence or a word. `prompt_template` replaces
        our instructions; `{max_chars}`, `{context_hint}` and `{text}` in it are filled in. It never
        raises: what is no text counts as its text, and what is no number of characters as none.
        """
        request = layers.CompressionRequest(
            _read_count(max_chars, 0),
            _read_text(context_hint),
            _read_text(prompt_template),
            _read_count(max_iterations, COMPRESS_ROUNDS_DEFAULT),
        )
        text = _read_text(text)
        return await layers.compress(self._workspace, text, request, use_cache=bool(use_cache))

    async def render_for_prompt(
        self,
        branch_id: str | None = None,
        task_hint: str = "",
        budget_chars: int = RENDER_CHARS_DEFAULT,
        *,
        no_limit: bool = False,
    ) -> str:
        """What the node sees, for a prompt: resource index, core, recall, archival.

        Never a character over the budget, and the same for the same node. With a task the archive
        is searched for it; else its newest texts are shown.
        """
        text, _ = await self.render_for_prompt_with_log(
            branch_id, task_hint, budget_chars, no_limit=no_limit
        )
        return text

    async def render_for_prompt_with_log(
        self,
        branch_id: str | None = None,
        task_hint: str = "",
        budget_chars: int = RENDER_CHARS_DEFAULT,
        *,
        no_limit: bool = False,
    ) -> tuple[str, RenderLog]:
        """The same, and in numbers what went in, what was cut and why."""
        prompt = await layers.render_for_prompt(
            self._find_node(branch_id),
            _require_text("task_hint", task_hint),
            None if no_limit else _require_count("budget_chars", budget_chars),
        )
        return prompt.text, prompt.log

    async def build_resource_snapshot(
        self,
        file: str | os.PathLike[str],
        config: Mapping[str, Any] | None = None,
        *,
        resolve_paths: bool = True,
    ) -> ResourceSnapshot:
        """What there is of the resources that a JSON file lists. The network is not asked.

        Files are read below the project's folder and the folders that `config` names as `roots`;
        no link is followed. `max_files` and `max_chars` say how much of each is shown. Put `index`
        into the core under `resource_index` to have it in prompts.
        """
        config = {} if config is None else config
        if not isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequestError(f"config is {config!r:.80}; give an object.")
        roots = _as_tuple("roots", config.get("roots") or ())
        files = build_resource_files([self._folder, *(self._folder / each for each in roots)])
        name = _require_path("file", file)
        return await layers.take_snapshot(files, name, config, resolve_paths=resolve_paths)

    async def track_resource_usage(
        self,
        resource_id: str,
        usage_type: UsageType,
        usage_context: str = "",
        branch_id: str | None = None,
    ) -> LayerReceipt | Skipped:
        """An event of the node: it read, referenced or included this resource."""
        _require_one_of("usage_type", usage_type, get_args(UsageType))
        return await layers.track_usage(
            self._find_node(branch_id),
            _require_text("resource_id", resource_id),
            usage_type,
            _require_text("usage_context", usage_context),
        )

    async def export_final_memory(
        self,
        output_dir: str | os.PathLike[str],
        branch_id: str | None = None,
        markdown_name: str = FINAL_MARKDOWN,
        json_name: str = FINAL_JSON,
    ) -> tuple[Path, Path]:
        """Write what the node knows at the end of a run: a text to write a report from, and data.

        Returns the paths of the Markdown and of the JSON file. Earlier reports are replaced;
        another file of the same name is kept, and nothing is written.
        """
        return await export_final_memory(
            self._find_node(branch_id),
            _require_path("output_dir", output_dir),
            str(self._folder),
            _require_text("markdown_name", markdown_name),
            _require_text("json_name", json_name),
        )

    def _find_node(self, node: str | None) -> Workspace:
        """The workspace of a node; without one, of the branch of this value."""
        return self._workspace if node is None else self._workspace.at(check_branch(node))

    async def _write(self, node: str | None, write: Write) -> LayerReceipt | Skipped:
        return await layers.write_node(self._find_node(node), [write])


def _require_one_of(name: str, value: str, choices: Iterable[str]) -> None:
    """Refuse a value that only looks like a choice: a type checker may not have seen it."""
    known = list(choices)
    if value not in known:
        near = known
        if len(known) > _CHOICES_SHOWN:
            near = get_close_matches(str(value), known, n=_CHOICES_SHOWN, cutoff=0.4)
        shown = ", ".join(near or known[:_CHOICES_SHOWN])
        raise InvalidRequestError(f"{name} is {value!r:.80}; choose one of: {shown}.")


def _as_tuple(name: str, values: Iterable[object]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise InvalidRequestError(f"{name} is the text {values!r}; give a list of texts.")
    if not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidRequestError(f"{name} is {values!r:.80}; give a list of texts.")
    return tuple(_require_text(f"an item of {name}", each) for each in values)


def _require_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidRequestError(f"{name} is {value!r:.80}; give a text.")
    return value


def _require_count(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidRequestError(f"{name} is {value!r:.80}; give a whole number.")
    return value


def _read_text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _read_count(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _require_path(name: str, value: object) -> str:
    path: object = value
    if isinstance(value, os.PathLike):
        path = cast("os.PathLike[Any]", value).__fspath__()
    if not isinstance(path, str) or not path or "\0" in path:
        raise InvalidRequestError(f"{name} is {value!r:.80}; give the path of a file or folder.")
    return path
