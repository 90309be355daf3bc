"""Proves that search works, with a question whose answer is known.

By words: the newest memory must be found by its own. By meaning: of two sentences that share no
word with the question, the right one must be nearer. So a damaged model, or an endpoint that
returns anything, does not pass for recall by meaning.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_view
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import MemoryBank, SemanticIndex, Workspace
from memory_mcp.errors import MemoryMcpError, ModelUnavailableError, StoreError
from memory_mcp.frozen import frozen
from memory_mcp.maintenance.encode import count_unencoded
from memory_mcp.search.local import find_local

_QUESTION: Final = "Where does the kitten like to nap?"
_ANSWER: Final = "Our cat sleeps on the warm windowsill."
_OTHER: Final = "Quarterly revenue grew by eight percent."

_QUERY_WORDS_MAX: Final = 8
"""The first words of a memory: enough to find it."""


@frozen
class RecallProof:
    """The mode that a search runs in, what proves it, and what is wrong with it."""

    mode: str
    proof: str
    findings: tuple[Finding, ...] = ()


async def probe_recall(workspace: Workspace, known: Sequence[Finding] = ()) -> RecallProof:
    """Search by words and by meaning, and report the result, without what is `known` already."""
    words, findings = await _prove_by_words(workspace, known)
    meaning = workspace.project.meaning
    if meaning is None:
        return RecallProof("words+table", words, tuple(findings))
    try:
        meant = await _prove_by_meaning(meaning)
    except ModelUnavailableError as error:
        found = Finding("model-unusable", "should", str(error), "Searches go by words until then.")
        return RecallProof("words+table", words, (*findings, found))
    if not meant:
        what = f"{meaning.embedder.identity} finds a sentence about money nearer to a question "
        what += "about a cat than one about a cat."
        remedy = "Choose another one with MEMORY_EMBEDDER, or add the model anew."
        return RecallProof(
            "semantic", words, (*findings, Finding("probe-failed", "must", what, remedy))
        )
    for bank in workspace.banks:
        findings += await _check_vectors(bank)
    left = await count_unencoded(workspace)
    records = pluralise(left, "record is", "records are")
    behind = f" {records} not encoded yet." if left else ""
    return RecallProof("semantic", f"{words} {meant}{behind}", tuple(findings))


async def _prove_by_words(
    workspace: Workspace, known: Sequence[Finding]
) -> tuple[str, list[Finding]]:
    """Search for the newest memory by its own words."""
    try:
        view = await load_view(workspace)
        read = await load_newest(workspace, view, Filters(), 1)
        if not read.records:
            return "There is no memory yet to look for.", []
        wanted = read.records[0]
        asked = " ".join(wanted.content.split()[:_QUERY_WORDS_MAX])
        found = await find_local(workspace, asked, view, Filters())
    except MemoryMcpError as error:
        failed = error if isinstance(error, StoreError) else StoreError(str(error))
        if any(each.what == failed.what for each in known):
            return "", []
        reindex = "Run `memory-mcp doctor --reindex`."
        return "", [Finding.of("search-failed", "must", failed, reindex)]
    if not found.question.every or wanted.id in found.home:
        return "By words: the newest memory is found by its own.", []
    what = f"The newest memory {wanted.id} is not found by its own words."
    return "", [Finding("probe-failed", "must", what, "Run `memory-mcp doctor --reindex`.")]


async def _prove_by_meaning(meaning: SemanticIndex) -> str:
    """How near the two sentences are to the question; empty if the wrong one is nearer."""
    from memory_mcp.ranking.late_interaction import measure_nearness  # noqa: PLC0415  # numpy

    right, wrong = RecordId("right"), RecordId("wrong")
    passages = await meaning.embedder.passages([_ANSWER, _OTHER])
    asked = await meaning.embedder.question(_QUESTION)
    pairs = dict(zip((right, wrong), passages, strict=True))
    near = (await asyncio.to_thread(measure_nearness, asked, pairs)).pooled
    if near[right] <= near[wrong]:
        return ""
    return (
        f"By meaning ({meaning.embedder.identity}): of two sentences without a word in common with "
        f"the question the right one is nearer, {near[right]:.2f} against {near[wrong]:.2f}."
    )


async def _check_vectors(bank: MemoryBank) -> list[Finding]:
    damaged = await bank.meaning.vectors.damaged() if bank.meaning else 0
    if not damaged:
        return []
    rows = pluralise(damaged, "row of vectors is", "rows of vectors are")
    what = f"{rows} damaged and left out of searches by meaning."
    return [Finding("vectors-damaged", "should", what, "Run `memory-mcp doctor --reindex`.")]
