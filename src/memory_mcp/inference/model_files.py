"""What a converted model is made of, on disk."""

from typing import Final

__all__ = ["GRAPH", "INPUT", "MEAN", "OUTPUT", "TOKENIZER", "WEIGHTS"]

WEIGHTS: Final = "model.safetensors"
"""As the vendor names it; not kept once the graph is made."""
TOKENIZER: Final = "tokenizer.json"
GRAPH: Final = "model.onnx"
MEAN: Final = "mean.f32"
"""The mean token vector of unrelated text, float32, little-endian."""

INPUT: Final = "input_ids"
OUTPUT: Final = "last_hidden_state"
