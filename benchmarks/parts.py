"""What each part of the ranking finds alone, and what the whole makes of them.

    python benchmarks/parts.py benchmarks/data/*.json benchmarks/data/open/statements_*.json
    python benchmarks/parts.py --model <MEMORY_HOME>/models/minilm --locomo locomo10.json ...

For each set: the share of questions whose answer comes first, is among three, the recall among ten,
and the mean reciprocal rank, in percent. *words*, *parts of the query* and *the whole meaning* are
the three figures of `memory_mcp/ranking/evidence.py`, each alone; *order* is what the server shows.
Without `--model` meanings come from the table of related words. Of our own sets the dev half is
asked (`--split test` for the other). Everything is computed in memory, by the ranking's own code;
`recall.py` asks the real server.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from families import Found, Store, Vectors
from recall_metrics import K, hit_at, recall_at, rr
from recall_sets import Conversation, load
from report import Table, machine, show

from memory_mcp.domain.ids import RecordId
from memory_mcp.ranking.evidence import Evidence

Order = Callable[[Found], Sequence[RecordId]]

AMONG: Final = 3


def sort_by(part: Callable[[Evidence], float]) -> Order:
    """The order by one figure of the evidence alone."""

    def order(found: Found) -> Sequence[RecordId]:
        evidence = found.evidence()
        return sorted(evidence, key=lambda id_: (-part(evidence[id_]), id_))

    return order


ORDERS: Final[Mapping[str, Order]] = {
    "words": sort_by(lambda each: each.words),
    "parts of the query": sort_by(lambda each: each.tokens),
    "the whole meaning": sort_by(lambda each: each.whole),
    "order": lambda found: [one.id for one in found.ranked()],
}


def measure(stores: Sequence[Store], split: str) -> dict[str, tuple[float, ...]]:
    """The figures of each order over all questions of these stores that have an answer."""
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in ORDERS}
    for store in stores:
        for asked in store.conversation.questions:
            if not asked.gold or asked.split not in ("", split):
                continue
            found = store.find(asked.text)
            for name, order in ORDERS.items():
                ids, gold = order(found), asked.gold
                rows[name].append(
                    (
                        hit_at(1, ids, gold),
                        hit_at(AMONG, ids, gold),
                        recall_at(K, ids, gold),
                        rr(ids, gold),
                    )
                )
    return {
        name: tuple(100 * fmean(column) for column in zip(*each, strict=True))
        for name, each in rows.items()
    }


def main() -> None:
    """Read, measure, print."""
    reader = argparse.ArgumentParser(description="What each part of the ranking finds.")
    reader.add_argument("sets", type=Path, nargs="*")
    reader.add_argument("--locomo", type=Path)
    reader.add_argument("--model", type=Path)
    reader.add_argument("--kept", type=Path, default=Path("vectors.pickle"))
    reader.add_argument("--split", default="dev")
    given = reader.parse_args()
    vectors = Vectors(given.model, given.kept) if given.model else None
    sources: dict[str, list[Conversation]] = {path.stem: load(path) for path in given.sets}
    if given.locomo:
        sources |= {"turns": load(given.locomo, "turns"), "facts": load(given.locomo, "facts")}
    show(machine(Path.cwd()))
    table = Table(
        f"By parts, {'MiniLM' if vectors else 'table of related words'} (percent)",
        ("set", "by", "first", f"among {AMONG}", f"R@{K}", "MRR"),
    )
    for name, conversations in sources.items():
        found = measure([Store(each, vectors) for each in conversations], given.split)
        for order, figures in found.items():
            table.add(name, order, *figures)
    show(table)
    if vectors:
        vectors.keep()


if __name__ == "__main__":
    main()
