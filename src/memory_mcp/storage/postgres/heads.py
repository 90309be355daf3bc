"""The head and its history, the ids that were erased, and the journal of an import.

A head is replaced in one transaction with the line of its move, if its revision is the expected one
(compare and swap). No lock is held between reading a head and replacing it.
"""

import json
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.errors import ConflictError, NewerSchemaError, StoreDamagedError
from memory_mcp.hints import name_step
from memory_mcp.storage.postgres.database import fetch
from memory_mcp.storage.postgres.rows import Bank
from memory_mcp.storage.postgres.schema import NAMESPACE, Connection
from memory_mcp.storage.stored import (
    MAKE_HEAD_ANEW,
    dump_head,
    dump_history_line,
    dump_record,
    dump_timeline,
    load_record,
    parse_head,
)

# what was read once is not sent again
_READ: Final = """
    SELECT version, CASE WHEN version <> :known THEN json END AS json FROM head
    WHERE bank = :bank"""

_FOR_UPDATE: Final = """
    SELECT version, revision, CASE WHEN :whole OR version <> :known THEN json END AS json FROM head
    WHERE bank = :bank FOR UPDATE"""
_REVISION: Final = "SELECT revision FROM head WHERE bank = :bank"
_BEGIN: Final = """
    INSERT INTO head (bank, version, revision, json) VALUES (:bank, 1, :revision, :json)
    ON CONFLICT DO NOTHING RETURNING version"""
_REPLACE: Final = """
    UPDATE head SET version = version + 1, revision = :revision, json = :json
    WHERE bank = :bank AND revision = :expected RETURNING version"""
_LOG: Final = """
    INSERT INTO history (bank, move, json)
    SELECT :bank, move, json FROM unnest(:moves::text[], :lines::text[]) logged (move, json)
    ON CONFLICT DO NOTHING"""


class PostgresHeads:
    """Implements `ports.HeadStore` for the project's bank."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self._where = f"the head in {bank.database.name}"
        self._known: tuple[int, Head] | None = None
        self._dumped: tuple[Timeline, bytes] | None = None

    @property
    def place(self) -> str:
        return self._where

    async def read(self) -> Head | None:
        known = self._known
        rows = await self.bank.rows(_READ, {"known": known[0] if known else 0})
        if not rows:
            self._known = None
            return None
        version, text = rows[0]
        if text is not None:
            self._known = known = version, parse_head(self._where, text.encode())
        return known[1] if known else None

    async def replace(self, head: Head, *, expected: int) -> None:
        number, text = await self.bank.number(), self._dump(head)
        values = {
            "bank": number, "revision": head.revision, "json": text, "expected": expected,
        }  # fmt: skip

        tried = False

        async def replace(connection: Connection) -> int:
            nonlocal tried
            again, tried = tried, True
            known = self._known[0] if self._known else 0
            present = await fetch(
                connection, _FOR_UPDATE, {"bank": number, "known": known, "whole": again}
            )
            if again and present and present[0]["json"] == text:
                return present[0]["version"]  # the first try, whose answer was lost
            if present and present[0]["version"] != known:
                parse_head(self._where, present[0]["json"].encode())  # a damaged one stays
            begins = not present and expected == 0
            done = await fetch(connection, _BEGIN if begins else _REPLACE, values)
            if not done:
                there = await fetch(connection, _REVISION, {"bank": number})
                raise ConflictError(
                    f"The head is at revision {there[0]['revision'] if there else 0}, not "
                    f"{expected}: another session moved it in between. Look again with "
                    f"{name_step('memory_head')} and repeat."
                )
            if head.last is not None:
                await fetch(connection, _LOG, _dump_lines(number, [head.last]))
            return done[0]["version"]

        self._known = await self.bank.transact(replace), head

    def _dump(self, head: Head) -> str:
        """The text of a head; of one timeline most of it is made once."""
        if self._dumped is None or self._dumped[0] is not head.timeline:
            self._dumped = head.timeline, dump_timeline(head.timeline, head.timeline)
        return dump_head(head, self._dumped[1]).decode()

    async def find_unlogged(self, moves: Sequence[Record]) -> list[Record]:
        rows = await self.bank.rows(
            "SELECT move FROM history WHERE bank = :bank AND move = ANY(:moves)",
            {"moves": [move.id for move in moves]},
        )
        logged = {row[0] for row in rows}
        return [move for move in moves if move.id not in logged]

    async def log(self, moves: Sequence[Record]) -> None:
        if moves:
            await self.bank.rows(_LOG, _dump_lines(await self.bank.number(), moves))

    async def findings(self, *, repair: bool) -> list[Finding]:
        try:
            await self.read()
        except NewerSchemaError as error:
            return [Finding.of("head-newer", "must", error, "Update memory-mcp.")]
        except StoreDamagedError as error:
            if repair:
                await self._set_aside()
            return [Finding.of("head-damaged", "must", error, MAKE_HEAD_ANEW, repaired=repair)]
        return await self._find_unbound_role()

    async def _find_unbound_role(self) -> list[Finding]:
        """The role, if row-level security does not hold it."""
        (role,) = await self.bank.rows(
            "SELECT rolname, rolsuper OR rolbypassrls AS unbound FROM pg_roles "
            "WHERE rolname = current_user"
        )
        if not role["unbound"]:
            return []
        what = (
            f"The role {role['rolname']!r} of {self.bank.database.name} is held to no row-level "
            "security: only memory-mcp itself keeps users and projects apart."
        )
        remedy = (
            "`CREATE ROLE memory LOGIN PASSWORD '…'`, let it own the database and the schema "
            f"{NAMESPACE} with its tables, and name it in MEMORY_POSTGRES_URL."
        )
        return [Finding("role-above-policies", "should", what, remedy)]

    async def _set_aside(self) -> None:
        await self.bank.rows(
            "WITH gone AS (DELETE FROM head WHERE bank = :bank RETURNING json) "
            "INSERT INTO head_set_aside (bank, json) SELECT :bank, json FROM gone"
        )


def _dump_lines(number: int, moves: Sequence[Record]) -> dict[str, Any]:
    lines = [dump_history_line(move).decode() for move in moves]
    return {"bank": number, "moves": [move.id for move in moves], "lines": lines}


class PostgresErasedLog:
    """Implements `ports.ErasedLog`."""

    def __init__(self, bank: Bank) -> None:
        self._bank = bank

    async def ids(self) -> frozenset[RecordId]:
        rows = await self._bank.rows("SELECT id FROM erased WHERE bank = :bank")
        return frozenset(RecordId(row[0]) for row in rows)

    async def add(self, record_ids: Collection[RecordId]) -> None:
        await self._bank.rows(
            "INSERT INTO erased (bank, id) SELECT :bank, unnest(:ids::text[]) "
            "ON CONFLICT DO NOTHING",
            {"ids": sorted(record_ids)},
        )


_IMPORTING: Final = 730_582
"""The space of the advisory locks of those who import."""


class PostgresImportJournal:
    """Implements `ports.ImportJournal`. Whoever holds it has a connection that holds a lock."""

    def __init__(self, bank: Bank) -> None:
        self._bank = bank

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[bool]:
        lock = _IMPORTING, await self._bank.number()
        async with self._bank.database.hold_lock(*lock) as free:
            yield free

    async def waiting(self) -> bool:
        return bool(await self._bank.rows("SELECT FROM journal WHERE bank = :bank LIMIT 1"))

    async def note(self, records: Sequence[Record]) -> None:
        # the first row says how many follow, as in the file: half of an import is no import
        lines = [json.dumps({"records": len(records)}), *(dump_record(r).decode() for r in records)]
        await self._bank.rows(
            "WITH gone AS (DELETE FROM journal WHERE bank = :bank AND number >= :count) "
            "INSERT INTO journal (bank, number, json) SELECT :bank, number - 1, json "
            "FROM unnest(:lines::text[]) WITH ORDINALITY noted (json, number) "
            "ON CONFLICT (bank, number) DO UPDATE SET json = excluded.json",
            {"lines": lines, "count": len(lines)},
        )

    async def noted(self) -> list[Record]:
        rows = await self._bank.rows("SELECT json FROM journal WHERE bank = :bank ORDER BY number")
        if not rows:
            return []
        where = f"the journal of an import in {self._bank.database.name}"
        try:
            head, *lines = (json.loads(row["json"]) for row in rows)
            if head["records"] != len(lines):
                raise ValueError("rows are missing")  # noqa: TRY301  # one way to be damaged
            texts = zip(rows[1:], lines, strict=True)
            return [load_record(r["json"].encode(), where, line["id"]) for r, line in texts]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreDamagedError(
                f"{where} is damaged. Delete its rows and import again: what came before stays, "
                "and nothing is stored twice."
            ) from error

    async def clear(self) -> None:
        await self._bank.rows("DELETE FROM journal WHERE bank = :bank")
