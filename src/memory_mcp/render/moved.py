"""What a move to another store came to, as fields and as text."""

from collections.abc import Mapping
from typing import Any, Literal

from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.transfer import MoveReport

_SETTING: Mapping[str, str] = {"files": "local", "postgres": "postgres"}


def render_move_fields(report: MoveReport, to: Literal["files", "postgres"]) -> dict[str, Any]:
    """The report as fields of an answer."""
    switch = (
        f"Everything is there. Set MEMORY_PROVIDER={_SETTING[to]} and start again; what was here "
        "stays where it is."
    )
    again = "Not everything is there as it is here: somebody wrote meanwhile. Repeat the command."
    stays = (
        f" What the team {report.team} keeps stays in the database; "
        "`memory-mcp export --scope team` takes a copy."
        if report.team
        else ""
    )
    return {
        "success": report.same,
        "to": to,
        "banks": [
            {
                "scope": bank.reach,
                "records": bank.records,
                "digest": bank.digest,
                "arrived": bank.arrived,
                "digestThere": bank.digest_there,
                "others": bank.others,
                "same": bank.same,
            }
            for bank in report.banks
        ],
        "moves": report.moves,
        "sameHead": report.same_head,
        "message": (switch if report.same else again) + stays,
    }


def render_move_text(fields: Mapping[str, Any]) -> str:
    """The same for a person."""
    lines: list[str] = []
    for bank in fields["banks"]:
        others = f", beside {bank['others']} others" if bank["others"] else ""
        lines.append(
            f"{bank['scope']}: {pluralise(bank['records'], 'record', 'records')} here "
            f"({bank['digest'][:16]}), {bank['arrived']} there ({bank['digestThere'][:16]}){others}"
        )
    head = "the same head" if fields["sameHead"] else "another head"
    lines.append(f"{head}, {pluralise(fields['moves'], 'move', 'moves')}")
    return "\n".join([*lines, fields["message"]])
