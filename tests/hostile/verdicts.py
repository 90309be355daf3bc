"""What must hold after a malicious repository was opened, whatever was in it."""

# ruff: noqa: RUF001  # letters that look like others are the point

import contextlib
import hashlib
import html
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from attack import FOREIGN, MINE, SECRET, SHIPPED, Observed, Verdict

# --- checks ---------------------------------------------------------------------------------------

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
_ALIKE = {
    ord(c): to
    for letters, to in (
        ("‹〈⟨❮˂≺ᐸ", "<"),
        ("›〉⟩❯˃≻ᐳ", ">"),
        ("∕⁄⧸╱", "/"),
        ("мМ", "m"),
        ("еЕ", "e"),
        ("оОοΟ", "o"),
        ("гГ", "r"),
        ("уУ", "y"),
    )
    for c in letters
}
_FENCED = ("context", "memory_context", "prompt_context", "hook:", "resources:", "instructions",
           "profile")  # fmt: skip
"""What a model reads without having asked a question of its own."""

_OWN_WORDS = ("head", "memory_head", "prompts:", "export", "checkpoint", "backtrack", "add_memory")
_VIEWS = ("session-context.md", "memory/MEMORY.md", "memory/HISTORY.md")


def no_controls(seen: Observed) -> list[str]:
    """No output carries ESC, NUL, C1, bidi or zero-width characters."""
    return [
        f"output {key!r} carries {sorted({f'U+{ord(c):04X}' for c in found})}"
        for key, text in seen.outputs.items()
        if (found := _INVISIBLE.findall(text))
    ]


def fold(text: str) -> str:
    """What a reader (or a model) takes a text for: entities, widths, case, invisibles aside."""
    for _ in range(2):
        text = html.unescape(text)
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc", "Mn", "Me", "Zs"))
    return text.translate(_ALIKE).casefold()


def one_fence(seen: Observed) -> list[str]:
    """In what is shown to a model, each fence is closed once: by us."""
    problems: list[str] = []
    for key, text in seen.outputs.items():
        if not key.startswith(_FENCED):
            continue
        opened = len(re.findall(r"<memory[ >]", text))
        closed = len(re.findall(r"<[/\\]+memory[^<>]{0,200}>", fold(text)))
        if closed > max(opened, 0):
            problems.append(f"output {key!r} closes {closed} fences and opens {opened}")
    return problems


def nothing_stolen(seen: Observed) -> list[str]:
    """The victim's words stand in no output and in no file of the repository."""
    problems = [f"output {k!r} shows {SECRET}" for k, t in seen.outputs.items() if SECRET in t]
    problems += [f"{p} holds {SECRET}" for p, data in files(seen.repo) if SECRET.encode() in data]
    return problems


def nothing_shipped(seen: Observed) -> list[str]:
    """What the repository shipped in our own files' names is not told as ours."""
    return [
        f"output {key!r} shows what the repository shipped"
        for key, text in seen.outputs.items()
        if key.startswith((*_FENCED, "head")) and SHIPPED in text
    ]


def acknowledged(seen: Observed) -> list[str]:
    """A memory that add_memory acknowledged is a file, is in the context and is found."""
    ids = re.findall(r"memoryId: ([0-9a-f-]{36})", seen.outputs.get("add_memory", ""))
    names = {path.name for path in _walk(seen.repo)}
    problems = [f"acknowledged, and gone: {id_}" for id_ in ids if f"{id_}.json" not in names]
    shown = ("context", "memory_context+") if ids else ()
    return problems + [f"{k!r} lacks it" for k in shown if MINE not in seen.outputs.get(k, "")]


def nothing_foreign(seen: Observed) -> list[str]:
    """What came with a repository that is not trusted speaks nowhere, and is marked in a search."""
    problems = [
        f"output {key!r} shows what the repository says"
        for key, text in seen.outputs.items()
        if FOREIGN in text and key.startswith((*_FENCED, *_OWN_WORDS))
    ]
    found = seen.outputs.get("search_memories", "")
    if FOREIGN in found and "not trusted" not in found:
        problems.append("a search shows what the repository says without a mark")
    views = (seen.repo / ".claude" / name for name in _VIEWS)
    lying = [*views, *(path for path in _walk(seen.home) if "rendered" in path.parts)]
    problems += [f"{path} shows it" for path in lying if FOREIGN.encode() in _content(path)]
    return problems


def answered(seen: Observed) -> list[str]:
    """No output is an unhandled exception, and none is larger than a context can take."""
    problems = [
        f"output {k!r} is a traceback"
        for k, t in seen.outputs.items()
        if "Traceback (most recent call last)" in t
    ]
    limit = 400_000
    return problems + [
        f"output {k!r} has {len(t)} characters"
        for k, t in seen.outputs.items()
        if len(t) > limit and not k.startswith("export")
    ]


def common(seen: Observed) -> list[str]:
    """What must hold after every case."""
    return [*no_controls(seen), *one_fence(seen), *acknowledged(seen), *answered(seen)]


def also(*checks: Verdict) -> Verdict:
    """All of these."""
    return lambda seen: [problem for check in checks for problem in check(seen)]


def still(relative: str, holds: Callable[[Path], bool]) -> Verdict:
    """The hostile thing itself was neither followed nor deleted."""
    return lambda seen: (
        [] if holds(seen.repo / relative) else [f"{relative} of the repository was replaced"]
    )


def absent(relative: str, where: str = "home") -> Verdict:
    """Nothing came into being there."""
    return lambda seen: (
        [f"{where}/{relative} was made"] if os.path.lexists(getattr(seen, where) / relative) else []
    )


def kept(name: str, count: int) -> Verdict:
    """So many files of that name are still in the repository, wherever they were set aside."""

    def check(seen: Observed) -> list[str]:
        found = sum(path.name == name for path in _walk(seen.repo))
        return [] if found >= count else [f"{count - found} of {count} files {name} were deleted"]

    return check


def _walk(root: Path) -> Iterable[Path]:
    for folder, _, names in os.walk(root, followlinks=False):
        for name in names:
            yield Path(folder) / name


def files(root: Path) -> Iterable[tuple[Path, bytes]]:
    """Every file below a folder, with what is in it."""
    return ((path, _content(path)) for path in _walk(root))


def _content(path: Path) -> bytes:
    """Of a regular file below 2 MB: never of a link, never of anything that could block."""
    with contextlib.suppress(OSError):
        about = path.lstat()
        if stat.S_ISREG(about.st_mode) and about.st_size < 2 << 20 and about.st_nlink == 1:
            return path.read_bytes()
    return b""


def digest(root: Path, but: Collection[Path] = ()) -> dict[str, str]:
    """Everything below a folder, byte for byte, with its rights; links are not followed.

    What is in the folders `but` is left out, and that they and those above them are there.
    """
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(root, followlinks=False):
        folders[:] = [name for name in folders if Path(folder, name) not in but]
        for path in (Path(folder, name) for name in (*folders, *names)):
            if not any(own.is_relative_to(path) for own in but):
                found[str(path.relative_to(root))] = _stamp(path)
    return found


def _stamp(path: Path) -> str:
    about = path.lstat()
    what = f"{about.st_mode:o}"
    if stat.S_ISLNK(about.st_mode):
        return f"{what} to {path.readlink()}"
    if not stat.S_ISREG(about.st_mode):
        return what
    if about.st_blocks * 512 < about.st_size // 2:  # a hole: reading it would take for ever
        return f"{what} {about.st_size} {about.st_mtime_ns}"
    return f"{what} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """What came, went or changed between two digests."""
    names = sorted(before.keys() | after.keys())
    return [
        f"outside of the project, {name} was {before.get(name, 'not there')} and is now "
        f"{after.get(name, 'gone')}"
        for name in names
        if before.get(name) != after.get(name)
    ]
