"""Whether a record is wanted: what the index asks in SQL, for records that came another way."""

from memory_mcp.domain.profile import field_of
from memory_mcp.domain.record import Record
from memory_mcp.domain.views import Filters

__all__ = ["passes"]


def passes(record: Record, filters: Filters) -> bool:
    """Whether a record is wanted, as the docstring of `Filters` says it."""
    tags = {tag.casefold() for tag in record.tags}
    return (
        (filters.with_profile or field_of(record) is None)
        and (not filters.category or record.category.casefold() == filters.category.casefold())
        and (not filters.key or _has_key(record, filters.key))
        and tags.issuperset(tag.casefold() for tag in filters.tags)
        and (not filters.kinds or record.kind in filters.kinds)
        and (filters.phase is None or record.phase == filters.phase)
        and (filters.segments is None or record.segment in filters.segments)
        and (filters.branch is None or record.branch == filters.branch)
        and (filters.durable is None or record.durable is filters.durable)
        and (filters.reach is None or (filters.reach == "user") is (record.scope.project is None))
        and (filters.since is None or record.created_at >= filters.since)
        and (filters.until is None or record.created_at < filters.until)
        and (filters.session is None or record.origin.session == filters.session)
        and (not filters.statement or record.statement == filters.statement)
        and (not filters.statements or record.statement in filters.statements)
    )


def _has_key(record: Record, wanted: str) -> bool:
    beginning = wanted.removesuffix("*")
    if beginning == wanted:
        return record.key == wanted
    return bool(record.key) and record.key.startswith(beginning)
