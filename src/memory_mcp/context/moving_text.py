"""What an import did, or would do, as fields and as a person reads it."""

from collections.abc import Mapping
from typing import Any, Final

from memory_mcp.domain.moving import Imported, LeftOut, Touch

_TOUCHED: Final[dict[Touch, str]] = {
    "erases": "Memories here that were forgotten there, and go for good",
    "hides": "Memories here that it hides",
    "replaces": "Memories here that it replaces",
}
_EXAMPLES_MAX: Final = 3
"""Items named for each reason: enough to know which they are."""


def imported_fields(done: Imported) -> dict[str, Any]:
    """The outcome for a program; what was left out is counted by its reason."""
    return {
        "success": True,
        "dryRun": done.dry,
        "source": done.source,
        "read": done.read,
        "stored": done.stored,
        "known": done.known,
        "leftOut": len(done.left_out),
        "records": done.records,
        "kinds": dict(sorted(done.kinds.items())),
        "redactions": dict(sorted(done.redactions.items())),
        "erases": done.erases,
        "hides": done.hides,
        "replaces": done.replaces,
        "touched": {name: list(said) for name, said in done.touched.items()},
        "reasons": [
            {"reason": reason, "items": len(items), "examples": items[:_EXAMPLES_MAX]}
            for reason, items in _reasons(done.left_out).items()
        ],
        "first": list(done.first),
        "notes": list(done.notes),
        "message": _message(done),
    }


def imported_text(fields: Mapping[str, Any]) -> str:
    """The outcome for a person."""
    lines = [str(fields["message"])]
    if fields["kinds"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in fields["kinds"].items())
        lines.append(f"Records: {kinds}.")
    lines += [f"  {said}" for said in fields["first"]]
    if fields["redactions"]:
        rules = ", ".join(f"{count} {rule}" for rule, count in fields["redactions"].items())
        lines.append(f"Secrets taken out: {rules}.")
    for name, words in _TOUCHED.items():
        if fields[name]:
            lines.append(f"{words}: {fields[name]}.")
            lines += [f"  {said}" for said in fields["touched"].get(name, ())]
    for reason in fields["reasons"]:
        lines.append(f"Left out, {reason['items']}: {reason['reason']}")
        lines += [f"  {item}" for item in reason["examples"]]
    return "\n".join([*lines, *fields["notes"]])


def _message(done: Imported) -> str:
    verb = "would be stored" if done.dry else "stored"
    counts = f"{done.stored} {verb}, {done.known} known already, {len(done.left_out)} left out"
    said = f"{done.source}: of {done.read} items {counts}."
    return f"{said} Nothing was written." if done.dry else said


def _reasons(left_out: tuple[LeftOut, ...]) -> dict[str, list[str]]:
    """The items by their reasons, the most frequent first."""
    found: dict[str, list[str]] = {}
    for each in left_out:
        found.setdefault(each.reason, []).append(each.item)
    return dict(sorted(found.items(), key=lambda pair: -len(pair[1])))
