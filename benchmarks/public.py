"""Public benchmarks, scored by their own rules on what the real server returns.

    python benchmarks/public.py NAME --data FILE [--modes lexical,semantic --model-home DIR]

NAME is factconsolidation, precisionmembench, statebench or locomo; FILE is a file of that
benchmark, brought along. No language model answers or judges: each benchmark's header, printed
first, says which rule is applied to what. Baselines run over the same texts in the same call. See
benchmarks/README.md for what each figure means.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import fact_consolidation
import locomo
import precision_mem_bench
import state_bench
from public_runs import Bench, Rows
from recall_runs import EMBEDDERS
from report import Table, machine, show

_BENCHMARKS: Final[Mapping[str, tuple[Rows, Callable[[Path, Bench], Iterable[Table]]]]] = {
    "factconsolidation": (fact_consolidation.ABOUT, fact_consolidation.measure),
    "precisionmembench": (precision_mem_bench.ABOUT, precision_mem_bench.measure),
    "locomo": (locomo.ABOUT, locomo.measure),
    "statebench": (state_bench.ABOUT, state_bench.measure),
}


def main() -> None:
    """Measure one benchmark, and print it as it comes."""
    options = _parse_options()
    about, measure = _BENCHMARKS[options.name]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        show(machine(folder))
        header = Table(options.name, ("what", "is"))
        for row in about:
            header.add(*row)
        header.add("data", options.data.name)
        show(header)
        bench = Bench(folder, tuple(options.modes), options.model_home, options.limit)
        for table in measure(options.data, bench):
            show(table)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure memory-mcp on a public benchmark.")
    parser.add_argument("name", choices=_BENCHMARKS, metavar="NAME", help=", ".join(_BENCHMARKS))
    parser.add_argument("--data", type=Path, required=True, metavar="FILE")
    parser.add_argument("--modes", default="lexical", help="lexical, semantic or both, by comma")
    parser.add_argument(
        "--model-home", type=Path, metavar="DIR", help="a MEMORY_HOME with models/minilm in it"
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="the first N questions of each store, or N stores"
    )
    options = parser.parse_args()
    options.modes = options.modes.split(",")
    if unknown := set(options.modes) - set(EMBEDDERS):
        parser.error(f"unknown mode: {', '.join(sorted(unknown))}; known: {', '.join(EMBEDDERS)}")
    if "semantic" in options.modes and options.model_home is None:
        parser.error("--modes semantic needs --model-home")
    return options


if __name__ == "__main__":
    main()
