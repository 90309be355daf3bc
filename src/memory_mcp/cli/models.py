"""`memory-mcp models`: list, add or remove a model. Nothing else ever downloads one."""

import argparse
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from memory_mcp.build import build_embedder, build_model_store
from memory_mcp.cli.show import Fields, Output, bar, say
from memory_mcp.config.settings import Settings
from memory_mcp.engine.workspace import MEMORY_OFF
from memory_mcp.models.embedders import AbsentEmbedder
from memory_mcp.models.install import ProgressCallback
from memory_mcp.models.minilm import NO_EXTRA, is_extra_installed

if TYPE_CHECKING:
    from memory_mcp.models.install import InstalledModel

_MB: Final = 1_000_000
_LINE_SECONDS: Final = 5.0
"""How often a log is told how far a download is."""


def models(settings: Settings, given: argparse.Namespace) -> Output:
    """Do what the first word after `models` says; without one: list."""
    if not settings.enabled:  # where the models are is a setting too, and was not read
        return Output({"success": False, "message": MEMORY_OFF})
    match given.action:
        case "add":
            return _add(settings, given.name, given.source, quiet=getattr(given, "json", False))
        case "remove":
            return _remove(settings, given.name)
        case _:
            return _list(settings)


def _add(settings: Settings, name: str, source: str, *, quiet: bool) -> Output:
    with _show_progress(f"{name}: ", quiet=quiet) as tell:
        manifest, new = build_model_store(settings).add(name, source, tell)
    message = f"{name} is added. {_use(settings)}" if new else f"{name} is here already, and whole."
    return Output({"success": True, "model": name, "identity": manifest.identity, "new": new,
                  "message": message})  # fmt: skip


def _use(settings: Settings) -> str:
    if settings.embedder.name in ("auto", "minilm"):
        return "Sessions that start from now on recall by meaning too."
    return f"MEMORY_EMBEDDER is {settings.embedder.name}, so it is not used until that changes."


def _remove(settings: Settings, name: str) -> Output:
    removed = build_model_store(settings).remove(name)
    message = f"{name} is removed." if removed else f"There was no {name} here."
    if removed:
        message += " Sessions that are running may keep it until they end."
    return Output({"success": True, "model": name, "removed": removed, "message": message})


def _list(settings: Settings) -> Output:
    used = build_embedder(settings)
    fields = {
        "success": True,
        "embedder": settings.embedder.name,
        "identity": used.identity if used and not isinstance(used, AbsentEmbedder) else None,
        "problem": used.why if isinstance(used, AbsentEmbedder) else None,
        "librariesInstalled": is_extra_installed(),
        "models": [_fields(kept) for kept in build_model_store(settings).kept()],
    }
    return Output(fields, _as_text)


def _fields(kept: "InstalledModel") -> dict[str, Any]:
    here = kept.manifest
    return {
        "name": kept.recipe.name,
        "about": kept.recipe.title,
        "added": here is not None,
        "identity": here.identity if here else None,
        "source": here.source if here else None,
        "addedAt": here.added_at if here else None,
        "bytes": kept.bytes if here else None,
        "folder": str(kept.folder) if here else None,
        "download": kept.recipe.download_bytes,
        "problem": kept.problem or None,
    }


def _as_text(fields: Fields) -> str:
    used = fields["identity"] or "nothing, search goes by words alone"
    lines = [f"Used: {used} (MEMORY_EMBEDDER is {fields['embedder']})"]
    lines += [fields["problem"]] if fields["problem"] else []
    for model in fields["models"]:
        lines.append(f"{model['name']}: {model['about']}")
        if model["added"]:
            lines += [
                f"  {model['identity']}, {model['bytes'] / _MB:.0f} MB in {model['folder']}",
                f"  added {model['addedAt']} from {model['source']}",
            ]
        else:
            size = f"{model['download'] / _MB:.0f} MB to fetch"
            how = f"not added; `memory-mcp models add {model['name']}` ({size}) does it"
            lines.append(f"  {model['problem'] or how}")
    if not fields["librariesInstalled"]:
        lines.append(NO_EXTRA)
    return "\n".join(lines)


@contextmanager
def _show_progress(before: str, *, quiet: bool) -> "Generator[ProgressCallback]":
    """How far it is: a bar on a terminal, now and then a line elsewhere; on stderr."""
    if not sys.stderr.isatty():
        yield (lambda _what, _done, _size: None) if quiet else _print_lines(before)
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn  # noqa: PLC0415  # only there

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with bar(*columns) as shown:
        tasks = {"": shown.add_task(before, total=None)}

        def tell(what: str, done: int, size: int) -> None:
            if what not in tasks:  # a bar that knew its end does not forget it
                shown.remove_task(tasks.popitem()[1])
                tasks[what] = shown.add_task(before + what, total=None)
            shown.update(tasks[what], completed=done, total=size or None)

        yield tell


def _print_lines(before: str) -> "ProgressCallback":
    said = ""
    next_at = 0.0

    def tell(what: str, done: int, size: int) -> None:
        nonlocal said, next_at
        if what == said and (done == size or time.monotonic() < next_at):
            return
        said, next_at = what, time.monotonic() + _LINE_SECONDS
        progress = f", {done / _MB:.1f} of {size / _MB:.1f} MB" if size else ""
        say(f"{before}{what}{progress}", to=sys.stderr)

    return tell
