"""From the vendor's two files to a model of ours; a few seconds, once.

The manifest is taken away first and written last: a conversion that is cut anywhere leaves a
folder that nobody takes for a model.
"""

from datetime import datetime
from pathlib import Path

from memory_mcp.disk import LITTER, Disk
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.inference.everyday import EVERYDAY
from memory_mcp.inference.extra import NO_EXTRA
from memory_mcp.inference.model_files import (
    GRAPH,
    MANIFEST,
    MEAN,
    TOKENIZER,
    WEIGHTS,
    Manifest,
    digest_of,
    manifest_bytes,
    suffix_of,
)
from memory_mcp.inference.recipes import Recipe

__all__ = ["convert"]


def convert(
    recipe: Recipe, vendor: Path, folder: Path, *, source: str, now: datetime, disk: Disk
) -> Manifest:
    """Make the model in `folder` from the files in `vendor`, whose digests were checked.

    The caller sees to it that nobody else does at the same time.

    Raises:
        ModelUnavailableError: the libraries are missing, or cannot make a model of these files.
        StoreUnavailableError: the file system refused.
    """
    files = _made(vendor)
    digests = {name: digest_of(data) for name, data in files.items()}
    manifest = Manifest(
        name=recipe.name,
        identity=f"{recipe.stem}/{suffix_of(digests)}",
        source=source,
        added_at=now.isoformat(timespec="seconds"),
        files=digests,
    )
    disk.remove(folder / MANIFEST)
    for litter in folder.glob(f".*{LITTER}"):  # of a cut: nobody else writes here now
        disk.remove(litter)
    for name, data in files.items():
        disk.write(folder / name, data)
    disk.write(folder / MANIFEST, manifest_bytes(manifest))
    return manifest


def _made(vendor: Path) -> dict[str, bytes]:
    try:
        from memory_mcp.inference.encoder import mean_token  # noqa: PLC0415  # numpy, onnxruntime
        from memory_mcp.inference.graph import build_graph  # noqa: PLC0415  # onnx
    except ImportError as error:
        raise ModelUnavailableError(NO_EXTRA) from error
    try:
        graph = build_graph(vendor / WEIGHTS)
        tokenizer = (vendor / TOKENIZER).read_bytes()
        mean = mean_token(graph, tokenizer, EVERYDAY)
    except Exception as error:  # what the libraries raise has no common base
        raise ModelUnavailableError(
            f"No model can be made of the files in {vendor} ({type(error).__name__}: {error})."
        ) from error
    return {GRAPH: graph, TOKENIZER: tokenizer, MEAN: mean}
