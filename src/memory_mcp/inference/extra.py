"""The optional libraries behind models on this machine: whether they are there."""

from importlib.util import find_spec
from typing import Final

__all__ = ["NO_EXTRA", "extra_installed"]

NO_EXTRA: Final = (
    "Models on this machine need libraries that are not installed: "
    "pip install 'backtrack-memory[semantic]'."
)

_LIBRARIES: Final = ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers")


def extra_installed() -> bool:
    """Whether all of them are there; none of them is imported."""
    return all(find_spec(library) for library in _LIBRARIES)
