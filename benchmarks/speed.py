"""How quick the memory is, measured on the machine it runs on.

    python benchmarks/speed.py [--sizes 100,1000,10000,100000] [--only start|commands|hook|…]

The figures are of this moment and this machine: compare columns of one table, which were measured
in turn, rather than tables of two runs. See benchmarks/README.md for what each figure means.
"""

import argparse
import asyncio
import os
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from cold_start import measure_start
from commands import measure_commands
from durable_add import measure_adds, measure_floor_of_files
from footprint import measure_footprint
from growth import measure_growth
from hook_start import measure_hooks
from many_writers import measure_writers
from node_layers import measure_layers
from opening import measure_opening
from report import machine, show
from searching import measure_reading, measure_searches
from with_cloud import measure_cloud
from with_model import measure_meaning
from with_postgres import SERVER_VARIABLE, measure_postgres

_PARTS: Final = (
    "start", "commands", "hook", "search", "read", "memory", "processes", "cloud", "model",
    "context", "growth", "layers", "postgres", "add",
)  # fmt: skip
"""Adding comes last: it makes the projects larger that the others look at."""


def main() -> None:
    """Measure what was asked for, and print it as it comes."""
    parser = argparse.ArgumentParser(description="Measure memory-mcp on this machine.")
    parser.add_argument(
        "--sizes", default="100,1000,10000,100000", help="how many memories, with commas between"
    )
    parser.add_argument("--only", choices=_PARTS, help="one part instead of all")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="work here and leave it: filled projects are reused",
    )
    parser.add_argument(
        "--model-home",
        type=Path,
        metavar="DIR",
        help="a MEMORY_HOME with models/minilm in it, for the part `model`",
    )
    parser.add_argument(
        "--before",
        type=Path,
        metavar="DIR",
        help="another checkout, measured in turn with this one (parts `commands` and `growth`)",
    )
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    parts = (given.only,) if given.only else _PARTS
    kept = nullcontext(given.keep) if given.keep else tempfile.TemporaryDirectory()
    with kept as name:
        folder = Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        show(machine(folder))
        for part in parts:
            asyncio.run(_measure(part, folder, sizes, given))


async def _measure(  # noqa: C901, PLR0912  # a line for each part
    part: str, folder: Path, sizes: list[int], given: argparse.Namespace
) -> None:
    sources = given.before and given.before / "src"
    match part:
        case "start":
            show(measure_start(folder / "start"))
        case "commands":
            show(measure_commands(folder / "commands", sources))
        case "hook":
            show(measure_hooks(folder / "hook"))
        case "search":
            show(await measure_searches(folder, sizes))
        case "read":
            show(await measure_reading(folder, sizes))
        case "memory":
            for table in await measure_footprint(folder, sizes):
                show(table)
        case "processes":
            with tempfile.TemporaryDirectory(dir=folder) as own:
                show(await measure_writers(Path(own)))
        case "cloud":
            with tempfile.TemporaryDirectory(dir=folder) as own:
                for table in measure_cloud(Path(own)):
                    show(table)
        case "context":
            with tempfile.TemporaryDirectory(dir=folder) as own:
                for table in await measure_opening(Path(own), [s for s in sizes if s <= 10_000]):
                    show(table)
        case "growth":
            show(measure_growth(folder / "growth", sizes, sources))
        case "layers":
            with tempfile.TemporaryDirectory(dir=folder) as own:
                show(await measure_layers(Path(own), max(sizes)))
        case "postgres":
            if (database := os.environ.get(SERVER_VARIABLE)) is None:
                print(f"\nPostgreSQL: not measured; {SERVER_VARIABLE} names a server.")
                return
            for size in sizes:
                with tempfile.TemporaryDirectory(dir=folder) as own:
                    async for table in measure_postgres(Path(own), size, database):
                        show(table)
        case "add":
            show(await measure_adds(folder, sizes))
            for size in sizes:
                show(await measure_floor_of_files(folder, size))
        case "model":
            if given.model_home is None:
                print("\nRecall by meaning: not measured; --model-home DIR says where a model is.")
                return
            for table in await measure_meaning(folder, sizes, given.model_home):
                show(table)
        case _:
            raise AssertionError(part)


if __name__ == "__main__":
    main()
