"""What an index keeps of a record: what is searched, and what its statements are compared by."""

from memory_mcp.domain.record import Record
from memory_mcp.domain.search import SearchFields


def make_fields(record: Record) -> SearchFields:
    """The searched fields of a record, with the outline of what it states."""
    # a command that writes nothing reads no text
    from memory_mcp.ranking.analysis import extract_fields, make_encoder_text  # noqa: PLC0415
    from memory_mcp.text.truths import pack_outline  # noqa: PLC0415

    titled = (make_encoder_text(record),) if record.title else ()
    return extract_fields(record)._replace(outline=pack_outline(record, *titled))
