"""What the user said of records that others wrote, on the ledger of such words.

    <user's state>/reviews/<project>/ledger    a line `<id> <word> <digest>` for each

The digest is the record's, so that a word does not hold for what took its place.
"""

from pathlib import Path

from memory_mcp.disk import Disk
from memory_mcp.domain.record import Record
from memory_mcp.storage.files.trust import Ledger, compute_record_digest


class LocalReviews:
    """Implements `ports.Reviews`."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._ledger = Ledger(folder, disk)

    def note(self, record: Record, word: str) -> None:
        self._ledger.note(f"{record.id} {word}", compute_record_digest(record))

    def knows(self, record: Record, word: str) -> bool:
        return self._ledger.knows(f"{record.id} {word}", compute_record_digest(record))
