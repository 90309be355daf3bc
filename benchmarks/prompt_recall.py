"""How often what goes with a prompt belongs there, through the use case that hooks call.

    python benchmarks/prompt_recall.py [--model-home DIR] [--day FILE]

The memories are those of `data/agent.json`. Its questions are the prompts that something bears on;
those of the other sets are about other things, so whatever is shown with them is wrong. Each prompt
is the first of a session of its own, and ends with a question mark: a whole question may be short.
`--day` is a file of projects with the prompts of a working day (`data/open/prompts.json`): most are
instructions, and a colleague would mention one memory with some of them.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from house import QuickDisk, lend_model, settings_in
from recall_sets import Conversation, Unit, load
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
_MODES: Final = {"none": "by words", "minilm": "by meaning too"}
_SHOWN: Final = re.compile(r"\[([0-9a-f-]{36})\]$", re.MULTILINE)


def main() -> None:
    """Measure by words and, where there is a model, by meaning too."""
    parser = argparse.ArgumentParser(description="Measure what is recalled with prompts.")
    parser.add_argument("--model-home", type=Path, metavar="DIR", help="with models/minilm in it")
    parser.add_argument("--day", type=Path, metavar="FILE", default=_DATA / "open" / "prompts.json")
    given = parser.parse_args()
    model_home: Path | None = given.model_home
    table = Table(
        f"Shown with a prompt: score {PROMPT_SCORE_MIN} and up, {PROMPT_TERMS_MIN} words or more",
        ("mode", "prompts", "shown", "belongs there", "prompts helped", "others", "shown with"),
        "the last two: prompts about other things, and with how many of them anything was shown",
    )
    day = Table(
        f"Shown with a prompt of a working day ({given.day.parent.name}/{given.day.name})",
        ("mode", "prompts", "right", "wrong", "others", "shown with"),
        "right: with the memory that a colleague would mention; wrong: with another one",
    )
    with tempfile.TemporaryDirectory() as name:
        show(machine(Path(name)))
        modes: list[tuple[EmbedderName, Path | None]] = [("none", None)]
        if model_home:
            modes.append(("minilm", model_home))
        for embedder, home in modes:
            asyncio.run(_measure(table, Path(name) / embedder, embedder, home))
            for number, project in enumerate(json.loads(given.day.read_text("utf-8"))):
                folder = Path(name) / f"{embedder} {number}"
                asyncio.run(_measure_day(day, project, folder, embedder, home))
    show(table)
    show(day)


async def _measure_day(
    table: Table,
    project: dict[str, Any],
    folder: Path,
    embedder: EmbedderName,
    model_home: Path | None,
) -> None:
    right = wrong = others = 0
    async with tell_project(project, folder, embedder, model_home) as (workspace, known):
        for asked in project["prompts"]:
            text = await sessions.prompt_context(workspace, asked["prompt"], asked["id"])
            found = {known[id_] for id_ in _SHOWN.findall(text)}
            right += bool(found & {*asked["wanted"]})
            wrong += bool(asked["wanted"]) and bool(found - {*asked["wanted"]})
            others += not asked["wanted"] and bool(found)
    wanted = sum(bool(asked["wanted"]) for asked in project["prompts"])
    rest = len(project["prompts"]) - wanted
    table.add(_MODES[embedder], wanted, right, wrong, rest, others)


def tell_project(
    project: dict[str, Any], folder: Path, embedder: EmbedderName, model_home: Path | None
) -> AbstractAsyncContextManager[tuple[Workspace, dict[str, str]]]:
    """A workspace that knows the project of a working day, and the name of each of its memories."""
    units = tuple(
        Unit(
            id=m["id"],
            text=m["content"],
            said=m["content"],
            kind="fact" if m["kind"] == "goal" else m["kind"],  # a goal is a category of facts
        )
        for m in project["memories"]
    )
    return _told(Conversation(project["name"], units, ()), folder, embedder, model_home)


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
        _MODES[embedder],
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
