"""The doctor proves how memories are found, instead of believing what was set up."""

import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from doors import machine_dir
from encoding_stories import add
from fake_embedder import FakeEmbedder, meaningful
from fakes import close_workspace, real_workspace

from memory_mcp import maintenance, sessions
from memory_mcp.engine.workspace import Workspace

pytestmark = pytest.mark.anyio

KITTEN = (("cat", "kitten"), ("sleeps", "nap"))
"""What makes the question of the probe resemble its answer."""


@pytest.fixture
async def model() -> FakeEmbedder:
    return FakeEmbedder(synonyms=KITTEN)


@pytest.fixture
async def workspace(tmp_path: Path, model: FakeEmbedder) -> AsyncGenerator[Workspace]:
    found = meaningful(tmp_path, model)
    yield found
    await close_workspace(found)


async def test_without_a_model_words_are_proved(tmp_path: Path) -> None:
    """The newest memory is found by its own words."""
    plain = real_workspace(tmp_path)
    empty = await maintenance.probe_recall(plain)
    await add(plain, "Orders live in PostgreSQL.")
    proved = await maintenance.probe_recall(plain)
    await close_workspace(plain)

    assert (empty.mode, empty.findings) == ("words+table", ())
    assert "no memory yet" in empty.proof
    assert proved.proof == "By words: the newest memory is found by its own."


async def test_a_model_is_proved_by_a_question_it_has_never_seen(workspace: Workspace) -> None:
    """The right one of two sentences, by figures; what is not encoded yet is said too."""
    await add(workspace, "Orders live in PostgreSQL.")
    behind = await maintenance.probe_recall(workspace)
    await maintenance.encode_all(workspace)
    proved = await maintenance.probe_recall(workspace)

    assert proved.mode == "semantic"
    assert "the right one is nearer" in proved.proof
    assert "1 record is not encoded yet" in behind.proof
    assert "not encoded" not in proved.proof
    assert proved.findings == ()


async def test_a_model_that_does_not_work_is_a_finding_and_no_proof(
    workspace: Workspace, model: FakeEmbedder
) -> None:
    """An outage must not pass for recall by meaning."""
    model.failing = "The model is on holiday."
    probed = await maintenance.probe_recall(workspace)

    assert probed.mode == "words+table"
    assert [(f.code, f.what) for f in probed.findings] == [
        ("model-unusable", "The model is on holiday.")
    ]


async def test_a_model_that_knows_nothing_is_found_out(tmp_path: Path) -> None:
    """It answers in the right form; only a question whose answer is known shows it."""
    wrong = FakeEmbedder(synonyms=(("revenue", "kitten"), ("quarterly", "nap"), ("grew", "like")))
    workspace = meaningful(tmp_path, wrong)
    probed = await maintenance.probe_recall(workspace)
    await close_workspace(workspace)

    assert [finding.code for finding in probed.findings] == ["probe-failed"]


async def test_damaged_vectors_are_named_and_made_anew(
    tmp_path: Path, workspace: Workspace
) -> None:
    """They are left out of searches meanwhile; `reindex` is the way back."""
    for number in range(3):
        await add(workspace, f"memory number {number}")
    await maintenance.encode_all(workspace)
    path = machine_dir(tmp_path / "project") / "index.sqlite3"
    with sqlite3.connect(path) as db:
        db.execute("UPDATE vector_whole SET pooled = zeroblob(length(pooled)) WHERE number = 1")
    db.close()

    damaged = await maintenance.probe_recall(workspace)
    await sessions.reindex(workspace)
    await maintenance.encode_all(workspace)

    assert [finding.code for finding in damaged.findings] == ["vectors-damaged"]
    assert (await maintenance.probe_recall(workspace)).findings == ()
