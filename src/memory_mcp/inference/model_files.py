"""What a model of ours is made of, on disk: three files, and a manifest that is written last.

A folder without a manifest is no model, whatever else is in it. The manifest names the SHA-256 of
each file, and `identity` follows from them: another graph, tokenizer or mean makes other vectors.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from memory_mcp.errors import ModelUnavailableError

__all__ = [
    "GRAPH",
    "INPUT",
    "MANIFEST",
    "MEAN",
    "OUTPUT",
    "TOKENIZER",
    "WEIGHTS",
    "Manifest",
    "add_anew",
    "damaged",
    "digest_of",
    "manifest_bytes",
    "read_manifest",
    "sha256",
    "suffix_of",
]

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
