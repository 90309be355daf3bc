"""What the user said of records that others wrote, on the ledger of such words.

    <user's state>/reviews/<project>/ledger    a line `<id> <word> <digest>` for each,
                                               `<id> not-<word> <digest>` where it was taken back
    <user's state>/reviews/team/ledger         the same of what is a team's, in every project

The digest is the record's, so that a word does not hold for what took its place.
"""

from pathlib import Path

from memory_mcp.disk import Disk
from memory_mcp.domain.record import Record
from memory_mcp.storage.files.trust import Ledger
from memory_mcp.storage.stored import compute_record_digest


class LocalReviews:
    """Implements `ports.Reviews`."""

    def __init__(self, folder: Path, project: str, disk: Disk) -> None:
        self._of_project = Ledger(folder / project, disk)
        self._of_team = Ledger(folder / "team", disk)

    def _find_ledger(self, record: Record) -> Ledger:
        return self._of_team if record.scope.reach == "team" else self._of_project

    def note(self, record: Record, word: str) -> None:
        if not self.knows(record, word):
            self._find_ledger(record).add(f"{record.id} {word}", compute_record_digest(record))

    def withdraw(self, record: Record, word: str) -> None:
        if self.knows(record, word):
            self._find_ledger(record).add(f"{record.id} not-{word}", compute_record_digest(record))

    def knows(self, record: Record, word: str) -> bool:
        noted, digest = self._find_ledger(record).load(), compute_record_digest(record)
        said, taken_back = (
            noted.count(f"{record.id} {each}", digest) for each in (word, f"not-{word}")
        )
        return said > taken_back
