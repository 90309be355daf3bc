"""The builder of embedders, language models and the store of models; `wiring` builds the rest.

Building loads nothing and asks nobody: a server that starts reads one small file at most.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from memory_mcp.disk import Disk
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.inference.absent import AbsentEmbedder
from memory_mcp.inference.endpoints import OllamaEmbedder, OpenAiEmbedder
from memory_mcp.inference.extra import NO_EXTRA, extra_installed
from memory_mcp.inference.minilm import MiniLm
from memory_mcp.inference.model_files import read_manifest
from memory_mcp.ports import Embedder, LanguageModel
from memory_mcp.settings import Settings, home_folder

if TYPE_CHECKING:
    from memory_mcp.inference.model_store import ModelStore

__all__ = ["embedder", "language", "model_store"]

_MINILM = "minilm"


def model_store(settings: Settings, disk: Disk | None = None) -> "ModelStore":
    """The models on this machine: which are here, adding and removing them."""
    from memory_mcp.inference.model_store import ModelStore  # noqa: PLC0415  # for `models` alone

    return ModelStore(_models(settings), disk or Disk())


def embedder(settings: Settings) -> Embedder | None:
    """What turns text into vectors, if anything was chosen that does."""
    chosen = settings.embedder
    if not settings.enabled:
        return None
    _one_thread()
    match chosen.name:
        case "none":
            return None
        case "auto" | "minilm":
            return _minilm(settings, forced=chosen.name == "minilm")
        case "openai":
            return OpenAiEmbedder(chosen.url, chosen.model, chosen.api_key)
        case "ollama":
            return OllamaEmbedder(chosen.url, chosen.model, chosen.api_key)


def language(settings: Settings) -> LanguageModel | None:
    """What judges and composes, if a model was chosen for it."""
    chosen = settings.language
    if not settings.enabled or chosen is None:
        return None
    from memory_mcp.inference.chat import ChatModel  # noqa: PLC0415  # few sessions have one

    return ChatModel(chosen.url, chosen.model, chosen.api_key)


def _one_thread() -> None:
    """Let numpy, which is not imported yet, compute in one thread.

    Its products are small here: with more threads they take longer, and burn the other processor
    waiting for each other.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(name, "1")


def _minilm(settings: Settings, *, forced: bool) -> Embedder | None:
    folder = _models(settings) / _MINILM
    try:
        manifest = read_manifest(folder)
    except ModelUnavailableError as error:
        return AbsentEmbedder(_MINILM, str(error))
    if manifest is not None and extra_installed():
        return MiniLm(folder, manifest)
    if not forced:
        return None
    missing = "The model minilm is not on this machine. Run `memory-mcp models add minilm`."
    return AbsentEmbedder(_MINILM, missing if manifest is None else NO_EXTRA)


def _models(settings: Settings) -> Path:
    return home_folder(settings) / "models"
