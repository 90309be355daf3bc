"""The names that tell of a secret beside them, and what turns them into names of something else."""
# ruff: noqa: E501, S105 - a pattern is read as one line; it names passwords, it holds none

import re
from typing import Final

from memory_mcp.ingestion.secret_patterns import later

__all__ = ["ABOUT", "CREDENTIALS_BEFORE", "KEY", "MAYBE", "NAME_HINTS", "OPEN_NAMES", "PASSWORD"]

PASSWORD: Final = (
    r"pass[_-]?(?:word|phrase|code|wd|wort)|passw|pwd|pswd|kennwort|contrase(?:\u00f1|n)a|senha"
    r"|mot[ _]de[ _]passe|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u30d1\u30b9\u30ef\u30fc\u30c9"
    r"|(?<![A-Za-z])(?:pass|pw)(?![A-Za-z])|(?-i:(?<=[a-z])(?:Pass|Pw)(?![a-z]))"
)
KEY: Final = (
    r"(?:api|access|secret|private|auth|encryption|signing|master|account|service|deploy|shared)"
    r"[ _-]?key|secret|token|credentials?|authorization"
)
MAYBE: Final = (
    r"(?:(?<![A-Za-z])key|(?-i:(?<=[a-z])Key)|auth|cookie|session[_-]?id|signature)"
    r"(?![A-Za-z0-9_-]{0,40}?(?:pass|key|secret|token))"
)
NAME_HINTS: Final = (
    "pass", "pw", "pswd", "kennwort", "contrase", "senha", "\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801",
    "\u30d1\u30b9\u30ef\u30fc\u30c9", "key", "secret", "token", "credential", "auth", "cookie", "session", "signature",
)  # fmt: skip

ABOUT: Final = later(
    r"(?:count|len(?:gth)?|min|max|size|limits?|type|name|field|id|ids|ur[li]|path|file|dir|hash(?:ed)?|digest|policy|rules?"
    r"|expir\w*|ttl|age|hint|label|placeholder|input|reset|prompt|format|regex|pattern|required|enabled|header|cookie|prefix|suffix"
    r"|budget|usage|manager|provider|store|source|ref|arn|version|algorithm|column|param|env|var|created|updated|at|in"
    r"|last|used|changed|status|strength|score|per|rotation|days|attempts|fingerprint|salt|scopes?|endpoint|issuer|audience|form|page|index|error"
    r"|map|words?|encoding|generator|validator|checker|less|protected|management|limit|bucket|ring|code|board|frame)"
)
"""What follows in a name that is about the secret, not the secret."""
OPEN_NAMES: Final = later(
    r"(?<![A-Za-z])(?:public|publishable|primary|foreign|cache|sort|partition|object|s3|idempotency|site|host|registry|dedup|map|next|page"
    r"|pad|eos|bos|unk|sep|cls|mask|context|prompt|completion|input|output|total|max|min|num|per)[ _-]?$",
    re.IGNORECASE,
)
CREDENTIALS_BEFORE: Final = later(
    r"(?:(?<![A-Za-z])(?:user(?:[ _-]?name)?|login|admin|root|wi-?fi|wlan|db|database|ssh|vpn|sudo|smtp|e?mail|ftp|mysql|redis"
    r"|account|app|my)[ _-]*|[,;/|&][ \t]*)$",
    re.IGNORECASE,
)
"""What stands before a `pass` that opens an account: none for boarding, skiing or the first of two."""
