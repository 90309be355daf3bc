"""Cites the code for a memory, and says what became of what a memory cites."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.code.symbols import find_symbol, knows_symbols, list_symbols
from memory_mcp.domain.citations import (
    Checked,
    CitedPlace,
    hash_lines,
    parse_place,
)
from memory_mcp.domain.code_files import CodeFile
from memory_mcp.domain.limits import CITES_MAX
from memory_mcp.domain.record import Citation, Record
from memory_mcp.engine.workspace import Workspace
from memory_mcp.hints import name_argument
from memory_mcp.patterns import compile_later
from memory_mcp.ports import CodeFiles

_LINES_MAX: Final = 2_000
_PROPOSED_MAX: Final = 3
_MENTION: Final = compile_later(
    r"(?<![\w/@:.-])((?:[\w.-]+/)*[\w-][\w.-]*\.\w{1,8})(:\d+(?:-\d+)?|#[\w.]+)?"
)
_NO_CODE: Final = "Nothing was cited: this memory belongs to no work tree."


def cite_places(
    workspace: Workspace, written: Sequence[str], commit: str
) -> tuple[tuple[Citation, ...], tuple[str, ...]]:
    """The citations of these places as they are now, and a note for each that cannot be cited."""
    if not written:
        return (), ()
    files = workspace.code
    if files is None:
        return (), (_NO_CODE,)
    found: list[Citation] = []
    notes: list[str] = []
    for each in dict.fromkeys(written):
        made = (
            make_citation(files, each, commit)
            if len(found) < CITES_MAX
            else f"{CITES_MAX} are the most"
        )
        if isinstance(made, str):
            notes.append(f"Not cited: {each[:200]!r} {made}.")
        else:
            found.append(made)
    return tuple(found), tuple(notes)


def cite_again(
    workspace: Workspace, cites: Sequence[Citation], commit: str
) -> tuple[tuple[Citation, ...], tuple[str, ...]]:
    """The same citations as they are now, where they stand now; a note for each that is gone."""
    files = workspace.code
    if files is None or not cites:
        return tuple(cites), ()
    checked = [check_citation(files, each) for each in cites]
    return cite_places(workspace, [each.now or each.place for each in checked], commit)


def propose_citations(workspace: Workspace, content: str) -> tuple[str, ...]:
    """A note that names the files which a text mentions, so that they can be cited."""
    files = workspace.code
    if files is None:
        return ()
    mentions = dict.fromkeys(path + (place or "") for path, place in _MENTION.findall(content))
    there = [each for each in mentions if isinstance(make_citation(files, each), Citation)]
    if not there:
        return ()
    argument = name_argument("cites", there[:_PROPOSED_MAX])
    return (f"It names code: with {argument} it is told when that changes.",)


def check_cites(workspace: Workspace, record: Record, *, wait: bool = False) -> list[Checked]:
    """What became of each citation of the memory; `wait` until git has said what was renamed."""
    files = workspace.code
    return [check_citation(files, each, wait=wait) for each in record.cites] if files else []


def check_citation(files: CodeFiles, cited: Citation, *, wait: bool = False) -> Checked:
    """What became of it: unchanged, also in another place; changed; or gone."""
    place = CitedPlace(cited.path, cited.first, cited.last, cited.symbol)
    file = files.read(cited.path)
    if isinstance(file, str):
        return _check_moved(files, place, cited, wait=wait)
    return _check_file(file, place, cited)


def _check_file(file: CodeFile, place: CitedPlace, cited: Citation) -> Checked:
    """What became of it in the file where it is to be found."""
    if file.blob == cited.blob:
        return Checked(str(place), "holds")
    if found := _find_lines(file, cited):
        now = replace(place, path=file.path) if cited.symbol else found
        return Checked(str(place), "holds", "" if now == place else str(now))
    now = "" if file.path == place.path else str(replace(place, path=file.path))
    there = len(file.lines) >= cited.first
    if cited.symbol and knows_symbols(file.path):
        there = find_symbol(file.list_symbols(list_symbols), cited.symbol) is not None
    return Checked(str(place), "changed", now) if there else Checked(str(place), "gone")


def _check_moved(files: CodeFiles, place: CitedPlace, cited: Citation, *, wait: bool) -> Checked:
    """What became of a file that is not there: it may have been renamed, and changed as well."""
    moved = files.find_blob(cited.blob)
    found = files.read(moved) if moved and moved != cited.path else ""
    if not isinstance(found, str) and found.blob == cited.blob:
        return Checked(str(place), "holds", str(replace(place, path=moved)))
    if same := _find_same(files, files.list_similar(cited.path), place, cited):
        return same
    renamed = files.find_renamed(cited.path, cited.commit, wait=wait)
    there = files.read(renamed) if renamed else ""
    if not isinstance(there, str):
        return _check_file(there, place, cited)
    untracked = files.list_untracked(cited.path, wait=wait)
    return _find_same(files, untracked, place, cited) or Checked(str(place), "gone")


def _find_same(
    files: CodeFiles, paths: Sequence[str], place: CitedPlace, cited: Citation
) -> Checked | None:
    """In which of these files the cited text stands unchanged; None if in none."""
    for path in paths:
        file = files.read(path)
        if isinstance(file, str):
            continue
        if file.blob == cited.blob:
            return Checked(str(place), "holds", str(replace(place, path=path)))
        if (cited.first or cited.symbol) and (lines := _find_lines(file, cited)):
            now = replace(place, path=path) if cited.symbol else lines
            return Checked(str(place), "holds", str(now))
    return None


def _find_lines(file: CodeFile, cited: Citation) -> CitedPlace | None:
    """Where the cited lines stand in the file now: mostly where they stood."""
    first, last = cited.first, cited.last
    if cited.symbol and not cited.count:  # the first that were written do not say how many lines
        first, last = find_symbol(file.list_symbols(list_symbols), cited.symbol) or (0, 0)
    count = cited.count or (last - first + 1 if first else 0)
    if not count:
        return None
    same = file.lines[first - 1 : last] if first else []
    if len(same) == count and hash_lines(same) == cited.text:
        at = first
    else:
        at = file.find_text(cited.text, count, cited.size)
    return CitedPlace(file.path, at, at + count - 1) if at else None


def make_citation(files: CodeFiles, written: str, commit: str = "") -> Citation | str:
    """The citation of a place as it is now, or what is wrong with it."""
    place = parse_place(written)
    if place is None:
        return "is no place in the code: write path, path:12-20 or path#name"
    file = files.read(place.path)
    if isinstance(file, str):
        return file
    found = _find_place(file, place)
    if isinstance(found, str):
        return found
    first, last = found
    lines = file.lines[first - 1 : last] if first else file.lines
    return Citation(
        path=place.path,
        first=0 if place.symbol else first,
        last=0 if place.symbol else last,
        symbol=place.symbol,
        text=hash_lines(lines),
        count=len(lines),
        size=sum(map(len, lines)),
        blob=file.blob,
        commit=commit,
    )


def _find_place(file: CodeFile, place: CitedPlace) -> tuple[int, int] | str:
    """The first and last line of the place, 0 for the whole file; or why it cannot be cited."""
    found: tuple[int, int] | None = place.first, place.last
    if place.symbol and not knows_symbols(place.path):
        return "names a symbol, and of this language only lines can be cited here"
    if place.symbol:
        found = find_symbol(file.list_symbols(list_symbols), place.symbol)
    if found is None:
        return f"names {place.symbol!r}, which this file does not declare"
    if found[1] > len(file.lines):
        return f"ends after the file, which has {len(file.lines)} lines"
    if found[1] - found[0] >= _LINES_MAX:
        return f"has more than {_LINES_MAX:,} lines: cite what matters"
    return found
