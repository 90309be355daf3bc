"""MiniLM on this machine: loaded late, let go early, checked before it is used, and any good."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]  # has none
import pytest
from fake_embedder import meaningful
from fakes import close_workspace
from numpy.typing import NDArray
from paths import SUPPORT
from tiny_model import HIDDEN, SHAPE, TOKEN_BYTES, opened, silent, tiny_minilm, tiny_store
from tiny_model import tiny_vendor as vendor_of

from memory_mcp import maintenance, memories, sessions
from memory_mcp.domain.record import Draft
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.graph import build_graph
from memory_mcp.models.local import (
    GRAPH,
    MANIFEST,
    MEAN,
    TOKENIZER,
    WEIGHTS,
    LocalModel,
    read_manifest,
)

pytestmark = pytest.mark.anyio

TEA = "Ada prefers tea in the morning."


@pytest.fixture
def tiny(tmp_path: Path) -> LocalModel:
    return tiny_minilm(tmp_path)


async def test_nothing_is_loaded_before_the_first_call(tiny: LocalModel) -> None:
    """A server that nobody searches pays nothing."""
    assert tiny.identity.startswith("tiny/int8/")
    assert not tiny.loaded

    await tiny.question(TEA)

    assert tiny.loaded
    await tiny.aclose()
    assert not tiny.loaded


def test_a_process_that_only_knows_of_the_model_imports_no_library() -> None:
    """They take 150 ms and 40 MB; most sessions start without a search."""
    heavy = ["numpy", "onnx", "onnxruntime", "tokenizers", "safetensors", "httpx"]
    code = (
        "import sys, memory_mcp.build as w, memory_mcp.config.settings as s\n"
        "named = {'MEMORY_EMBEDDER': 'ollama', 'MEMORY_EMBEDDER_MODEL': 'm'}\n"
        "w.build_embedder(s.read_settings(named))\n"
        "w.build_embedder(s.read_settings({}))\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


async def test_a_model_that_nobody_asks_is_let_go_and_comes_back(tmp_path: Path) -> None:
    """It takes 60 MB in each session; a session may be left open for days."""
    model = tiny_minilm(tmp_path, idle_seconds=0.0)
    before = await model.question(TEA)
    with anyio.fail_after(10):
        while model.loaded:  # noqa: ASYNC110  # nobody tells when memory is given back
            await anyio.sleep(0.001)  # the timer and a thread are to have a turn

    assert await model.question(TEA) == before
    await model.aclose()


async def test_a_model_is_not_let_go_while_it_is_asked(tmp_path: Path) -> None:
    """Idle means that no call is under way, not that one began long ago."""
    model = tiny_minilm(tmp_path, idle_seconds=0.0)
    seen: list[bool] = []

    async def ask() -> None:
        await model.passages([TEA] * 50)
        seen.append(model.loaded)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        for _ in range(20):
            await model.question(TEA)

    assert seen == [True]
    await model.aclose()


@pytest.mark.parametrize("name", [GRAPH, TOKENIZER, MEAN])
@pytest.mark.parametrize("how", ["cut", "bit", "gone"])
async def test_a_damaged_file_is_noticed_and_the_way_out_is_said(
    tmp_path: Path, name: str, how: str
) -> None:
    """Vectors of a damaged model would be wrong without a word."""
    model = tiny_minilm(tmp_path)
    path = tmp_path / "models" / "minilm" / name
    data = path.read_bytes()
    match how:
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "bit":
            path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
        case _:
            path.unlink()

    for _ in range(2):
        with pytest.raises(ModelUnavailableError, match=r"`memory-mcp models add minilm` makes it"):
            await model.question(TEA)
    path.write_bytes(data)
    await model.question(TEA)  # it is looked at again, not given up
    await model.aclose()


@pytest.mark.parametrize("bad", [b"", b"{", b"[]", b"null", b'{"format": 1}', b"\xff"], ids=ascii)
def test_a_damaged_manifest_is_no_crash(tmp_path: Path, bad: bytes) -> None:
    """It is read when a server starts."""
    tiny_minilm(tmp_path)
    folder = tmp_path / "models" / "minilm"
    (folder / MANIFEST).write_bytes(bad)

    with pytest.raises(ModelUnavailableError, match=r"is damaged\. `memory-mcp models add minilm`"):
        read_manifest(folder)


def test_a_model_of_another_version_is_not_taken_for_one_of_ours(tmp_path: Path) -> None:
    """Its vectors may mean something else."""
    tiny_minilm(tmp_path)
    folder = tmp_path / "models" / "minilm"
    fields = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_text(json.dumps({**fields, "format": 99}))

    with pytest.raises(ModelUnavailableError, match="another version of memory-mcp"):
        read_manifest(folder)


async def test_a_model_that_was_replaced_does_not_answer_under_the_old_name(tmp_path: Path) -> None:
    """Rows of two models under one identity would be compared with each other."""
    model = tiny_minilm(tmp_path)
    other = vendor_of(tmp_path / "other", seed=2)
    tiny_store(tmp_path / "models", other).add("minilm", str(tmp_path / "other"), silent)

    with pytest.raises(ModelUnavailableError, match="was replaced since this session began"):
        await model.question(TEA)
    replaced = opened(tmp_path / "models" / "minilm")
    assert replaced.identity != model.identity
    await replaced.question(TEA)
    await replaced.aclose()


async def test_without_the_libraries_the_message_names_the_extra(
    tiny: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were there when the model was added; environments change."""
    monkeypatch.delitem(sys.modules, "memory_mcp.models.encoder", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(ModelUnavailableError, match=r"pip install 'backtrack-memory\[semantic\]'"):
        await tiny.question(TEA)


def test_the_same_files_make_the_same_model(tmp_path: Path) -> None:
    """Else adding it anew would make every vector anew."""
    one = tiny_minilm(tmp_path / "one")
    other = tiny_minilm(tmp_path / "other")

    assert one.identity == other.identity


async def test_the_tiny_model_gives_a_bit_for_each_dimension(tiny: LocalModel) -> None:
    """What other tests stand on."""
    ((chunk,),) = await tiny.passages(["tea, ada"])

    assert len(chunk.pooled) == HIDDEN
    assert len(chunk.tokens) == 2 * TOKEN_BYTES, "a comma has none"
    assert chunk.tokens[:TOKEN_BYTES] != chunk.tokens[TOKEN_BYTES : 2 * TOKEN_BYTES]
    await tiny.aclose()


def _states(graph: bytes, ids: list[int]) -> NDArray[np.float32]:
    runtime: Any = onnxruntime
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return session.run(None, {"input_ids": np.array([ids])})[0][0]


def test_int8_says_the_same_as_float32(tmp_path: Path) -> None:
    """Quantising is allowed to cost a little, not the meaning."""
    vendor_of(tmp_path)
    ids = [2, *range(4, 60), 3]
    small = _states(build_graph(tmp_path / WEIGHTS, SHAPE), ids)
    exact = _states(build_graph(tmp_path / WEIGHTS, SHAPE, exact=True), ids)

    assert small.shape == exact.shape == (len(ids), HIDDEN)
    lengths = np.linalg.norm(small, axis=1) * np.linalg.norm(exact, axis=1)
    assert ((small * exact).sum(axis=1) / lengths).mean() > 0.99


async def test_the_real_model_knows_what_belongs_together(minilm_folder: Path) -> None:
    """Not one word in common, but the meaning; by the whole and by the tokens."""
    model = opened(minilm_folder)
    asked = await model.question("Which beverage does she enjoy at breakfast?")
    texts = [TEA, "The invoice is due in March.", "The bridge was closed for repairs."]
    passages = await model.passages(texts)
    await model.aclose()

    whole = np.frombuffer(asked.pooled, "<f4")
    tokens = np.frombuffer(asked.tokens, "<f4").reshape(-1, 384)
    by_whole: list[float] = []
    by_tokens: list[float] = []
    for (chunk,) in passages:
        by_whole.append(float(whole @ np.frombuffer(chunk.pooled, np.int8)) / 127)
        bits = np.unpackbits(np.frombuffer(chunk.tokens, np.uint8).reshape(-1, 48), axis=1)
        signs = (bits.astype(np.float32) * 2 - 1) / np.sqrt(384)
        by_tokens.append(float((tokens @ signs.T).max(axis=1).mean()))
    assert by_whole[0] > 0.3
    assert max(by_whole[1:]) < 0.15
    assert by_tokens[0] > 1.5 * max(by_tokens[1:])


async def test_an_instruction_brings_by_the_real_model_what_shares_no_word_with_it(
    minilm_folder: Path, tmp_path: Path
) -> None:
    """By words nothing links the two: what both mean does."""
    rule = "Invoices are kept for ten years, the tax office asks for them."
    workspace = meaningful(tmp_path, opened(minilm_folder))
    for text in (rule, TEA, "The bridge was closed for repairs.", "The logo is blue."):
        await memories.add_memory(workspace, Draft(text, kind="convention"))
    await maintenance.encode_all(workspace)

    shown = await sessions.prompt_context(workspace, "delete all bills from last winter", "s1")
    await close_workspace(workspace)

    assert rule in shown
    assert TEA not in shown


_FOOTPRINT = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = [sys.argv[2]]
from tiny_model import opened
import onnxruntime

def used():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

async def main():
    model = opened(Path(sys.argv[1]))
    before = used()
    await model.passages(["word number %d of some text " % n * 50 for n in range(30)])
    loaded = used()
    await model.aclose()
    print(before, loaded, used())

asyncio.run(main())
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_the_real_model_costs_little_memory_and_gives_it_back(minilm_folder: Path) -> None:
    """Every session has one of its own: 200 MB is the most that it may take, libraries included."""
    done = subprocess.run(
        [sys.executable, "-c", _FOOTPRINT, str(minilm_folder), str(SUPPORT)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, loaded, after = map(float, done.stdout.split())

    assert loaded < 200
    assert loaded - before > 20, "the model was not loaded at all"
    assert after - before < (loaded - before) / 2
