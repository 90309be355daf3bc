"""A search of a tree by eight worker processes, without a model.

    python examples/tree_search.py [FOLDER]

The task is a toy: find the learning rate and the dropout at which a made-up score is best. What is
real is the memory. Each worker process takes a node, reads what it inherits from its ancestors,
writes what it tried, and never touches another node. Then the tree is pruned: what is hopeless is
discarded with a lesson, and the winner is joined into the root, step by step, and exported.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from memory_mcp import Memory
from memory_mcp.api import SyncMemory
from memory_mcp.domain.outcomes import Skipped

WORKERS = 8
ROOT = "main"
WIDTH, DEPTH = 4, 3
"""Children of the root; each of the best is explored for so many levels."""
KEPT = 5
"""Nodes of a level that get children."""
SETTINGS = {"MEMORY_EMBEDDER": "none"}


def score(rate: float, dropout: float) -> float:
    """The made-up experiment: best, with 0.95, at a rate of 0.003 and a dropout of 0.2."""
    return round(0.95 - 20 * abs(rate - 0.003) - 0.5 * abs(dropout - 0.2), 4)


def read_core(memory: SyncMemory, node: str) -> Mapping[str, str]:
    """The core as a node sees it."""
    core = memory.mem_core_get(branch_id=node)
    if isinstance(core, Skipped):  # MEMORY_ENABLED=false
        raise SystemExit(core.reason)
    return core


def try_out(folder: str, parent: str, node: str, change: tuple[float, float]) -> tuple[str, float]:
    """What a worker does with a node: fork, read what is inherited, try, write."""
    with Memory.open_sync(folder, SETTINGS) as memory:
        memory.mem_node_fork(parent, node)
        core = read_core(memory, node)
        rate = round(float(core["rate"]) + change[0], 4)
        dropout = round(float(core["dropout"]) + change[1], 2)
        result = score(rate, dropout)
        memory.mem_node_write(
            node,
            core_updates={"rate": str(rate), "dropout": str(dropout), "score": str(result)},
            recall_event={
                "kind": "result",
                "phase": "tuning",
                "summary": f"rate {rate}, dropout {dropout}: {result}",
            },
            archival_records=[
                {
                    "text": f"A rate of {rate} with a dropout of {dropout} scored {result}.",
                    "tags": ["result"],
                    "meta": {"score": result},
                }
            ],
        )
        memory.track_resource_usage("local_data:digits", "read", "training", branch_id=node)
        return node, result


def plan_children(level: int, parent: str) -> Iterator[tuple[str, tuple[float, float]]]:
    """The children of a node: each changes one thing, by less on every level."""
    step = 0.002 / 2**level
    changes = [(step, 0.0), (-step, 0.0), (0.0, 50 * step), (0.0, -50 * step)]
    for number, change in enumerate(changes[:WIDTH], 1):
        yield (f"{parent}.{number}" if parent != ROOT else f"n{number}"), change


def search(folder: str) -> dict[str, tuple[str, float]]:
    """Explore the tree level by level; each node's parent and score."""
    tree: dict[str, tuple[str, float]] = {}
    parents = [ROOT]
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as workers:
        for level in range(DEPTH + 1):
            jobs = {
                workers.submit(try_out, folder, parent, node, change): parent
                for parent in parents
                for node, change in plan_children(level, parent)
            }
            found = {job.result()[0]: (parent, job.result()[1]) for job, parent in jobs.items()}
            tree |= found
            parents = sorted(found, key=lambda node: (-found[node][1], node))[:KEPT]
    return tree


def draw(tree: dict[str, tuple[str, float]], marks: dict[str, str], node: str = ROOT) -> str:
    """The tree below a node, one line each."""
    lines = [node] if node == ROOT else []
    children = sorted(child for child, (parent, _) in tree.items() if parent == node)
    for child in children:
        last = child == children[-1]
        lines.append(f"{'└' if last else '├'}─ {child} {tree[child][1]:.4f}{marks.get(child, '')}")
        below = draw(tree, marks, child)
        lines += [f"{' ' if last else '│'}  {line}" for line in below.splitlines()]
    return "\n".join(lines)


def end_well(folder: str, tree: dict[str, tuple[str, float]]) -> dict[str, str]:
    """Discard the worst with a lesson, join the winner into the root; a mark for each of them."""
    best = max(tree, key=lambda node: tree[node][1])
    road = [best]
    while tree[road[-1]][0] != ROOT:
        road.append(tree[road[-1]][0])
    leaves = {*tree} - {parent for parent, _ in tree.values()} - {best}
    worst = sorted(leaves, key=lambda node: (tree[node][1], node))[:6]
    with Memory.open_sync(folder, SETTINGS) as memory:
        for node in worst:
            memory.mem_node_discard(node, f"{node} came to {tree[node][1]} and was left.")
        for node in road:
            memory.mem_node_join(node, prefer="child")
        text, log = memory.render_for_prompt_with_log(ROOT, "which rate scored best?", 4_000)
        print(f"\nThe prompt of {ROOT} has {len(text)} characters:")
        for section in log.sections:
            print(f"  {section.section}: {section.whole} whole, {section.cut} cut, "
                  f"{section.left_out} left out")  # fmt: skip
        core = read_core(memory, ROOT)
        print(f"{ROOT} knows: rate {core['rate']}, dropout {core['dropout']}, "
              f"score {core['score']}")  # fmt: skip
        markdown, data = memory.export_final_memory(Path(folder) / "report")
        print(f"Written: {markdown.name}, {data.name}")
    return {**dict.fromkeys(worst, "  discarded"), **dict.fromkeys(road, "  joined")}


def main(folder: str) -> None:
    """Search, end the tree, and draw it."""
    with Memory.open_sync(folder, SETTINGS) as memory:
        memory.mem_core_set("goal", "the best score of the digits set", importance=5)
        memory.mem_core_set("rate", "0.001")
        memory.mem_core_set("dropout", "0.1")
    tree = search(folder)
    marks = end_well(folder, tree)
    print(f"\n{len(tree)} nodes, {WORKERS} processes:\n{draw(tree, marks)}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as made:  # with all that this machine keeps beside it
            os.environ["MEMORY_HOME"] = str(Path(made) / "home")
            (project := Path(made) / "project").mkdir()
            main(str(project))
