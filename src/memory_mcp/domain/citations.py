"""What a memory cites of the code, and what became of it: values, and the rule that compares them.

A cited text is known by the hash of its lines without what stands at their ends, so that neither
another line ending nor a move within the file changes it.
"""

import hashlib
from collections.abc import Sequence
from io import BytesIO
from typing import Final, Literal

from memory_mcp.domain.record import Citation
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later

CitationState = Literal["holds", "changed", "gone"]

_PATH_CHARS_MAX: Final = 400
_SYMBOL_CHARS_MAX: Final = 200
_LINE_MAX: Final = 1_000_000
_CUTS_MAX: Final = 8
_HASH_DIGITS: Final = 32
_DISTINCTIVE_CHARS: Final = 24
_LENGTH_MAX: Final = 255
_RARE_ENDS: Final = "\r\v\f\x1c\x1d\x1e\x1f"
"""What ends a line or is stripped, in ASCII, beside the newline, space and tab."""
_SOURCE: Final = compile_later(
    r"(?P<path>(?:[A-Za-z]:[\\/])?[^\0:#]+?)"
    r"(?:(?::|#L?)(?P<first>\d{1,7})(?:-L?(?P<last>\d{1,7})|:\d+)?|(?:#|::)(?P<symbol>[^\0\n]+))?"
)
"""A path, and lines as editors, compilers and pages of a repository write them, or a symbol."""
_ODD_LINES: Final = compile_later(r"(?P<path>.+):(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?")


@frozen
class CitedPlace:
    """A citation as it is written: `src/auth.py`, `src/auth.py:40-72`, `src/auth.py#refresh`."""

    path: str
    first: int = 0
    last: int = 0
    symbol: str = ""

    def __str__(self) -> str:
        if self.symbol:
            return f"{self.path}#{self.symbol}"
        lines = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.path}:{lines}" if self.first else self.path


def get_place(cited: Citation) -> CitedPlace:
    """Where it stood when it was cited."""
    return CitedPlace(cited.path, cited.first, cited.last, cited.symbol)


def parse_place(written: str) -> CitedPlace | None:
    """The place that a citation names; None for what is none."""
    found = _SOURCE.fullmatch(written.replace("`", "").strip())
    return _make_place(*found.groups()) if found else None


def list_other_places(written: str) -> list[CitedPlace]:
    """What it names if there is a `#` or `:` in the name of the file, or an `@` before it."""
    written = written.strip()
    mentioned = parse_place(written[1:]) if written.startswith("@") else None
    lines = _ODD_LINES.fullmatch(written)
    cuts = [at for at, char in enumerate(written) if char == "#"][:_CUTS_MAX]
    found = [
        mentioned,
        _make_place(lines["path"], lines["first"], lines["last"]) if lines else None,
        *(
            _make_place(written[:at], symbol=written[at + 1 :])
            for at in reversed(cuts)
            if written[at + 1 :].strip()
        ),
        _make_place(written),
    ]
    return [place for place in found if place]


def _make_place(
    path: str, first: str | None = None, last: str | None = None, symbol: str | None = None
) -> CitedPlace | None:
    begins = int(first or 0)
    ends = int(last or begins)
    if not 0 < len(path) <= _PATH_CHARS_MAX or len(symbol or "") > _SYMBOL_CHARS_MAX:
        return None
    if ends < begins or ends > _LINE_MAX or (first and not begins):
        return None
    path = path.replace("\\", "/").removeprefix("./") or "."
    return CitedPlace(path, begins, ends, (symbol or "").strip())


def split_lines(text: str) -> list[str]:
    """The lines as they are cited: without what stands at their ends."""
    return list(map(str.rstrip, text.splitlines()))


def hash_lines(lines: Sequence[str]) -> str:
    """The hash of a text by its lines."""
    text = "\n".join(lines)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_HASH_DIGITS]


def measure_lines(text: str) -> bytes:
    """The lengths of the lines of a text, a byte for each; 255 stands for all from there on.

    Where a line ends and what is stripped is mostly the same in bytes, which are dropped at once.
    """
    plain = text.isascii() and not any(map(text.__contains__, _RARE_ENDS))
    lengths = map(len, map(bytes.rstrip, BytesIO(text.encode())) if plain else split_lines(text))
    try:
        return bytes(lengths)
    except ValueError:
        return bytes(min(len(line), _LENGTH_MAX) for line in split_lines(text))


def hash_neighbours(lines: Sequence[str], first: int, count: int) -> str:
    """The hash of the nearest lines with something in them, before and behind these lines."""
    before = next((lines[at] for at in range(first - 2, -1, -1) if lines[at]), "")
    behind = next((lines[at] for at in range(first - 1 + count, len(lines)) if lines[at]), "")
    return hash_lines([before, behind])


def is_distinctive(lines: Sequence[str]) -> bool:
    """Whether a text is hardly written twice by chance.

    What code says again and again (`return None`, `enabled: true`, three lines for an `err` of Go,
    `except Exception: pass`) has fewer letters and digits, however many lines it has.
    """
    return sum(each.isalnum() for line in lines for each in line) >= _DISTINCTIVE_CHARS


@frozen
class Checked:
    """A citation, what became of it, where it stands now if that is elsewhere, and the commit.

    The `commit` is the one that rewrote or removed the text, if that is known.
    """

    place: str
    state: CitationState
    now: str = ""
    commit: str = ""

    def __str__(self) -> str:
        match self.state:
            case "holds":
                return f"{self.place} holds" + (f" (now {self.now})" if self.now else "")
            case "changed":
                rewritten = f": rewritten in {self.commit}" if self.commit else ""
                now = f" (now {self.now})" if self.now else ""
                return f"{self.place} has changed since{rewritten}{now}"
            case "gone":
                removed = f" (removed in {self.commit})" if self.commit else ""
                return f"{self.place}{removed} is gone"


def find_worst(checked: Sequence[Checked]) -> Checked | None:
    """The citation by which a memory is least to be relied on, if one does not hold."""
    order: dict[CitationState, int] = {"holds": 0, "changed": 1, "gone": 2}
    worst = max(checked, key=lambda each: order[each.state], default=None)
    return worst if worst and worst.state != "holds" else None
