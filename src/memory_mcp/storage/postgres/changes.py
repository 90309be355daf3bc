"""What a project's records and a user's come to, at a glance."""

from collections.abc import Sequence
from typing import Final

from memory_mcp.errors import StoreError
from memory_mcp.storage.postgres.rows import Bank

_GLANCE: Final = """
    SELECT b.records + (SELECT count(*) FROM uncounted u WHERE u.bank = :bank),
        b.marks # coalesce((
            SELECT bit_xor(r.mark) FROM uncounted u JOIN entry r USING (row)
            WHERE u.bank = :bank), 0),
        coalesce((SELECT version FROM head WHERE head.bank = :bank), 0)
    FROM bank b WHERE b.number = :bank"""


async def describe_state(banks: Sequence[Bank]) -> tuple[bool, str] | None:
    """Whether the first bank has records, and a text that changes with any record or head.

    None if the database does not say.
    """
    try:
        found = [tuple((await bank.rows(_GLANCE))[0]) for bank in banks]
    except StoreError:
        return None
    return found[0][0] > 0, "\n".join(" ".join(map(str, each)) for each in found)
