"""How a model wants to be asked: what stands before a text, and what is made of its states.

Models of one architecture differ in this. Some put a text under a heading ("query: "), some take
the first state for the whole text, ColBERT turns each state once more. The vendor's folder says
part of it; the rest is a row of `FAMILIES`, taken by the name of the folder or by name.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

from memory_mcp.errors import InvalidRequestError, ModelUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later

FORM: Final = "form.json"
"""The form in the folder of a converted model. MiniLM has none: it is plain and not centred."""

CONFIG: Final = "config.json"
DENSE: Final = "1_Dense/model.safetensors"
"""The layer behind the states, where it does not stand among the weights themselves."""
_POOLING: Final = "1_Pooling/config.json"
_SENTENCES: Final = "config_sentence_transformers.json"
_COLBERT: Final = "artifact.metadata"

Pooling = Literal["mean", "first"]


@frozen
class Form:
    """What stands before a question and before a memory; which states are the whole text.

    `centred`: from every vector of a whole text the mean of unrelated ones is subtracted, because
    with many models any two texts are near.
    """

    pooling: Pooling = "mean"
    query: str = ""
    passage: str = ""
    centred: bool = False


@frozen
class Shape:
    """The figures of the architecture that the weights do not tell."""

    heads: int
    epsilon: float


FAMILIES: Final[Mapping[str, Form]] = {
    "plain": Form(centred=True),
    "e5": Form(query="query: ", passage="passage: ", centred=True),
    "bge": Form(
        "first", query="Represent this sentence for searching relevant passages: ", centred=True
    ),
    "colbert": Form(query="[unused0]", passage="[unused1]", centred=True),
}
_NAMES: Final = (("colbert", compile_later(r"colbert")), ("e5", compile_later(r"\be5\b")),
                 ("bge", compile_later(r"\bbge\b.*\ben\b")))  # fmt: skip
"""The families that the name of a folder tells; the instruction of BGE is of its English models."""


def find_form(folder: Path, family: str = "") -> Form:
    """The form of the vendor's model in a folder: its family's, and what its files say instead.

    Raises:
        InvalidRequestError: no family of that name.
        ModelUnavailableError: one of the vendor's files cannot be read.
    """
    if family and family not in FAMILIES:
        raise InvalidRequestError(f"No form {family!r}. Known: {', '.join(FAMILIES)}.")
    name = folder.name.casefold().replace("_", "-")
    family = family or next((each for each, known in _NAMES if known.search(name)), "plain")
    form = FAMILIES[family]
    if pooling := _read_pooling(_read_fields(folder / _POOLING)):
        form = replace(form, pooling=pooling)
    said = _read_fields(folder / _SENTENCES)
    prompts: dict[str, Any] = said.get("prompts") or {}
    marks = _read_fields(folder / _COLBERT)
    for field, texts in (
        ("query", (prompts.get("query"), said.get("query_prefix"), marks.get("query_token_id"))),
        ("passage", (prompts.get("passage"), prompts.get("document"), said.get("document_prefix"),
                     marks.get("doc_token_id"))),
    ):  # fmt: skip
        if found := next((text for text in texts if isinstance(text, str) and text), ""):
            form = replace(form, **{field: found})
    return form


def read_shape(folder: Path) -> Shape:
    """The shape that the vendor's configuration tells.

    Raises:
        ModelUnavailableError: there is none, or the architecture is not BERT's.
    """
    found = _read_fields(folder / CONFIG)
    wanted = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for field, value in wanted.items():
        if found.get(field, value) != value:
            raise ModelUnavailableError(
                f"The model in {folder} has the {field} {found[field]!r}; only {value!r} can be "
                "built. Take another model, or run it on a server: MEMORY_EMBEDDER=ollama."
            )
    heads, epsilon = found.get("num_attention_heads"), found.get("layer_norm_eps", 1e-12)
    if not isinstance(heads, int) or heads < 1 or not isinstance(epsilon, float | int):
        raise ModelUnavailableError(
            f"{folder / CONFIG} names no num_attention_heads. Take the vendor's whole folder."
        )
    return Shape(heads, float(epsilon))


def encode_form(form: Form) -> bytes:
    """The form as a file."""
    return (json.dumps(asdict(form), indent=1) + "\n").encode()


def load_form(folder: Path) -> Form:
    """The form of a converted model.

    Raises:
        ModelUnavailableError: the file is damaged.
    """
    fields = _read_fields(folder / FORM)
    try:
        return Form(**fields)
    except TypeError as error:
        raise ModelUnavailableError(f"{folder / FORM} is damaged.") from error


def describe_form(form: Form) -> str:
    """The form in words."""
    before = (("questions", form.query), ("memories", form.passage))
    parts = [f"{part} begin with {text!r}" for part, text in before if text]
    whole = "the mean of the states" if form.pooling == "mean" else "the first state"
    return ", ".join([*parts, f"the whole is {whole}"])


def _read_pooling(fields: Mapping[str, Any]) -> Pooling | None:
    if fields.get("pooling_mode_cls_token") or fields.get("pooling_mode") == "cls":
        return "first"
    if fields.get("pooling_mode_mean_tokens") or fields.get("pooling_mode") == "mean":
        return "mean"
    return None


def _read_fields(path: Path) -> dict[str, Any]:
    """The fields of a JSON file; none if it is not there."""
    try:
        found: object = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ModelUnavailableError(
            f"{path} cannot be read ({type(error).__name__}). Take the vendor's file anew."
        ) from error
    if not isinstance(found, dict):
        raise ModelUnavailableError(f"{path} holds no fields. Take the vendor's file anew.")
    return cast("dict[str, Any]", found)
