"""`memory-mcp profile`: what is known of the user, and which memories it rests on."""

import argparse

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli.show import Fields, Shown
from memory_mcp.context.profile import profile_line
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.profile import LABELS, Profile


async def profile(rooms: Rooms, given: argparse.Namespace) -> Shown:
    """Show the profile, field by field."""
    del given
    match await app.user_profile(rooms):
        case Profile() as known:
            return Shown(_fields(known), _text)
        case Skipped(reason):
            return Shown({"success": False, "message": reason})


def _fields(known: Profile) -> Fields:
    return {
        "success": True,
        "line": profile_line(known),
        "facts": [
            {
                "field": entry.fact.field,
                "value": entry.fact.value,
                "memoryId": entry.memory_id,
                "from": list(entry.sources),
            }
            for entry in known.entries
        ],
        "timeZone": known.zone or None,
        "impliedBy": known.value("city") if known.implied_zone else None,
        "message": (
            ""
            if known.entries
            else 'Nothing is known of the user yet: memory-mcp add --scope user "My name is …".'
        ),
    }


def _text(fields: Fields) -> str:
    lines: list[str] = []
    for fact in fields["facts"]:
        origin = f"from {', '.join(fact['from'])}" if fact["from"] else "as it was said"
        lines.append(f"{LABELS[fact['field']]}: {fact['value']}\n     {fact['memoryId']} {origin}")
    if fields["impliedBy"]:
        lines.append(f"Time zone: {fields['timeZone']}, because of {fields['impliedBy']}")
    return "\n".join([*lines, *([fields["message"]] if fields["message"] else [])])
