"""The page as one document: as the server gives it, as a file, and for a client that shows apps.

Its parts lie beside this module. A document on its own has styles and scripts in it; the modules
are put together in the order in which they need each other, without their imports and exports.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from memory_mcp.patterns import compile_later

PARTS: Final[Mapping[str, str]] = {
    "page.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "dom.js": "text/javascript; charset=utf-8",
    "words.js": "text/javascript; charset=utf-8",
    "transport.js": "text/javascript; charset=utf-8",
    "list.js": "text/javascript; charset=utf-8",
    "graph.js": "text/javascript; charset=utf-8",
    "decide.js": "text/javascript; charset=utf-8",
    "memory.js": "text/javascript; charset=utf-8",
    "panels.js": "text/javascript; charset=utf-8",
    "timeline.js": "text/javascript; charset=utf-8",
    "memories.js": "text/javascript; charset=utf-8",
    "waiting.js": "text/javascript; charset=utf-8",
    "main.js": "text/javascript; charset=utf-8",
}
"""What the document is made of, with the types; a script stands below those that it needs."""

_IMPORT: Final = compile_later(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT: Final = compile_later(r"^export (?=(?:async )?function|const|class)", re.MULTILINE)
_HEAD: Final = "<!-- head -->"
_SCRIPT: Final = "<!-- script -->"


@cache
def load_part(name: str) -> str:
    """The text of one part."""
    return (files("memory_mcp.server.page") / "static" / name).read_text(encoding="utf-8")


def build_document() -> str:
    """The page as the server gives it: styles and scripts are fetched from there."""
    head = '<link rel="stylesheet" href="page.css"><link rel="icon" href="icon.svg">'
    return _fill(head, '<script type="module" src="main.js"></script>')


def build_export(data: Mapping[str, Any]) -> str:
    """The page as a file that holds what it shows, and can change and fetch nothing."""
    return _build_alone(data, policy=True)


def build_app_document() -> str:
    """The page for a client that shows it in a frame of its own, under a policy of its own."""
    return _build_alone({"app": True}, policy=False)


def join_scripts() -> str:
    """All modules as one."""
    scripts = (load_part(name) for name in PARTS if name.endswith(".js"))
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", script)) for script in scripts)


def _build_alone(data: Mapping[str, Any], *, policy: bool) -> str:
    style, script = load_part("page.css"), join_scripts()
    allowed = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{allowed}">' if policy else ""
    head = f"{meta}<style>{style}</style>"
    held = f'<script type="application/json" id="data">{escape_json(data)}</script>'
    return _fill(head, f'{held}<script type="module">{script}</script>')


def escape_json(data: Mapping[str, Any]) -> str:
    """JSON that ends no script and begins no markup, whatever a memory says."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _fill(head: str, script: str) -> str:
    return load_part("page.html").replace(_HEAD, head).replace(_SCRIPT, script)
