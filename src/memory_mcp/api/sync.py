"""The Python API without `await`: made by `python tools/sync_api.py`."""

import os
from collections.abc import (
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anyio.from_thread import BlockingPortal

from memory_mcp import branches
from memory_mcp.api.final import FINAL_JSON, FINAL_MARKDOWN
from memory_mcp.domain.captures import Capture, CaptureReport, SuggestionsDecided
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.layers import (
    ArchivalRecord,
    CoreChange,
    LayerReceipt,
    LayerScope,
    Meta,
    NodeDiscarded,
    NodeForked,
    NodeJoined,
    NodeView,
    Prefer,
    RecallEvent,
    UpdatesApplied,
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
from memory_mcp.domain.record import Kind, Reach
from memory_mcp.domain.resources import ResourceSnapshot, UsageType
from memory_mcp.domain.search import Filters, SelectionOptions
from memory_mcp.domain.sessions import Turn
from memory_mcp.render.block import Block
from memory_mcp.render.node import RenderLog

if TYPE_CHECKING:
    from memory_mcp.api.memory import Memory

T = TypeVar("T")

_CHOICES_SHOWN = 5
_NO_FILTERS = Filters()
_NO_OPTIONS = SelectionOptions()


class SyncMemory:
    """The memory of one project, as one branch sees it. Get it from `Memory.open_sync`.

    Any thread may call it; what it calls runs in the event loop of its portal.
    """

    def __init__(self, memory: "Memory", portal: BlockingPortal) -> None:
        self._memory = memory
        self._portal = portal

    def _run(self, call: Callable[[], Awaitable[T]]) -> T:
        self._memory.branch  # noqa: B018  # a closed memory says so better than its portal
        return self._portal.call(call)

    @property
    def branch(self) -> str:
        """The branch that this value reads and writes."""
        return self._memory.branch

    def at(self, branch: str) -> "SyncMemory":
        """The same memory as another branch sees it. Nobody is moved by this.

        Raises:
            InvalidRequestError: no branch can have this name.
        """
        return SyncMemory(self._memory.at(branch), self._portal)

    def add_memory(
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
        return self._run(
            partial(
                self._memory.add_memory,
                content,
                kind=kind,
                title=title,
                category=category,
                tags=tags,
                importance=importance,
                pinned=pinned,
                expires_at=expires_at,
                phase=phase,
                supersedes=supersedes,
                cites=cites,
                scope=scope,
            )
        )

    def search_memories(
        self,
        query: str = "",
        limit: int = RESULTS_DEFAULT,
        filters: Filters = _NO_FILTERS,
        options: SelectionOptions = _NO_OPTIONS,
    ) -> SearchResults | Skipped:
        """The visible memories that match best, at most ten; without a query, the newest."""
        return self._run(partial(self._memory.search_memories, query, limit, filters, options))

    def memory_context(self, task: str = "", budget_tokens: int | None = None) -> Block | Skipped:
        """What matters now, or for the task, within the budget (characters / 4)."""
        return self._run(partial(self._memory.memory_context, task, budget_tokens))

    def memory_head(self) -> HeadReport | Skipped:
        """Where the project stands: checkpoints, branches, left lines."""
        return self._run(partial(self._memory.memory_head))

    def update_memory(
        self, memory_id: str, content: str, *, title: str = "", reason: str = ""
    ) -> AddOutcome:
        """Replace what a memory says. A backtrack brings the old text back."""
        return self._run(
            partial(self._memory.update_memory, memory_id, content, title=title, reason=reason)
        )

    def forget_memory(
        self, memory_id: str, *, reason: str = "", erase: bool = True
    ) -> MemoryForgotten | Skipped:
        """Erase a memory everywhere and for good, or (`erase=False`) hide it from here on."""
        return self._run(partial(self._memory.forget_memory, memory_id, reason=reason, erase=erase))

    def capture_turns(self, turns: Sequence[Turn]) -> CaptureReport | Skipped:
        """Keep or suggest what the user's last turns say that is worth it (MEMORY_CAPTURE)."""
        return self._run(partial(self._memory.capture_turns, turns))

    def list_suggestions(self) -> tuple[Capture, ...] | Skipped:
        """What was captured and waits for the user's word."""
        return self._run(partial(self._memory.list_suggestions))

    def decide_suggestions(self, only: str = "", *, keep: bool) -> SuggestionsDecided | Skipped:
        """Keep or drop what the user was shown of it; `only` is a part of the one that is meant."""
        return self._run(partial(self._memory.decide_suggestions, only, keep=keep))

    def checkpoint(
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
        return self._run(partial(self._memory.checkpoint, summary, phase, again=again, cites=cites))

    def compare_points(self, a: str, b: str = "head") -> PointComparison | Skipped:
        """What was known at one point of the timeline and not at the other.

        A point is a checkpoint, phase, left line, branch, `head`, `start`, or a time: "2026-01-31",
        or "2h" for two hours ago.
        """
        return self._run(partial(self._memory.compare_points, a, b))

    def preview_backtrack(self, to: str) -> MovePreview | Skipped:
        """What going to this checkpoint, phase or left line would hide. Moves nothing."""
        return self._run(partial(self._memory.preview_backtrack, to))

    def backtrack(
        self, to: str, mode: branches.Choice = "continue", *, lesson: str = ""
    ) -> BacktrackOutcome:
        """Go back to a checkpoint or phase, or restore a left line.

        `continue` hides what came after; `forget` also erases it everywhere.
        """
        return self._run(partial(self._memory.backtrack, to, mode, lesson=lesson))

    def fork(self, branch: str, at: str = "") -> BranchReady | Skipped:
        """Begin a branch at a checkpoint, or here. Use `at(branch)` to work on it."""
        return self._run(partial(self._memory.fork, branch, at))

    def mem_node_fork(
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
        return self._run(
            partial(
                self._memory.mem_node_fork, parent_node_id, child_node_id, ancestor_chain, phase
            )
        )

    def mem_node_read(
        self, node_id: str | None = None, scope: LayerScope = "all"
    ) -> NodeView | Skipped:
        """What a node sees of its layers: its own, and what it inherits."""
        return self._run(partial(self._memory.mem_node_read, node_id, scope))

    def mem_node_write(
        self,
        node_id: str | None = None,
        core_updates: Mapping[str, Any] | None = None,
        recall_event: Mapping[str, Any] | None = None,
        archival_records: Sequence[Mapping[str, Any] | str] = (),
    ) -> LayerReceipt | Skipped:
        """Write to the layers of a node in one step: all of it, or nothing.

        A core value of None deletes its key; one that is an object may have ttl and importance.
        """
        return self._run(
            partial(
                self._memory.mem_node_write, node_id, core_updates, recall_event, archival_records
            )
        )

    def mem_node_join(
        self, node_id: str, into: str | None = None, prefer: Prefer | None = None
    ) -> NodeJoined | Skipped:
        """Make the line of a node part of its parent's (or of `into`), in one move.

        What both changed is returned as conflicts, and nothing is moved unless `prefer` says whose
        version stands.
        """
        return self._run(partial(self._memory.mem_node_join, node_id, into, prefer))

    def mem_node_discard(self, node_id: str, lesson: str = "") -> NodeDiscarded | Skipped:
        """Leave what a node wrote; every node sees the lesson from now on."""
        return self._run(partial(self._memory.mem_node_discard, node_id, lesson))

    def mem_core_set(
        self,
        key: str,
        value: str,
        ttl: str | datetime | timedelta | None = None,
        importance: int = IMPORTANCE_DEFAULT,
        branch_id: str | None = None,
    ) -> LayerReceipt | Skipped:
        """Give a key of the core a value on this node. `ttl`: "30m", "2d", or a time."""
        return self._run(partial(self._memory.mem_core_set, key, value, ttl, importance, branch_id))

    def mem_core_get(
        self, keys: Sequence[str] | None = None, branch_id: str | None = None
    ) -> Mapping[str, str] | Skipped:
        """The values of these keys, as far as the node sees them; None: of all."""
        return self._run(partial(self._memory.mem_core_get, keys, branch_id))

    def mem_core_del(self, key: str, branch_id: str | None = None) -> LayerReceipt | Skipped:
        """Take a key out of the core of this node."""
        return self._run(partial(self._memory.mem_core_del, key, branch_id))

    def mem_core_history(
        self, key: str, branch_id: str | None = None
    ) -> tuple[CoreChange, ...] | Skipped:
        """What became of a key, oldest first, on this node and those it inherits from."""
        return self._run(partial(self._memory.mem_core_history, key, branch_id))

    def mem_recall_append(
        self, event: Mapping[str, Any], write_archival: bool = False
    ) -> LayerReceipt | Skipped:
        """Add an event to the node that it names (`branch_id`, else `node_id`).

        Known fields: ts, run_id, node_id, branch_id, phase, kind, summary, text, refs, tags,
        task_hint; others are kept in its meta. `write_archival` doubles it into the archive.
        """
        return self._run(partial(self._memory.mem_recall_append, event, write_archival))

    def mem_recall_search(
        self, query: str = "*", k: int | None = 20, branch_id: str | None = None
    ) -> tuple[RecallEvent, ...] | Skipped:
        """The events that match best; `*` means the newest, and a `k` of None all."""
        return self._run(partial(self._memory.mem_recall_search, query, k, branch_id))

    def mem_recall_history(
        self, branch_id: str | None = None, k: int | None = None
    ) -> tuple[RecallEvent, ...] | Skipped:
        """The newest events, evicted and summed up ones included."""
        return self._run(partial(self._memory.mem_recall_history, branch_id, k))

    def mem_recall_evict(
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
        return self._run(
            partial(self._memory.mem_recall_evict, older_than, kind, keep, ids, branch_id)
        )

    def mem_archival_write(
        self,
        text: str,
        tags: Sequence[str] = (),
        meta: Meta | None = None,
        branch_id: str | None = None,
    ) -> RecordId | Skipped:
        """Store a text in the archive of this node; returns its id."""
        return self._run(partial(self._memory.mem_archival_write, text, tags, meta, branch_id))

    def mem_archival_update(
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
        return self._run(partial(self._memory.mem_archival_update, id, text, tags, meta, branch_id))

    def mem_archival_search(
        self, query: str, tags: Sequence[str] = (), k: int = 10, branch_id: str | None = None
    ) -> tuple[ArchivalRecord, ...] | Skipped:
        """The texts of the archive that match best and have all of these tags."""
        return self._run(partial(self._memory.mem_archival_search, query, tags, k, branch_id))

    def mem_archival_get(self, id: str, branch_id: str | None = None) -> ArchivalRecord | Skipped:
        """The text of the archive of that id; of one that was replaced, what replaced it."""
        return self._run(partial(self._memory.mem_archival_get, id, branch_id))

    def mem_consolidate(
        self, summary: str, ids: Sequence[str] = (), branch_id: str | None = None
    ) -> LayerReceipt | Skipped:
        """Put a summary in the place of events: of `ids`, else of all that the node inherits.

        Other nodes go on to see the events. To take it back, erase it with `forget_memory`.
        """
        return self._run(partial(self._memory.mem_consolidate, summary, ids, branch_id))

    def apply_llm_memory_updates(
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
        return self._run(
            partial(self._memory.apply_llm_memory_updates, branch_id, updates, node_id, phase)
        )

    def memory_operation_instructions(self) -> str:
        """The text that a prompt needs so that a model writes such updates."""
        return self._memory.memory_operation_instructions()

    def compress(
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
        return self._run(
            partial(
                self._memory.compress,
                text,
                max_chars,
                context_hint,
                prompt_template,
                use_cache=use_cache,
                max_iterations=max_iterations,
            )
        )

    def render_for_prompt(
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
        return self._run(
            partial(
                self._memory.render_for_prompt,
                branch_id,
                task_hint,
                budget_chars,
                no_limit=no_limit,
            )
        )

    def render_for_prompt_with_log(
        self,
        branch_id: str | None = None,
        task_hint: str = "",
        budget_chars: int = RENDER_CHARS_DEFAULT,
        *,
        no_limit: bool = False,
    ) -> tuple[str, RenderLog]:
        """The same, and in numbers what went in, what was cut and why."""
        return self._run(
            partial(
                self._memory.render_for_prompt_with_log,
                branch_id,
                task_hint,
                budget_chars,
                no_limit=no_limit,
            )
        )

    def build_resource_snapshot(
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
        return self._run(
            partial(self._memory.build_resource_snapshot, file, config, resolve_paths=resolve_paths)
        )

    def track_resource_usage(
        self,
        resource_id: str,
        usage_type: UsageType,
        usage_context: str = "",
        branch_id: str | None = None,
    ) -> LayerReceipt | Skipped:
        """An event of the node: it read, referenced or included this resource."""
        return self._run(
            partial(
                self._memory.track_resource_usage, resource_id, usage_type, usage_context, branch_id
            )
        )

    def export_final_memory(
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
        return self._run(
            partial(
                self._memory.export_final_memory, output_dir, branch_id, markdown_name, json_name
            )
        )
