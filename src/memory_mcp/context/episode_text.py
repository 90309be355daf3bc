"""What became of an episode, as fields."""

from typing import Any, assert_never

from memory_mcp.domain.outcomes import Captured, EpisodeOutcome, Skipped, Waited


def episode_fields(outcome: EpisodeOutcome) -> dict[str, Any]:
    """The receipt of a capture. To wait is no failure."""
    match outcome:
        case Captured(record, merged, notes):
            said = "Merged into the last episode." if merged else "Captured."
            return {
                "success": True,
                "memoryId": record.id,
                "outcome": "merged" if merged else "inserted",
                "title": record.title,
                "replaced": list(merged[:1]),
                "message": " ".join((said, *notes)),
            }
        case Waited(reason):
            return {"success": True, "outcome": "waited", "message": reason}
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)
