"""A database with as many memories as wanted, filled in batches, of which only some are visible.

Texts are made once and repeated under ids and times of their own, because making a million takes
an hour. Each batch goes in by the statement with which a memory is added.
"""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from corpus import Corpus
from house import QuickDisk, lay_project, settings_in

from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.domain.ids import MAIN, SegmentId, mark_id
from memory_mcp.domain.record import Origin, RecordContext, format_time
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.head import load_head
from memory_mcp.storage.files.host import SystemIds
from memory_mcp.storage.postgres import PostgresIndex
from memory_mcp.storage.postgres.rows import INSERT, claim_values, count_terms, dump_rows
from memory_mcp.text.drafts import build_record

__all__ = ["fill_in_bulk"]

_TEXTS: Final = 20_000
_BATCH: Final = 1_000
_DAYS: Final = 300
_VISIBLE_SHARE: Final = 0.1
"""The others are on roads that were given up."""

_Row = dict[str, Any]


async def fill_in_bulk(folder: Path, size: int, database: str) -> None:
    """Fill the database of this URL, for the project under this folder."""
    async with open_workspace(settings_in(folder, database=database), disk=QuickDisk()) as built:
        await lay_project(folder, built)
        index = built.workspace.project.index.wrapped
        if not isinstance(index, PostgresIndex):
            raise TypeError(index)
        timeline = (await load_head(built.workspace)).timeline
        chain = sorted(timeline.chain(MAIN))
        left = sorted(frozenset(timeline.segments) - timeline.chain(MAIN))
        texts = _make_texts(built, await index.bank.number(), chain[0])
        batch: list[_Row] = []
        for number, row in enumerate(_repeat(texts, size, chain, left), 1):
            batch.append(row)
            if number % _BATCH == 0 or number == size:
                rows = json.dumps(batch, ensure_ascii=False)
                await index.bank.rows(INSERT, {"rows": rows, **claim_values(None)})
                batch.clear()
                await count_terms(index.bank)


def _make_texts(built: BuiltWorkspace, bank: int, segment: SegmentId) -> list[tuple[_Row, _Row]]:
    """Records as JSON, each with its row in the index."""
    corpus, ids, at = Corpus(seed=_TEXTS), SystemIds(), datetime.now(UTC).replace(microsecond=0)
    texts: list[tuple[_Row, _Row]] = []
    for _ in range(_TEXTS):
        draft = corpus.draft()
        record = build_record(
            draft,
            RecordContext(
                id=ids.new(at), at=at, scope=built.places.scope, origin=Origin(client="bench/1"),
                segment=segment, branch=MAIN,
            ),
        )  # fmt: skip
        (row,) = json.loads(dump_rows(bank, [(record, make_fields(record), "")])["rows"])
        texts.append((record.as_json(), row))
    return texts


def _repeat(
    texts: list[tuple[_Row, _Row]], size: int, chain: list[SegmentId], left: list[SegmentId]
) -> Iterator[_Row]:
    chance, ids = random.Random(size), SystemIds()
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(days=_DAYS, hours=1)
    placed = [each for each in texts if each[1]["segment"]]
    for number in range(size):
        now = begin + timedelta(days=_DAYS) * number / size
        seen = chance.random() < _VISIBLE_SHARE
        record, row = chance.choice(texts if seen else placed)
        line = chain if seen else left
        named = {"id": ids.new(now), "created_at": format_time(now)}
        if row["segment"]:
            named["segment"] = line[number * len(line) // size]
        text = json.dumps(record | named, ensure_ascii=False, indent=1)
        yield row | named | {"json": text, "mark": mark_id(named["id"])}
