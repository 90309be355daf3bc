"""Values."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final


def later(source: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """The pattern, once it is asked for."""
    return cache(lambda: re.compile(source, flags))


# ruff: noqa: E501, S105 - a pattern is read as one line; it names passwords, it holds none


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


# ruff: noqa: E501 - a pattern is read as one line


_OPENING: Final = later(r"[rbfu]{0,2}(?P<quote>\\{0,3}(?P<mark>[\"'`])(?:(?P=mark){2})?)")
_TOKEN: Final = later(r"[^\s\"'`<>]{1,200}")
_TOKEN_REST: Final = later(r"[^\s\"'`<>]*")
_CUT: Final = later(r"[,;&|]+(?=[A-Za-z_][A-Za-z0-9_. -]{0,40}[=:]|$)|\\[nrt\"']|\)")
_ENDS: Final = ".,;:]}"
_LINE_END: Final = later(r"[\"'`]{0,3}[ \t;.]{0,8}(?:[\n\r#]|\\n|$)")
_SENTENCE_END: Final = later(r"[\"'`]{0,3}[ \t]{0,8}(?:[.;!)](?![A-Za-z0-9])|\n|$)")

TEMPLATE: Final = later(
    r"<[^>]*>?|\$\{?\w.*|\$\(.*|\$\{\{.*|\{\{?.*|%\w+%|%[sdrv]|%\(.*|\[.*|@\w+@|__\w+__|!\w+|\.{2,}.*|\u2026.*"
    r"|[*xX.#\u2022_-]+|.*x{6,}.*|.*(?:^|[-_ ])(?:your|my|example|placeholder|insert|replace|dummy|some)(?:[-_ ]|$).*"
    r"|.*\*{3,}.*|\W*",
    re.IGNORECASE | re.DOTALL,
)
"""Where a value goes, not a value."""
STANDS_IN_ADDRESS: Final = later(
    r".*:(?:pass(?:word|wd|wort)?|pwd?|pw|changeme|x-oauth-basic|x-token-auth)|user(?:name)?:secret",
    re.IGNORECASE | re.DOTALL,
)
"""`user:password` in an address shows where they go. `root:root` opens a door: it is none of these."""
_REFERENCE: Final = later(
    r"[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][A-Za-z_$]*)+|[&*]?[A-Za-z_$][\w$.:]*[\[({].*"
)
"""Code that fetches the value from where it is kept."""
_PATH: Final = later(r"(?:~|\.{1,2})?/[A-Za-z0-9_.@-]+(?:/.*)?|[A-Za-z]:\\.*", re.DOTALL)
_HASH: Final = later(r"(?:sha(?:1|256|384|512)|md5)[-:].*|\$(?:2[aby]|5|6|argon2\w+)\$.*")
UUID_OR_HEX: Final = later(r"[0-9a-fA-F-]+")
_AMOUNT: Final = later(
    r"[<>=~+-]*\d{1,3}(?:[.,/x+-]\d+)*[+%]?(?:[- ]?[A-Za-z]+)?|v?\d+(?:\.\d+)+\w*"
)
_DAY: Final = later(r"\d{4}-\d\d-\d\d(?:T.*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_WORDS: Final = later(r"[^\W\d]+(?:['_-][^\W\d]+)*")
SLUG: Final = later(r"[A-Za-z]+(?:[-_/.:@](?:[A-Za-z]+|\d+|v\d+))*")
_TELLS: Final = later(
    r"pass|pwd|kennwort|contrase|senha|key|secret|token|credential|authorization", re.IGNORECASE
)
"""A word that repeats the name refers to it: `password=userpassword`."""
_TELLS_PART: Final = later(
    r"(?:(?:user|new|old|db|my|the|app|root|admin|current|hashed|raw|plain|test|api|access|private|auth|client|refresh)?"
    r"(?:pass(?:word|wd|phrase|code|wort)?|pwd|pw|kennwort|senha|key|secret|token|credential|authorization)s?)",
    re.IGNORECASE,
)
"""In a setting only a part of its own does: `TOKEN=refresh_token`, but not `SECRET=supersecretvalue`."""
_PARTS: Final = later(r"['_-]|(?<=[a-z])(?=[A-Z])")
_TRIAL: Final = later(r"tests?|testing|dummy|fake|sample|demo|mock|stub|local", re.IGNORECASE)
"""`API_KEY=sm_test` is what tests write."""
_FILE: Final = later(
    r"[\w.-]+\.(?:json|ya?ml|pem|key|crt|cer|txt|env|toml|ini|p12|pfx|jks|py|sh|md|[jt]sx?|go|rs|rb|java|html?)",
    re.IGNORECASE,
)

_KNOWN: Final = later(
    r"none|null|nil|undefined|true|false|yes|no|on|off|required|optional|string|str|text|secret|value|hidden|unknown"
    r"|empty|missing|change[-_]?(?:me|this|it)(?:[-_!].*)?|todo|tbd|redacted|removed|masked|bearer|basic|jwt|oauth\d?|env|vault|keychain"
    r"|default|bool(?:ean)?|int(?:eger)?|float|bytes|any|char|varchar|object|unchanged|same|rotated|expired|revoked|encrypted|hashed|enabled|disabled|input|argument|candidate|test(?:ing)?|demo|sample|fake|foo(?:bar)?|bar|baz|abc|\d?fa|1password|bitwarden|lastpass|auth0|k8s|web3|sha-?\d+|md5|argon2\w*|bcrypt|pbkdf2|scrypt"
    r"|base(?:32|58|64)\w*|[rehp]s(?:256|384|512)|aes-?\d+\S*|ed25519\S*|rsa-?\d+|x\.?509|utf-?8|u2f|fido2?|http/?2"
    r"|ipv[46]|s3|ec2|saml2?|p-?256|oauth2?[-.]\S*|(?:hmac|base64|sha\d+|jwt|bcrypt|aes|pkcs|oauth2?)[-_]\S*|\d+-\w+",
    re.IGNORECASE,
)
"""Words for what a password or token is like; they hold digits often enough."""
_MESSAGE: Final = later(
    r"\b(?:must|required?|invalid|enter|your|should|is|are|was|the|an?|at least|characters?|incorrect|please|missing|forgot"
    r"|forgotten|reset|change|cannot|can't|wrong|not|confirm|new|old|current|see|stored|with|for|muss|bitte|ihr|dein)\b",
    re.IGNORECASE,
)
_KEY_CHARS_MIN: Final = 6
_PASSWORD_CHARS_MIN: Final = 4
_RANDOM_CHARS_MIN: Final = 16
_ODD_CASE_CHARS_MIN: Final = 10
_DIGITS_AS_KEY_MIN: Final = 16
_SWITCHES_MIN: Final = 0.2
_DISTINCT_MIN: Final = 8
_HEAD_CHARS: Final = 200
"""How much of a value is judged."""


@dataclass(frozen=True)
class Value:
    """The beginning of a value, and where all of it stands."""

    text: str
    start: int
    end: int
    quoted: bool


def value_at(text: str, at: int) -> Value | None:
    """What stands there: within its quotes, or as far as it goes without a space.

    Of an unquoted one no more is read than is judged: a name may stand in every tenth place.
    """
    opening = _OPENING().match(text, at)
    if opening is not None:
        start = opening.end()
        close = text.find(opening["quote"], start)
        while close > start and text[close - 1] == "\\" and "\\" not in opening["quote"]:
            close = text.find(opening["quote"], close + 1)
        line_end = text.find("\n", start)
        if close > start and (line_end < 0 or close < line_end):
            head = text[start : min(close, start + _HEAD_CHARS)]
            return Value(head, start, close, quoted=True)
        at = start
    token = _TOKEN().match(text, at)
    if token is None:
        return None
    cut = _CUT().search(token.group())
    found = (token.group()[: cut.start()] if cut else token.group()).rstrip(_ENDS)
    return Value(found, at, at + len(found), quoted=False) if found else None


def to_its_end(text: str, value: Value) -> tuple[int, int]:
    """A value longer than what was judged is read on to its end."""
    if value.quoted or value.end - value.start < _HEAD_CHARS:
        return value.start, value.end
    end = _TOKEN_REST().match(text, value.start)
    return value.start, end.end() if end else value.end


def ends_its_line(text: str, value: Value) -> bool:
    """Nothing follows on the line but what closes it."""
    return _LINE_END().match(text, value.end) is not None


def ends_its_sentence(text: str, value: Value) -> bool:
    """Nothing follows in the sentence."""
    return _SENTENCE_END().match(text, value.end) is not None


def stands_for_a_value(value: Value, *, in_setting: bool = False) -> bool:
    """A placeholder, a reference, a path, a hash, or a word about passwords and tokens."""
    text = value.text
    if (
        TEMPLATE().fullmatch(text)
        or _HASH().fullmatch(text)
        or _KNOWN().fullmatch(text.strip("()*_"))
    ):
        return True
    if "://" in text or (_PATH().fullmatch(text) and not like_a_key(text)):
        return True
    if not value.quoted and (_REFERENCE().fullmatch(text) or _FILE().fullmatch(text)):
        return True
    bare = text.strip("$%{}()<>")
    if _TELLS().search(bare) is None or _WORDS().fullmatch(bare) is None:
        return False
    return not in_setting or _names_one(bare)


def _names_one(text: str) -> bool:
    return any(_TELLS_PART().fullmatch(part) for part in _PARTS().split(text))


def like_a_key(text: str) -> bool:
    """Long enough and random enough to be one, whatever it is called."""
    return len(text) >= _RANDOM_CHARS_MIN and random_looking(text)


def is_password(value: Value, *, tight: bool) -> bool:
    """Anything but prose, an amount or a day; a plain word only where nothing else can stand."""
    text = value.text
    if " " in text:
        return value.quoted and _MESSAGE().search(text) is None
    if len(text) < _PASSWORD_CHARS_MIN or _DAY().fullmatch(text):
        return False
    if value.quoted or (tight and not _AMOUNT().fullmatch(text)):
        return True
    if _WORDS().fullmatch(text):
        return len(text) >= _ODD_CASE_CHARS_MIN and _flips(text) * 5 > len(text) * 2
    return not _AMOUNT().fullmatch(text)


def is_key(value: Value) -> bool:
    """No prose, number, word, amount or slug."""
    text = value.text
    if " " in text:
        return value.quoted and any(like_a_key(word) for word in text.split())
    if text.isdigit():
        return len(text) >= _DIGITS_AS_KEY_MIN
    if len(text) < _KEY_CHARS_MIN or not any(char.isdigit() for char in text):
        return _mixed(text)
    return not (SLUG().fullmatch(text) or _AMOUNT().fullmatch(text) or _DAY().fullmatch(text))


def is_word_as_key(value: Value) -> bool:
    """A word, where a setting wants a key: a weak key is one all the same."""
    text = value.text
    return (
        len(text) >= _KEY_CHARS_MIN
        and not text.isdigit()
        and not (_AMOUNT().fullmatch(text) or _DAY().fullmatch(text))
        and (value.quoted or " " not in text)
        and _MESSAGE().search(text) is None
        and not any(_TRIAL().fullmatch(part) for part in _PARTS().split(text))
    )


def _mixed(text: str) -> bool:
    """Letters only, but capitals where no name has them."""
    return len(text) >= _RANDOM_CHARS_MIN and _flips(text) * 3 > len(text) and text.isascii()


def _flips(text: str) -> int:
    return sum(a.islower() != b.islower() for a, b in pairwise(text))


def random_looking(value: str) -> bool:
    """Made by a machine: letters and digits change places more often than in words or names."""
    kinds = [
        "d" if char.isdigit() else "u" if char.isupper() else "l"
        for char in value
        if char.isalnum()
    ]
    changes = sum(one != other for one, other in pairwise(kinds))
    return (
        len(set(value)) >= _DISTINCT_MIN
        and "d" in kinds
        and len(set(kinds)) > 1
        and changes >= _SWITCHES_MIN * (len(kinds) - 1)
    )


# ruff: noqa: E501 - a pattern is read as one line


_ABOUT_WHICH: Final = r"(?:(?!\d)[\w.-]{1,20}[ _-]){0,2}"
_NAMED: Final = later(
    rf"[*`\"' ]*{_ABOUT_WHICH}(?:(?P<password>{PASSWORD})|(?P<key>{KEY}))s?(?:[ ]?\([^()]*\))?[*`\"' ]*",
    re.IGNORECASE,
)
_ACCOUNT: Final = later(
    r"[*`\"' ]*(?:user(?:[ _-]?(?:name|id))?|login|account|e-?mail|benutzer(?:name)?|konto)[*`\"' ]*",
    re.IGNORECASE,
)
_PLAIN: Final = later(r"\"?[ ]?[A-Za-z][\w ./()-]*\"?")
"""What a column is called; a line of code has commas too, but begins or ends otherwise."""
_RULE_LINE: Final = later(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*")
_SEPARATORS: Final = "|\t;,"
_CELLS_MAX: Final = 24
_CELL_CHARS_MAX: Final = 60
_NAME_CHARS_MAX: Final = 40


def in_tables(text: str) -> Iterator[tuple[int, int, str]]:
    """Each secret: where it begins and ends, and whether it is a password or another secret."""
    lowered = text.lower()
    if "\n" not in text or not any(hint in lowered for hint in NAME_HINTS):
        return
    columns: list[tuple[int, str]] = []
    between, width, tight, at = "", 0, False, 0
    for line in text.split("\n"):
        cells = _cells(line, at, between) if columns else []
        if columns and len(cells) == width:
            if not _RULE_LINE().fullmatch(line):
                for column, means in columns:
                    yield from _judged(text, cells[column], means, tight=tight)
        else:
            between = next((mark for mark in _SEPARATORS if mark in line), "")
            cells = _cells(line, at, between) if between else []
            columns = _telling(text, cells)
            tight = any(_ACCOUNT().fullmatch(text, *cell) for cell in cells) if columns else False
            width = len(cells)
        at += len(line) + 1


def _cells(line: str, at: int, between: str) -> list[tuple[int, int]]:
    """Where each cell stands in the text; of a line with too many there are none."""
    if line.count(between) > _CELLS_MAX:
        return []
    cells: list[tuple[int, int]] = []
    for cell in line.split(between):
        cells.append((at, at + len(cell)))
        at += len(cell) + 1
    return cells


def _telling(text: str, cells: list[tuple[int, int]]) -> list[tuple[int, str]]:
    """The columns of secrets, if every cell is short enough for a name: this is a first line."""
    if len(cells) < 2 or any(end - start > _CELL_CHARS_MAX for start, end in cells):  # noqa: PLR2004
        return []
    if text[cells[0][1]] != "|" and not all(_PLAIN().fullmatch(text, *cell) for cell in cells):
        return []
    found: list[tuple[int, str]] = []
    for column, (start, end) in enumerate(cells):
        named = _NAMED().fullmatch(text, start, end) if end - start <= _NAME_CHARS_MAX else None
        if named is not None:
            found.append((column, "secret" if named["password"] is None else "password"))
    return found


def _judged(
    text: str, cell: tuple[int, int], means: str, *, tight: bool
) -> Iterator[tuple[int, int, str]]:
    start, end = cell
    while start < end and text[start] in " \t*":
        start += 1
    value = value_at(text[start:end].rstrip(" \t*"), 0)
    if value is None or stands_for_a_value(value) or value.text in {"-", "--"}:
        return
    alone = not text[start + value.end : end].strip(" \t*\"'`.,;")
    tight = tight and alone
    if (is_password(value, tight=tight) if means == "password" else is_key(value)) and alone:
        yield start + value.start, start + value.end, means
