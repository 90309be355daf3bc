"""What the user said of other members' records, in memory."""

from memory_mcp.domain.record import Record


class ReviewsInMemory:
    """Implements `ports.Reviews`."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def note(self, record: Record, word: str) -> None:
        self._said.add((record.id, word))

    def withdraw(self, record: Record, word: str) -> None:
        self._said.discard((record.id, word))

    def knows(self, record: Record, word: str) -> bool:
        return (record.id, word) in self._said
