"""How often what goes with a prompt belongs there, through the use case that hooks call.

    python benchmarks/prompt_recall.py [--model-home DIR]

The memories are those of `data/agent.json`. Its questions are the prompts that something bears on;
those of the other sets are about other things, so whatever is shown with them is wrong. Each prompt
is the first of a session of its own, and ends with a question mark: a whole question may be short.
"""

import argparse
import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from house import QuickDisk, lend_model, settings_in
from recall_sets import Conversation, load
from report import Table, machine, show

from memory_mcp import maintenance, memories, sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import EmbedderName
from memory_mcp.domain.limits import PROMPT_SCORE_MIN, PROMPT_TERMS_MIN
from memory_mcp.domain.outcomes import MemoryAdded
from memory_mcp.domain.record import Draft, Kind
from memory_mcp.engine.workspace import Workspace

_DATA: Final = Path(__file__).with_name("data")
_OTHERS: Final = ("technical", "lifelog", "multilingual")
_SHOWN: Final = re.compile(r"\[([0-9a-f-]{36})\]$", re.MULTILINE)


def main() -> None:
    """Measure by words and, where there is a model, by meaning too."""
    parser = argparse.ArgumentParser(description="Measure what is recalled with prompts.")
    parser.add_argument("--model-home", type=Path, metavar="DIR", help="with models/minilm in it")
    model_home: Path | None = parser.parse_args().model_home
    table = Table(
        f"Shown with a prompt: score {PROMPT_SCORE_MIN} and up, {PROMPT_TERMS_MIN} words or more",
        ("mode", "prompts", "shown", "belongs there", "prompts helped", "others", "shown with"),
        "the last two: prompts about other things, and with how many of them anything was shown",
    )
    with tempfile.TemporaryDirectory() as name:
        show(machine(Path(name)))
        asyncio.run(_measure(table, Path(name) / "words", "none", None))
        if model_home:
            asyncio.run(_measure(table, Path(name) / "meaning", "minilm", model_home))
    show(table)


async def _measure(
    table: Table, folder: Path, embedder: EmbedderName, model_home: Path | None
) -> None:
    (agent,) = load(_DATA / "agent.json")
    others = [q.text for name in _OTHERS for q in load(_DATA / f"{name}.json")[0].questions]
    asked = [question for question in agent.questions if question.gold]
    shown = right = helped = 0
    async with _told(agent, folder, embedder, model_home) as (workspace, units):
        for question in asked:
            found = [
                units[id_] for id_ in await _with_prompt(workspace, question.text, question.id)
            ]
            good = len(question.gold.intersection(found))
            shown, right, helped = shown + len(found), right + good, helped + bool(good)
        wrong = [await _with_prompt(workspace, text, f"other {n}") for n, text in enumerate(others)]
    table.add(
        "by words" if embedder == "none" else "by meaning too",
        len(asked),
        shown,
        f"{right / shown:.0%}",
        f"{helped / len(asked):.0%}",
        len(others),
        sum(map(bool, wrong)),
    )


@asynccontextmanager
async def _told(
    agent: Conversation, folder: Path, embedder: EmbedderName, model_home: Path | None
) -> AsyncGenerator[tuple[Workspace, dict[str, str]]]:
    """Workspace that know the set, and the unit of each memory."""
    (folder / "project").mkdir(parents=True)
    if model_home:
        lend_model(folder, model_home)
    async with open_workspace(settings_in(folder, embedder), disk=QuickDisk()) as built:
        units: dict[str, str] = {}
        for unit in agent.units:
            kind: Kind = unit.kind  # pyright: ignore[reportAssignmentType]  # the set is our own
            draft = Draft(unit.text, kind=kind, category=unit.category, tags=unit.tags)
            outcome = await memories.add_memory(built.workspace, draft)
            if isinstance(outcome, MemoryAdded):
                units[outcome.record.id] = unit.id
        if model_home:
            await maintenance.encode_all(built.workspace)
        yield built.workspace, units


async def _with_prompt(workspace: Workspace, prompt: str, session: str) -> list[str]:
    asked = prompt if prompt.endswith("?") else f"{prompt}?"
    return _SHOWN.findall(await sessions.prompt_context(workspace, asked, session))


if __name__ == "__main__":
    main()
