"""Models that a user has downloaded: of BERT's form, each asked as its family wants to be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_model import HIDDEN, TURNED, add_layer, opened, silent, tiny_folder, tiny_minilm
from tokenizers import Tokenizer

from memory_mcp.build import build_embedder
from memory_mcp.config.settings import read_settings
from memory_mcp.disk import Disk
from memory_mcp.errors import InvalidRequestError, ModelUnavailableError
from memory_mcp.models.forms import CONFIG, Form, find_form, load_form
from memory_mcp.models.install import ModelStore
from memory_mcp.models.local import MANIFEST, TOKENIZER, WEIGHTS, LocalModel, hash_file

pytestmark = pytest.mark.anyio

TEA = "Ada prefers tea in the morning."
ASKED = "what does ada prefer"
SENTENCES = "config_sentence_transformers.json"
POOLING = "1_Pooling/config.json"


def added(folder: Path, family: str = "") -> LocalModel:
    """The model of a folder, after the way that the command goes."""
    home = folder.parent / "models"
    ModelStore(home, Disk()).add_folder(folder, family, silent)
    return opened(home / folder.name.casefold())


def turn_to_vectors(packed: bytes) -> Any:
    """The floats of a question."""
    return np.frombuffer(packed, "<f4")


@pytest.mark.parametrize(
    ("name", "files", "form"),
    [
        ("all-MiniLM-L12-v2", {}, Form(centred=True)),
        ("multilingual-e5-small", {}, Form("mean", "query: ", "passage: ", centred=True)),
        ("e5_small", {POOLING: {"pooling_mode_cls_token": True}},
         Form("first", "query: ", "passage: ", centred=True)),
        ("bge-small-en-v1.5", {POOLING: {"pooling_mode_cls_token": True}},
         Form("first", "Represent this sentence for searching relevant passages: ", centred=True)),
        ("bge-small-zh-v1.5", {}, Form(centred=True)),
        ("gte", {SENTENCES: {"prompts": {"query": "q: ", "document": "d: "}}},
         Form("mean", "q: ", "d: ", centred=True)),
        ("answerai-colbert-small-v1", {}, Form("mean", "[unused0]", "[unused1]", centred=True)),
        ("colbert-of-pylate", {SENTENCES: {"query_prefix": "[Q] ", "document_prefix": "[D] "}},
         Form("mean", "[Q] ", "[D] ", centred=True)),
        ("colbertv2", {"artifact.metadata": {"query_token_id": "[unused5]"}},
         Form("mean", "[unused5]", "[unused1]", centred=True)),
    ],
)  # fmt: skip
def test_the_form_is_taken_from_the_files_and_the_name(
    tmp_path: Path, name: str, files: dict[str, object], form: Form
) -> None:
    """What the vendor's files say goes before what is usual in the family."""
    assert find_form(tiny_folder(tmp_path / name, **files)) == form


def test_a_family_may_be_named(tmp_path: Path) -> None:
    """A folder may be called anything."""
    folder = tiny_folder(tmp_path / "download")

    assert find_form(folder, "e5").query == "query: "
    with pytest.raises(InvalidRequestError, match=r"No form 'e6'\. Known: plain, e5, bge, colbert"):
        find_form(folder, "e6")


async def test_a_prefix_is_read_and_has_no_vectors_of_its_own(tmp_path: Path) -> None:
    """Words of a heading are nothing that a question asks for."""
    plain = added(tiny_folder(tmp_path / "plain"))
    e5 = added(tiny_folder(tmp_path / "tiny-e5"))
    asked, headed = [await model.question(ASKED) for model in (plain, e5)]
    ((one,), (other,)) = [(await model.passages([TEA]))[0] for model in (plain, e5)]

    assert asked.spans == headed.spans
    assert len(asked.tokens) == len(headed.tokens)
    assert asked.tokens != headed.tokens, "but they are read"
    assert asked.pooled != headed.pooled
    assert len(one.tokens) == len(other.tokens)
    assert one.pooled != other.pooled
    for model in (plain, e5):
        await model.aclose()


async def test_the_heading_stands_before_each_chunk_of_a_long_text(tmp_path: Path) -> None:
    """A chunk without it would be read as something else, and no chunk may grow too long."""
    model = added(tiny_folder(tmp_path / "tiny-e5"))
    alone, long = await model.passages(["tea " * 100, "tea " * 600])
    tail = long[-1]

    assert len(alone) == 1
    assert len(long) > 2
    assert turn_int8(tail.pooled) @ turn_int8(alone[0].pooled) > 0.9
    await model.aclose()


def turn_int8(packed: bytes) -> Any:
    """The vector of a chunk, of length 1."""
    vector = np.frombuffer(packed, np.int8).astype(np.float32)
    return vector / np.linalg.norm(vector)


async def test_the_first_state_is_the_whole_where_the_files_say_so(tmp_path: Path) -> None:
    """BGE was trained so: the mean of its states means little."""
    mean = added(tiny_folder(tmp_path / "one"))
    first = added(tiny_folder(tmp_path / "two", **{POOLING: {"pooling_mode_cls_token": True}}))
    by_mean, by_first = await mean.question(ASKED), await first.question(ASKED)

    assert by_mean.tokens == by_first.tokens
    assert by_mean.pooled != by_first.pooled
    for model in (mean, first):
        await model.aclose()


@pytest.mark.parametrize("beside", [False, True], ids=["among the weights", "beside them"])
async def test_colbert_turns_each_state(tmp_path: Path, beside: bool) -> None:  # noqa: FBT001
    """Its vectors are shorter; both ways of publishing the layer are read alike."""
    folder = tiny_folder(tmp_path / "tiny-colbert")
    add_layer(folder, beside=beside)
    model = added(folder)
    asked = await model.question(ASKED)
    ((chunk,),) = await model.passages([TEA])

    assert len(asked.pooled) == 4 * TURNED
    assert len(asked.tokens) == 4 * TURNED * len(asked.spans)
    assert len(chunk.pooled) == TURNED
    assert turn_to_vectors(asked.tokens).reshape(-1, TURNED).shape[0] > 3
    await model.aclose()


async def test_both_ways_to_publish_the_layer_make_one_model(tmp_path: Path) -> None:
    """Where it stands says nothing."""
    identities: set[str] = set()
    for home, beside in (("a", False), ("b", True)):
        folder = tiny_folder(tmp_path / home / "tiny-colbert")
        add_layer(folder, beside=beside)
        identities.add(added(folder).identity)

    assert len(identities) == 1


def test_the_mark_of_colbert_is_one_piece(tmp_path: Path) -> None:
    """Cut into letters it would be another word to the model."""
    folder = tiny_folder(tmp_path / "tiny-colbert")
    mark = Tokenizer.from_file(str(folder / TOKENIZER)).token_to_id("[unused0]")
    from memory_mcp.models.encoder import _encode_prefix  # noqa: PLC0415  # pyright: ignore[reportPrivateUsage]

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    assert _encode_prefix(tokenizer, "[unused0]") == [mark]
    assert len(_encode_prefix(tokenizer, "query: ")) > 1
    assert _encode_prefix(tokenizer, "") == []


async def test_unrelated_texts_are_not_near_though_the_model_says_so_of_all(tmp_path: Path) -> None:
    """With E5 and its like any two texts have a cosine of .8; a score could not tell them apart."""
    model = added(tiny_folder(tmp_path / "plain"))
    raw = tiny_minilm(tmp_path / "raw")  # not centred
    texts = ["tea", "invoice 7", "zebra", "q w e r t y", "morning", "x1 y2 z3"]

    def spread(vectors: list[Any]) -> float:
        return float(np.mean([a @ b for n, a in enumerate(vectors) for b in vectors[n + 1 :]]))

    centred = spread([turn_int8(chunk.pooled) for (chunk,) in await model.passages(texts)])
    plain = spread([turn_int8(chunk.pooled) for (chunk,) in await raw.passages(texts)])
    assert centred < plain
    for each in (model, raw):
        await each.aclose()


def test_what_was_added_last_is_used_and_what_is_named_instead(tmp_path: Path) -> None:
    """Whoever adds a model wants it."""
    home = tmp_path / "home"
    store = ModelStore(home / "models", Disk())
    store.add_folder(tiny_folder(tmp_path / "Tiny-E5"), "", silent)
    used = build_embedder(read_settings({"MEMORY_HOME": str(home)}))
    named = {"MEMORY_EMBEDDER": "local", "MEMORY_EMBEDDER_MODEL": "tiny-e5"}
    chosen = build_embedder(read_settings({"MEMORY_HOME": str(home), **named}))
    missing = build_embedder(
        read_settings({"MEMORY_HOME": str(home), **named, "MEMORY_EMBEDDER_MODEL": "other"})
    )

    assert used is not None
    assert chosen is not None
    assert used.identity == chosen.identity
    assert used.identity.startswith("tiny-e5/int8/")
    assert missing is not None
    assert missing.identity == "other/absent"
    assert load_form(home / "models" / "tiny-e5").query == "query: "


def test_where_it_came_from_is_written_down(tmp_path: Path) -> None:
    """Nobody else vouches for these weights, so their SHA-256 is kept."""
    folder = tiny_folder(tmp_path / "mine")
    store = ModelStore(tmp_path / "models", Disk())
    manifest = store.add_folder(folder, "", silent)
    listed = {each.name: each for each in store.kept()}["mine"]

    assert manifest.source == f"{folder} (model.safetensors: SHA-256 {hash_file(folder / WEIGHTS)})"
    assert listed.manifest == manifest
    assert listed.title == "from a folder; the whole is the mean of the states"
    assert store.remove("mine") is True
    assert [each.name for each in store.kept()] == ["minilm"]


def test_a_damaged_one_is_made_anew_from_its_folder(tmp_path: Path) -> None:
    """It has no recipe: its name alone fetches nothing."""
    store = ModelStore(tmp_path / "models", Disk())
    store.add_folder(tiny_folder(tmp_path / "mine"), "", silent)
    (store.folder("mine") / MANIFEST).write_text("{", "utf-8")
    listed = {each.name: each for each in store.kept()}["mine"]

    assert listed.problem.endswith(
        "`memory-mcp models add FOLDER` makes it anew from the vendor's folder 'mine'."
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [("model_type", "xlm-roberta"), ("hidden_act", "relu"),
     ("position_embedding_type", "relative_key")],
)  # fmt: skip
def test_another_architecture_is_refused(tmp_path: Path, field: str, value: str) -> None:
    """A graph that is built wrongly gives vectors all the same."""
    config = {"model_type": "bert", "num_attention_heads": 2, field: value}
    folder = tiny_folder(tmp_path / "other", **{CONFIG: config})

    with pytest.raises(ModelUnavailableError, match=f"has the {field} '{value}'; only"):
        added(folder)


def test_a_folder_that_holds_no_model_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    """An ONNX file alone is a program of somebody's."""
    folder = tmp_path / "onnx-only"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"onnx")

    with pytest.raises(InvalidRequestError, match=r"holds no model\.safetensors and no tokenizer"):
        added(folder)
    with pytest.raises(InvalidRequestError, match="cannot be called 'minilm'"):
        added(tiny_folder(tmp_path / "minilm"))


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_damaged_configuration_is_named(tmp_path: Path, text: str) -> None:
    """The rest of the folder may be whole."""
    folder = tiny_folder(tmp_path / "mine")
    (folder / CONFIG).write_text(text, "latin-1")

    with pytest.raises(ModelUnavailableError, match=r"config\.json .*Take the vendor's file anew"):
        added(folder)


def test_heads_that_do_not_share_the_dimensions_are_refused(tmp_path: Path) -> None:
    """The runtime would crash at the first text."""
    folder = tiny_folder(tmp_path / "mine", **{CONFIG: {"num_attention_heads": 5}})

    with pytest.raises(ModelUnavailableError, match=f"{HIDDEN} dimensions cannot be shared by 5"):
        added(folder)
