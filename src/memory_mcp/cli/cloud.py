"""`memory-mcp cloud`: which provider is chosen, the key of the cloud, and delivery to it.

A key comes from a prompt without echo or through a pipe: as an argument it would stay in the
shell's history and be seen in the list of processes. `status` uses neither network nor keyring.
"""

import getpass
import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Final

from memory_mcp import engine, sync, trust
from memory_mcp.build import build_keyring, find_cloud_key, is_cloud_chosen
from memory_mcp.cli.commands import Subcommand, add_actions, in_workspace
from memory_mcp.cli.output import Fields, Output, show_progress
from memory_mcp.config.load import LoadedSettings
from memory_mcp.config.settings import Settings
from memory_mcp.config.values import is_on_this_machine, parse_key
from memory_mcp.domain.hosts import name_database
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace, make_off
from memory_mcp.errors import InvalidRequestError
from memory_mcp.shutdown import interruptible
from memory_mcp.storage.supermemory.keys import KEY_CHARS_MAX, KeyOrigin, KeySource

_REMEDY: Final = "set SUPERMEMORY_API_KEY or run `memory-mcp cloud login`"
_ORIGINS: Final[dict[KeyOrigin, str]] = {
    "environment": "from SUPERMEMORY_API_KEY",
    "keyring": "from the system's keyring (memory-mcp cloud login)",
    "none": "none",
}


def cloud(loaded: LoadedSettings, args: Namespace) -> Output | Skipped:
    """Carry out the action after `cloud`; without one: status."""
    settings = loaded.settings
    if args.action == "sync":
        return in_workspace(_run_sync)(loaded, args)
    if not settings.enabled:
        return make_off(settings.off)
    match args.action:
        case "login":
            return _log_in(settings)
        case "logout":
            return _log_out(settings)
        case _:
            return _show_status(settings)


def _log_in(settings: Settings) -> Output:
    """Store the key that is typed or piped in, and say what happens next."""
    url = settings.base_url
    if settings.cloud_off.endswith("_URL"):  # the key would be kept for another address
        raise InvalidRequestError(f"{settings.cloud_off} is wrong. Correct it, and log in then.")
    key = parse_key("The key", _ask_for_key(url))
    if key is None:
        raise InvalidRequestError(
            "No key was given, so nothing was changed. Type it at the prompt, or pipe it in: "
            "memory-mcp cloud login < FILE."
        )
    keyring = build_keyring(settings).store(url, key)
    message = f"The key for {url} is in the system's keyring ({keyring}). {_key_message(settings)}"
    return Output({"success": True, "baseUrl": url, "keyring": keyring, "message": message})


def _key_message(settings: Settings) -> str:
    source = find_cloud_key(settings)
    if settings.cloud_off:
        return f"{settings.cloud_off} is wrong, so it is not used until that is corrected."
    if not is_cloud_chosen(settings, source):
        return "MEMORY_PROVIDER is local, so it is not used until that changes."
    if source.origin == "environment":
        return "SUPERMEMORY_API_KEY is set too, and comes first."
    return (
        "Sessions that start from now on use it; `memory-mcp cloud status` shows how things stand."
    )


def _ask_for_key(url: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.read(2 * KEY_CHARS_MAX)  # enough to see that it is too long
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            with interruptible():
                return getpass.getpass(f"Key for {url} (not shown): ")
    except getpass.GetPassWarning:
        raise InvalidRequestError(
            "This terminal would show the key. Pipe it in: memory-mcp cloud login < FILE."
        ) from None
    except EOFError:
        return ""


def _log_out(settings: Settings) -> Output:
    """Remove the key from the keyring; that there was none is fine, and said."""
    url = settings.base_url
    removed = build_keyring(settings).remove(url)
    message = f"The key for {url} is removed." if removed else f"There was no key for {url}."
    if settings.api_key is not None:
        message += " SUPERMEMORY_API_KEY is still set."
    elif removed:
        message += " Sessions that are running keep it until they end."
    return Output({"success": True, "baseUrl": url, "removed": removed, "message": message})


def _show_status(settings: Settings) -> Output:
    """Show which provider is chosen and why, and what judges; of the key, only its origin."""
    source = find_cloud_key(settings)
    judge = settings.language
    fields = {
        "success": True,
        "provider": _name_provider(settings, source),
        "setting": settings.provider,
        "why": _explain_provider(settings, source.origin),
        "key": source.origin,
        "baseUrl": settings.base_url,
        "container": settings.container_tag or None,
        "extraction": settings.extraction,
        "timeoutSeconds": settings.remote_timeout,
        "judge": "model" if judge else "rules",
        "judgeModel": judge.model if judge else None,
        "judgeUrl": judge.url if judge else None,
        "warnings": list(settings.warnings),
    }
    return Output(fields, _status_text)


def _name_provider(settings: Settings, source: KeySource) -> str:
    if settings.provider == "postgres":
        return "postgres"
    return "supermemory" if is_cloud_chosen(settings, source) else "local"


def _explain_provider(settings: Settings, origin: KeyOrigin) -> str:
    keyless = origin == "none" and not is_on_this_machine(settings.base_url)
    match settings.provider:
        case "local":
            return "MEMORY_PROVIDER is local: nothing is sent"
        case "postgres":
            return f"MEMORY_PROVIDER is postgres: all is in {_name_database(settings)}"
        case _ if settings.cloud_off:
            return f"{settings.cloud_off} is wrong: nothing is sent until it is corrected"
        case "supermemory":
            but = f", but there is no key, so all stays here: {_REMEDY}" if keyless else ""
            return f"MEMORY_PROVIDER is supermemory{but}"
        case "auto" if keyless:
            return f"there is no key for the cloud; to use it, {_REMEDY}"
        case "auto":
            here = "SUPERMEMORY_BASE_URL is on this machine, where no key is needed"
            return here if origin == "none" else "there is a key"


def _name_database(settings: Settings) -> str:
    url = settings.postgres_url
    return name_database(url.get_secret_value()) if url else "no database: set MEMORY_POSTGRES_URL"


def _status_text(fields: Fields) -> str:
    tag = fields["container"]
    lines = {
        "Provider": f"{fields['provider']} ({fields['why']})",
        "Key": _ORIGINS[fields["key"]],
        "Address": fields["baseUrl"],
        "Container": (
            "one for each user and project"
            if tag is None
            else f"{tag}, for the project's memories (SUPERMEMORY_CONTAINER_TAG)"
        ),
        "Extraction": "on" if fields["extraction"] else "off",
        "Timeout": f"{fields['timeoutSeconds']:g} s",
        "Judge": "rules (MEMORY_LLM_MODEL is not set)",
    }
    if fields["judge"] == "model":
        lines["Judge"] = f"{fields['judgeModel']} at {fields['judgeUrl']}; rules, when it fails"
    return "\n".join(f"{name + ':':12}{value}" for name, value in lines.items())


async def _run_sync(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show what the outboxes hold, or empty them."""
    refuse = engine.refuse_reads if args.status else engine.refuse_writes
    if skipped := refuse(workspace):
        return skipped
    if args.erase:  # what came from a cloud may wait here long after it was left
        done = await sync.erase_forgotten_elsewhere(workspace)
    elif not workspace.mirrored:
        why = (
            " ".join(await trust.describe_strangers(workspace))
            or "`memory-mcp cloud status` says why."
        )
        return Skipped(f"Nothing is mirrored. {why}")
    elif args.status:
        done = await sync.report_sync(workspace)
    else:
        with show_progress("Supermemory") as advance:
            done = await sync.sync(workspace, advance, push_all=args.push_all, pull_all=args.pull)
    # a pull that was kept out is no success: what was asked for did not happen
    success = not done.stopped and not (args.pull and done.kept_out)
    return Output({"success": success, **_sync_fields(done)}, _sync_text, report=True)


def _sync_fields(done: sync.SyncReport) -> Fields:
    tally = done.counts
    return {
        "pending": tally.pending,
        "quiet": tally.quiet,
        "checking": tally.checking,
        "delivered": tally.delivered,
        "refused": tally.dead,
        "undelivered": [
            {"memoryId": u.record, "op": u.op, "error": u.error} for u in tally.dead_letters
        ],
        "unmirrored": done.unmirrored,
        "takenIn": done.pulled.records,
        "unreadable": list(done.pulled.unreadable),
        "waitingToBeErased": [{"memoryId": w.id, "title": w.title} for w in done.waiting],
        "erased": [{"memoryId": w.id, "title": w.title} for w in done.erased],
        "keptOut": done.kept_out or None,
        "blocked": tally.circuit.blocked or None,
        "stopped": done.stopped or None,
    }


def _sync_text(fields: Fields) -> str:
    return "\n".join(_sync_lines(fields))


def _sync_lines(fields: Fields) -> Iterator[str]:
    if fields["takenIn"]:
        yield f"{_count_records(fields['takenIn'])} taken in."
    if fields["unreadable"]:
        names = ", ".join(fields["unreadable"])
        yield f"Left there, changed or not of this version: {names}."
    if fields["erased"]:
        yield f"{_count_records(len(fields['erased']))} erased:"
        yield from (f"- {each['memoryId']}: {each['title']}" for each in fields["erased"])
    if fields["waitingToBeErased"]:
        waiting = fields["waitingToBeErased"]
        yield (
            f"{_count_records(len(waiting))} that another machine forgot, hidden here and still on "
            "this disk. `memory-mcp cloud sync --erase` erases:"
        )
        yield from (f"- {each['memoryId']}: {each['title']}" for each in waiting)
    if fields["keptOut"]:
        yield fields["keptOut"]
    state = f"sync pending ({fields['pending']})" if fields["pending"] else "Nothing is pending"
    checking = pluralise(fields["checking"], "change", "changes")
    also = f", and is processing {checking}" if fields["checking"] else ""
    yield f"{state}. Supermemory holds {_count_records(fields['delivered'])}{also}."
    if fields["quiet"]:
        yield f"{pluralise(fields['quiet'], 'move', 'moves')} will go along with the next memory."
    if fields["refused"]:
        yield f"Refused for good ({fields['refused']}); the memories are safe here:"
        yield from (
            f"- {dead['op']} of {dead['memoryId']}: {dead['error']}"
            for dead in fields["undelivered"]
        )
    if fields["unmirrored"]:
        yield (
            f"{_count_records(fields['unmirrored'])} written without the cloud stay here only: "
            "`memory-mcp cloud sync --push-all` sends them too."
        )
    if fields["stopped"] or fields["blocked"]:
        yield f"Stopped: {fields['stopped'] or fields['blocked']}"


def _count_records(number: int) -> str:
    return pluralise(number, "record", "records")


def _add_cloud_options(parser: ArgumentParser) -> None:
    action = add_actions(parser)
    action("status", "which provider is chosen and why; no network, no keyring (the default)")
    action("login", "keep a Supermemory key in the system's keyring; it is asked for, or piped in")
    action("logout", "remove that key")
    sync = action("sync", "deliver to the cloud and take in what is new there, now")
    only = sync.add_mutually_exclusive_group()
    only.add_argument("--status", action="store_true", help="show it, deliver nothing")
    only.add_argument("--push-all", action="store_true",
                      help="also what was written while there was no cloud")  # fmt: skip
    only.add_argument(
        "--pull", action="store_true", help="look at all that is there, as after a loss"
    )
    only.add_argument("--erase", action="store_true",
                      help="erase what another machine forgot; no network")  # fmt: skip


COMMANDS: Final = {"cloud": Subcommand(cloud, _add_cloud_options)}
