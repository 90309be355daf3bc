"""What recall is measured on: conversations of LoCoMo's form, and our own sets, as plain values.

`load(path)` takes either form. A LoCoMo file is a list of conversations; each becomes a store of
its own, in two variants: `turns` (a unit is a dated turn) and `facts` (a unit is an observation).
One of our sets (`benchmarks/data/*.json`) is one store. Nothing here knows how a search works.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

__all__ = ["CATEGORIES", "Conversation", "Question", "Unit", "Variant", "load"]

Variant = Literal["turns", "facts"]

CATEGORIES: Final[Mapping[int, str]] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
}
"""LoCoMo's fifth category asks what was never said: no evidence can be found for it."""

_TURN_ID: Final = re.compile(r"D(\d+):(\d+)")
_SESSION: Final = re.compile(r"session_(\d+)")


@dataclass(frozen=True)
class Unit:
    """One memory. `text` is what is stored, with date and speaker; `said` is the bare statement."""

    id: str
    text: str
    said: str
    session: str = ""
    date: str = ""
    speaker: str = ""
    kind: str = "fact"
    category: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What is asked, and the ids of the units that answer it (none: nothing does)."""

    id: str
    text: str
    gold: frozenset[str]
    category: str
    split: str = ""


@dataclass(frozen=True)
class Conversation:
    """One store and what is asked of it. Units stand in the order in which they were written."""

    name: str
    units: tuple[Unit, ...]
    questions: tuple[Question, ...]
    skipped: int = 0
    """Questions left out because no unit of the store is their evidence."""
    variant: Variant | None = None


def load(path: Path, variant: Variant = "turns") -> list[Conversation]:
    """The stores of a file; our own sets have one variant only."""
    content = json.loads(path.read_text("utf-8"))
    if isinstance(content, dict):
        return [_own(content)]  # pyright: ignore[reportUnknownArgumentType]  # JSON
    return [_locomo(each, variant) for each in content]


def _own(content: dict[str, Any]) -> Conversation:
    units = tuple(
        Unit(
            id=memory["id"],
            text=memory["content"],
            said=memory["content"],
            session=memory.get("session", ""),
            kind=memory.get("kind", "fact"),
            category=memory.get("category", ""),
            tags=tuple(memory.get("tags", ())),
        )
        for memory in content["memories"]
    )
    questions = tuple(
        Question(
            id=f"{content['name']}/{asked['id']}",
            text=asked["question"],
            gold=frozenset(asked["relevant"]),
            category=asked.get("domain") or asked.get("style", ""),
            split=asked.get("split", ""),
        )
        for asked in content["questions"]
    )
    return Conversation(content["name"], units, questions)


def _locomo(content: dict[str, Any], variant: Variant) -> Conversation:
    units: list[Unit] = []
    evidence: dict[str, list[str]] = {}
    """By turn: the units that are evidence if that turn is."""
    for unit, turns in (_turns if variant == "turns" else _facts)(content):
        units.append(unit)
        for turn in turns:
            evidence.setdefault(turn, []).append(unit.id)
    name, questions, skipped = content["sample_id"], list[Question](), 0
    for number, asked in enumerate(content["qa"]):
        if asked["category"] not in CATEGORIES:
            continue
        turns = _turn_ids(asked.get("evidence", ()))
        gold = frozenset(unit for turn in turns for unit in evidence.get(turn, ()))
        skipped += not gold
        if gold:
            domain = CATEGORIES[asked["category"]]
            questions.append(Question(f"{name}/{number}", asked["question"], gold, domain))
    return Conversation(name, tuple(units), tuple(questions), skipped, variant)


def _sessions(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each session that has turns, and when it was, in order."""
    spoken = content["conversation"]
    numbers = sorted(int(found[1]) for name in spoken if (found := _SESSION.fullmatch(name)))
    for number in numbers:
        yield f"session_{number}", spoken.get(f"session_{number}_date_time", "")


def _turns(content: dict[str, Any]) -> Iterator[tuple[Unit, list[str]]]:
    for session, date in _sessions(content):
        for turn in content["conversation"][session]:
            said = turn["text"] + _picture(turn)
            (turn_id,) = _turn_ids(turn["dia_id"])
            text = f"[{date}] {turn['speaker']}: {said}"
            yield Unit(turn_id, text, said, session, date, turn["speaker"]), [turn_id]


def _picture(turn: dict[str, Any]) -> str:
    """What a turn shows besides what it says: the caption, then what the picture was sought by."""
    shown = [turn[key] for key in ("blip_caption", "query") if turn.get(key)]
    return f" [image: {'; '.join(shown)}]" if shown else ""


def _facts(content: dict[str, Any]) -> Iterator[tuple[Unit, list[str]]]:
    for session, date in _sessions(content):
        seen = content["observation"].get(f"{session}_observation", {})
        facts = [(speaker, *fact) for speaker, said in seen.items() for fact in said]
        for number, (speaker, said, turns) in enumerate(facts):
            unit_id = f"{session}/{number}"
            unit = Unit(unit_id, f"[{date}] {said}", said, session, date, speaker)
            yield unit, _turn_ids(turns)


def _turn_ids(written: object) -> list[str]:
    """The ids of turns as the data have them: a text, a list, several in one ("D8:6; D9:17")."""
    found = _TURN_ID.findall(json.dumps(written))
    return list(dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in found))
