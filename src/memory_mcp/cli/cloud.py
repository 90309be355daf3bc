"""`login`, `logout`, `status`: whether the cloud is used, with which key, who judges. No network.

A key comes from a prompt without echo or through a pipe: as an argument it would stay in the
shell's history and be seen in the list of processes.
"""

import getpass
import sys
import warnings
from typing import Any, Final

from memory_mcp.app.rooms import MEMORY_OFF
from memory_mcp.cli.show import Fields, Shown
from memory_mcp.ending import interruptible
from memory_mcp.errors import InvalidRequestError
from memory_mcp.setting_values import key_in, on_this_machine
from memory_mcp.settings import Settings
from memory_mcp.stores.keys import KEY_CHARS_MAX, KeyOrigin, KeySource
from memory_mcp.wiring import cloud_chosen, cloud_key, system_keyring

_OFF: Final = Shown({"success": False, "message": MEMORY_OFF})
_HOW: Final = "set SUPERMEMORY_API_KEY or run `memory-mcp login`"
_ORIGINS: Final[dict[KeyOrigin, str]] = {
    "environment": "from SUPERMEMORY_API_KEY",
    "keyring": "from the system's keyring (memory-mcp login)",
    "none": "none",
}


def login(settings: Settings) -> Shown:
    """Store the key that is typed or piped in, and say what happens next."""
    if not settings.enabled:
        return _OFF
    url = settings.base_url
    if settings.cloud_off.endswith("_URL"):  # the key would be kept for another address
        raise InvalidRequestError(f"{settings.cloud_off} is wrong. Correct it, and log in then.")
    key = key_in("The key", _asked(url))
    if key is None:
        raise InvalidRequestError(
            "No key was given, so nothing was changed. Type it at the prompt, or pipe it in: "
            "memory-mcp login < FILE."
        )
    keyring = system_keyring(settings).store(url, key)
    message = f"The key for {url} is in the system's keyring ({keyring}). {_next(settings)}"
    return Shown({"success": True, "baseUrl": url, "keyring": keyring, "message": message})


def _next(settings: Settings) -> str:
    source = cloud_key(settings)
    if settings.cloud_off:
        return f"{settings.cloud_off} is wrong, so it is not used until that is corrected."
    if not cloud_chosen(settings, source):
        return "MEMORY_PROVIDER is local, so it is not used until that changes."
    if source.origin == "environment":
        return "SUPERMEMORY_API_KEY is set too, and comes first."
    return "Sessions that start from now on use it; `memory-mcp status` shows how things stand."


def _asked(url: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.read(2 * KEY_CHARS_MAX)  # enough to see that it is too long
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            with interruptible():
                return getpass.getpass(f"Key for {url} (not shown): ")
    except getpass.GetPassWarning:
        raise InvalidRequestError(
            "This terminal would show the key. Pipe it in: memory-mcp login < FILE."
        ) from None
    except EOFError:
        return ""


def logout(settings: Settings) -> Shown:
    """Remove the key from the keyring; that there was none is fine, and said."""
    if not settings.enabled:
        return _OFF
    url = settings.base_url
    removed = system_keyring(settings).remove(url)
    message = f"The key for {url} is removed." if removed else f"There was no key for {url}."
    if settings.api_key is not None:
        message += " SUPERMEMORY_API_KEY is still set."
    elif removed:
        message += " Sessions that are running keep it until they end."
    return Shown({"success": True, "baseUrl": url, "removed": removed, "message": message})


def status(settings: Settings) -> Shown:
    """Which provider is chosen, and why; and what judges."""
    if not settings.enabled:
        return _OFF
    return Shown(status_fields(settings, cloud_key(settings)), _as_text)


def status_fields(settings: Settings, source: KeySource) -> dict[str, Any]:
    """What `status` tells; no key, only where it comes from."""
    judge = settings.language
    return {
        "success": True,
        "provider": "supermemory" if cloud_chosen(settings, source) else "local",
        "setting": settings.provider,
        "why": _why(settings, source.origin),
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


def _why(settings: Settings, origin: KeyOrigin) -> str:
    keyless = origin == "none" and not on_this_machine(settings.base_url)
    match settings.provider:
        case "local":
            return "MEMORY_PROVIDER is local: nothing is sent"
        case _ if settings.cloud_off:
            return f"{settings.cloud_off} is wrong: nothing is sent until it is corrected"
        case "supermemory":
            but = f", but there is no key, so all stays here: {_HOW}" if keyless else ""
            return f"MEMORY_PROVIDER is supermemory{but}"
        case "auto" if keyless:
            return f"there is no key for the cloud; to use it, {_HOW}"
        case "auto" if origin == "none":
            return "SUPERMEMORY_BASE_URL is on this machine, where no key is needed"
        case "auto":
            return "there is a key"


def _container(tag: str | None) -> str:
    if tag is None:
        return "one for each user and project"
    return f"{tag}, for the project's memories (SUPERMEMORY_CONTAINER_TAG)"


def _as_text(fields: Fields) -> str:
    lines = {
        "Provider": f"{fields['provider']} ({fields['why']})",
        "Key": _ORIGINS[fields["key"]],
        "Address": fields["baseUrl"],
        "Container": _container(fields["container"]),
        "Extraction": "on" if fields["extraction"] else "off",
        "Timeout": f"{fields['timeoutSeconds']:g} s",
        "Judge": "rules (MEMORY_LLM_MODEL is not set)",
    }
    if fields["judge"] == "model":
        lines["Judge"] = f"{fields['judgeModel']} at {fields['judgeUrl']}; rules, when it fails"
    return "\n".join(f"{name + ':':12}{value}" for name, value in lines.items())
