"""Asking an index: from which segments, and for what."""

from fakes import Scribe

from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.search import Candidate, Filters, View
from memory_mcp.ports import SearchIndex
from memory_mcp.words.terms import extract_terms

HERE = SegmentId("here")
ELSEWHERE = SegmentId("elsewhere")
ANY = Filters()


def seen(scribe: Scribe, *segments: SegmentId) -> View:
    """What can be seen now from these segments; from `HERE` if there are none."""
    return View(chain=frozenset(segments or (HERE,)), now=scribe.clock.now())


async def candidates(
    index: SearchIndex, text: str, view: View, filters: Filters = ANY, limit: int = 60
) -> list[Candidate]:
    """What has a term of the text, best first."""
    asked = extract_terms(text)
    return await index.match(asked, await index.corpus(asked, view), view, filters, limit)


async def matched(
    index: SearchIndex, text: str, view: View, filters: Filters = ANY, limit: int = 60
) -> list[RecordId]:
    """The ids of these."""
    return [c.id for c in await candidates(index, text, view, filters, limit)]
