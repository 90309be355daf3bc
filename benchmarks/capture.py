"""What is captured of talk, by the rules alone: precision, recall and the time for a prompt.

    python benchmarks/capture.py [--data FILE] [--all] [--auto]

The data are messages worth keeping, each with what a colleague would note of it (`expect`), and
messages worth nothing, each with the reason (`why`). A capture counts as right if it holds the fact
of `expect`: at least a third of its meaningful words, each by its first five letters, because a
colleague's words are not the user's. What is captured of a message worth nothing, or holds another
fact, is wrong. `--auto` counts only what `MEMORY_CAPTURE=auto` keeps at once. `--all` prints every
capture, to be read: the criterion cannot tell a paraphrase.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from report import Table, show

from memory_mcp.domain.sessions import Turn
from memory_mcp.text.capture import find_captures

_DATA: Final = Path(__file__).with_name("data") / "open" / "talk.json"
_COVERED_MIN: Final = 0.33
_STEM_CHARS: Final = 5
_WORD: Final = re.compile(r"[\w@.'/-]*\w")
_EMPTY: Final = frozenset(
    re.findall(
        r"\w+",
        """the user users project is are was were a an of to in on for and or not with from than
        that this their they them it its be by as at only no der die das ein eine einen nutzer ist
        sind wird werden und oder nicht mit für von im den dem des zu auf als bei will wants want
        should must can because since""",
    )
)

_Case = dict[str, Any]


def main() -> None:
    """Judge every message once, and print the tables."""
    parser = argparse.ArgumentParser(description="Measure what is captured of talk.")
    parser.add_argument("--data", type=Path, default=_DATA)
    parser.add_argument("--all", action="store_true", help="print every capture")
    parser.add_argument("--auto", action="store_true", help="only what is kept without a question")
    args = parser.parse_args()
    cases: dict[str, list[_Case]] = json.loads(args.data.read_text("utf-8"))
    every = [case for side in cases.values() for case in side]
    captured = {case["id"]: _capture(case, auto=args.auto) for case in every}
    if args.all:
        _print_all(cases, captured)
    _print_quality(cases, captured)
    _print_wrong(cases["skip"], captured)
    _print_times([*cases["keep"], *cases["skip"]])


def _turns(case: _Case) -> list[Turn]:
    return [Turn(turn["role"], turn["content"]) for turn in case["turns"]]


def _capture(case: _Case, *, auto: bool) -> list[str]:
    return [each.statement for each in find_captures(_turns(case)) if each.sure or not auto]


def covers(expected: str, statement: str) -> bool:
    """Whether a statement holds the fact that was expected."""
    return measure_covered(expected, statement) >= _COVERED_MIN


def measure_covered(expected: str, statement: str) -> float:
    """The share of the meaningful words of a fact that a statement holds."""
    wanted = _stems(expected)
    return len(wanted & _stems(statement)) / len(wanted) if wanted else 1.0


def _stems(text: str) -> set[str]:
    return {word[:_STEM_CHARS] for word in _WORD.findall(text.lower()) if word not in _EMPTY}


def _print_quality(cases: dict[str, list[_Case]], captured: dict[str, list[str]]) -> None:
    table = Table(
        "Captured by the rules",
        ("of", "worth keeping", "right", "recall", "wrong", "precision"),
        "wrong: another fact of a message worth keeping, or anything of one worth nothing",
    )
    keep, skip = cases["keep"], cases["skip"]
    languages = sorted({case["lang"] for case in keep})
    groups = [("all", keep, skip)]
    groups += [(each, _where(keep, "lang", each), _where(skip, "lang", each)) for each in languages]
    for category in sorted({case["category"] for case in keep}):
        groups.append((category, _where(keep, "category", category), []))
    for name, worth, nothing in groups:
        told = [case for case in worth if captured[case["id"]]]
        right = sum(any(covers(c["expect"], said) for said in captured[c["id"]]) for c in told)
        wrong = len(told) - right + sum(bool(captured[case["id"]]) for case in nothing)
        precision = right / (right + wrong) if right + wrong else 1.0
        recall = right / len(worth)
        table.add(name, len(worth), right, f"{recall:.2f}", wrong, f"{precision:.2f}")
    show(table)


def _where(cases: Sequence[_Case], field: str, value: str) -> list[_Case]:
    return [case for case in cases if case[field] == value]


def _print_wrong(skip: Sequence[_Case], captured: dict[str, list[str]]) -> None:
    table = Table("Messages worth nothing", ("reason", "messages", "captured"))
    asked = Counter(case["why"] for case in skip)
    wrong = Counter(case["why"] for case in skip if captured[case["id"]])
    for reason, count in sorted(asked.items()):
        table.add(reason, count, wrong[reason])
    show(table)


def _print_times(cases: Sequence[_Case]) -> None:
    spent: list[float] = []
    for case in cases:
        turns = _turns(case)
        begun = time.perf_counter()
        find_captures(turns)
        spent.append((time.perf_counter() - begun) * 1000)
    spent.sort()
    table = Table(
        "Time for a prompt (ms), beside which the prompt does not wait", ("p50", "p95", "max")
    )
    p50, p95 = spent[len(spent) // 2], spent[int(len(spent) * 0.95)]
    table.add(f"{p50:.2f}", f"{p95:.2f}", f"{spent[-1]:.2f}")
    show(table)


def _print_all(cases: dict[str, list[_Case]], captured: dict[str, list[str]]) -> None:
    for case in (*cases["keep"], *cases["skip"]):
        if said := captured[case["id"]]:
            print(f"{case['id']} {case.get('expect', case.get('why'))}")
            for statement in said:
                print(f"     {statement}")


if __name__ == "__main__":
    main()
