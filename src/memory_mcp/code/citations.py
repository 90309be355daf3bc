"""Cites the code for a memory, and says what became of what a memory cites."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.code.symbols import (
    find_near,
    find_symbol,
    knows_symbols,
    list_symbols,
    may_declare,
)
from memory_mcp.domain.citations import (
    Checked,
    CitedPlace,
    get_place,
    hash_lines,
    hash_neighbours,
    is_distinctive,
    list_other_places,
    parse_place,
)
from memory_mcp.domain.code_files import CodeFile
from memory_mcp.domain.git import SHORT
from memory_mcp.domain.limits import CITES_MAX
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.record import Citation, Record
from memory_mcp.engine.git import stands_elsewhere
from memory_mcp.engine.workspace import Workspace
from memory_mcp.hints import name_argument
from memory_mcp.patterns import compile_later
from memory_mcp.ports import CodeFiles
from memory_mcp.ports.code import FOLDER, NOT_THERE

_LINES_MAX: Final = 2_000
_PROPOSED_MAX: Final = 3
_SHAPE_LINES: Final = 16
"""Lines of a text by whose lengths it is looked for."""
_NAMED_MAX: Final = 5
"""Declarations of one name that are told."""
_OPENING: Final = compile_later(
    r"\s*(?:(?:export|default|public|abstract|pub|async)\s+)*"
    r"(?:class|def|impl|interface|trait|enum|mod|namespace)\s+([\w$]+)"
)
_DECLARATION: Final = compile_later(
    r"\s*(?:(?:export|default|public|private|protected|static|final|abstract|pub|async|const|let"
    r"|var)\s+)*(?:(?:class|def|impl|interface|trait|enum|mod|namespace|function|func|fn|struct"
    r"|type)\s+(?P<declared>[\w$]+)|(?P<assigned>[\w$]+)\s*(?::[^=]*)?=(?!=))"
)
_MENTION: Final = compile_later(
    r"(?<![\w/\\@:.-])((?:[A-Za-z]:[\\/])?(?:[\w.-]+[\\/])*[\w-][\w.-]*\.\w{1,8})"
    r"(:\d+(?:-\d+)?|#[\w.]+)?"
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
        elif made not in found:
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
    """What became of each citation of the memory; `wait` until git has said what was renamed.

    Of a memory that stands elsewhere in git nothing is said: it is of other code than is here.
    """
    files = workspace.code
    if files is None or stands_elsewhere(workspace, record):
        return []
    return [check_citation(files, each, wait=wait) for each in record.cites]


def name_changes(
    workspace: Workspace,
    cites: Sequence[Citation],
    checked: Sequence[Checked],
    *,
    wait: bool = False,
) -> list[Checked]:
    """The same with the commit that changed each; git is asked for that beside the call."""
    files = workspace.code
    if files is None or not checked:
        return list(checked)
    pairs = zip(cites, checked, strict=True)
    return [name_change(files, *pair, wait=wait) for pair in pairs]


def name_change(
    files: CodeFiles, cited: Citation, checked: Checked, *, wait: bool = False
) -> Checked:
    """The same with the commit that rewrote or removed what is cited, as far as that is known.

    Of a file that has another name now nothing is said: its history begins anew there.
    """
    if checked.state == "holds" or checked.now or not cited.commit:
        return checked
    place = get_place(cited)

    def stands(file: CodeFile) -> bool:
        """What is gone now was still there when it was only rewritten."""
        state = _check_file(file, place, cited).state
        return state == "holds" or (state == "changed" and checked.state == "gone")

    about = (str(place), checked.state, cited.commit, cited.blob, cited.text)
    commit = files.find_change(cited.path, cited.commit, about, stands, wait=wait)
    return replace(checked, commit=commit[:SHORT]) if commit else checked


def check_citation(files: CodeFiles, cited: Citation, *, wait: bool = False) -> Checked:
    """What became of it: unchanged, also in another place; changed; or gone."""
    place = get_place(cited)
    file = files.read(cited.path)
    if not isinstance(file, str):
        return _check_file(file, place, cited)
    if left_out := files.find_left_out(cited.path):
        return Checked(str(place), "holds" if left_out == cited.blob else "changed")
    moved = _check_moved(files, place, cited, wait=wait)
    if moved.state == "gone" and file not in (NOT_THERE, FOLDER):
        return replace(moved, state="changed")  # something is there that cannot be read
    return moved


def _check_file(file: CodeFile, place: CitedPlace, cited: Citation) -> Checked:
    """What became of it in the file where it is to be found."""
    if file.blob == cited.blob:
        return Checked(str(place), "holds")
    if now := _find_cited(file, place, cited):
        return Checked(str(place), "holds", "" if now == place else str(now))
    now = "" if file.path == place.path else str(replace(place, path=file.path))
    there = len(file.lengths) >= cited.first
    if cited.symbol and knows_symbols(file.path):
        there = file.declares(cited.symbol, _is_declared)
    return Checked(str(place), "changed", now) if there else Checked(str(place), "gone")


def _check_moved(files: CodeFiles, place: CitedPlace, cited: Citation, *, wait: bool) -> Checked:
    """What became of a file that is not there: it may have been renamed, and changed as well."""
    moved = files.find_blob(cited.blob)
    found = files.read(moved) if moved and moved != cited.path else ""
    if not isinstance(found, str) and _is_same_file(found, cited):
        return Checked(str(place), "holds", str(replace(place, path=moved)))
    if same := _find_same(files, files.list_similar(cited.path), place, cited):
        return same
    renamed = files.find_renamed(cited.path, cited.commit, wait=wait)
    there = files.read(renamed) if renamed else ""
    if not isinstance(there, str):
        return _check_file(there, place, cited)
    untracked = files.list_untracked(cited.path, wait=wait)
    return _find_same(files, untracked, place, cited) or Checked(str(place), "gone")


def _is_same_file(file: CodeFile, cited: Citation) -> bool:
    """Whether it is the cited one by its content; an empty `__init__.py` is every other one's."""
    return file.blob == cited.blob and is_distinctive(file.lines)


def _find_same(
    files: CodeFiles, paths: Sequence[str], place: CitedPlace, cited: Citation
) -> Checked | None:
    """In which of these files the cited text stands unchanged; None if in none."""
    for path in paths:
        file = files.read(path)
        if isinstance(file, str):
            continue
        if _is_same_file(file, cited):
            return Checked(str(place), "holds", str(replace(place, path=path)))
        if (cited.first or cited.symbol) and (now := _find_cited(file, place, cited, other=True)):
            return Checked(str(place), "holds", str(now))
    return None


def _find_cited(
    file: CodeFile, place: CitedPlace, cited: Citation, *, other: bool = False
) -> CitedPlace | None:
    """Where what is cited stands unchanged in the file; `other` if nobody says it is the same."""
    if cited.symbol and knows_symbols(file.path):
        return replace(place, path=file.path) if _has_symbol(file, cited) else None
    at = _find_lines(file, cited, other=other or bool(cited.symbol))
    if at and cited.symbol:
        return replace(place, path=file.path)
    return CitedPlace(file.path, at, at + cited.count - 1) if at else None


def _has_symbol(file: CodeFile, cited: Citation) -> bool:
    """Whether the file declares the symbol, by that name in full, with the cited text.

    The same text under another name is another symbol. A file that is being worked on may not say
    what it declares: then the text has to be the only one, and distinctive.
    """
    found = file.find_text(cited)
    if not found:
        return False
    lines = file.lines
    if any(_is_enclosed(lines[at - 1], reversed(lines[: at - 1]), cited.symbol) for at in found):
        return True
    known = file.list_symbols(list_symbols)
    if not known:
        return bool(_find_lines(file, cited, other=True))
    named = find_symbol(known, cited.symbol)
    return len(named) == 1 and any(
        hash_lines(lines[first - 1 : last]) == cited.text
        for places in named.values()
        for first, last in places
    )


def _is_enclosed(line: str, above: Iterable[str], symbol: str) -> bool:
    """Whether the lines `above` that of a symbol say its full name, which spares parsing the file.

    The line itself says the last name. What encloses it is indented less, each by a word and its
    name (`class Tokens`). False where only the syntax tells.
    """
    *outer, _ = symbol.split(".")
    depth, rest = _indent(line), iter(above)
    while depth and outer:
        less = (each for each in rest if each.strip() and _indent(each) < depth)
        # what closes parameters on lines of their own belongs to the line that opens them
        line = next((each for each in less if each.lstrip()[0] not in ")]}"), "")
        found = _OPENING.match(line)
        if found is None or found[1] != outer.pop():
            return False
        depth = _indent(line)
    return not depth and not outer


def _is_declared(file: CodeFile, symbol: str) -> bool:
    """Whether the file declares the symbol. It is parsed only if the words do not tell."""
    text, name = file.text, symbol.rpartition(".")[2]
    at = text.find(name)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        line = text[start : end if end >= 0 else len(text)]
        found = _DECLARATION.match(line)
        named = found and name in (found["declared"], found["assigned"])
        if named and _is_enclosed(line, _list_above(text, start), symbol):
            return True
        at = text.find(name, start + len(line))
    may = may_declare(file.path, file.text, symbol)
    return may and bool(find_symbol(file.list_symbols(list_symbols), symbol))


def _list_above(text: str, start: int) -> Iterator[str]:
    """The lines before the one that begins there, the nearest first."""
    while start:
        end = start - 1
        start = text.rfind("\n", 0, end) + 1
        yield text[start:end]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _find_lines(file: CodeFile, cited: Citation, *, other: bool) -> int:
    """Where the cited lines stand in the file now; 0 if nowhere.

    It is the one place where the lines beside them are the same too, or where they stood. Another
    place is theirs only if there is no third and the text is distinctive. In an `other` file the
    lines beside them prove nothing unless all together are distinctive, nor does a line's number.
    """
    found = file.find_text(cited)
    if not found:
        return 0
    lines, count = file.lines, cited.count
    beside = [at for at in found if hash_neighbours(lines, at, count) == cited.around]
    if len(beside) == 1:
        at = beside[0]
        if not other or is_distinctive(lines[max(0, at - 2) : at + count]):
            return at
    if not other and (cited.first or 1) in found:
        return cited.first or 1
    if not other and hash_neighbours(lines, cited.first or 1, count) == cited.around:
        return 0  # rewritten where it stood
    if len(found) == 1 and is_distinctive(lines[found[0] - 1 : found[0] - 1 + count]):
        return found[0]
    return 0


_NO_PLACE: Final = (
    "is no place in the code: write path, path:12-20 (from the first line to the last) or path#name"
)


def make_citation(files: CodeFiles, written: str, commit: str = "") -> Citation | str:
    """The citation of a place as it is now, or what is wrong with it."""
    place = parse_place(written)
    file = files.read(place.path) if place else _NO_PLACE
    if isinstance(file, str):
        for other in list_other_places(written):
            if not isinstance(there := files.read(other.path), str):
                place, file = other, there
                break
    if place is None or isinstance(file, str):
        return str(file)
    place = replace(place, path=file.path)
    found = _find_place(file, place)
    if isinstance(found, str):
        return found
    symbol, first, last = found
    cited = slice(first - 1, last) if first else slice(None)
    lines, lengths = file.lines[cited], file.lengths[cited]
    return Citation(
        path=place.path,
        first=0 if place.symbol else first,
        last=0 if place.symbol else last,
        symbol=symbol,
        text=hash_lines(lines),
        count=len(lines),
        size=sum(lengths),
        shape=lengths[:_SHAPE_LINES].hex(),
        around=hash_neighbours(file.lines, first, len(lines)) if place.first else "",
        blob=file.blob,
        commit=commit,
    )


def _find_place(file: CodeFile, place: CitedPlace) -> tuple[str, int, int] | str:
    """The symbol in full, and the first and last line, 0 for the whole file; or what is wrong."""
    symbol, first, last = "", place.first, place.last
    if place.symbol:
        found = _find_declaration(file, place.symbol)
        if isinstance(found, str):
            return found
        symbol, first, last = found
    if last > len(file.lines):
        has = pluralise(len(file.lines), "line", "lines")
        return f"ends after the file, which has {has}"
    if last - first >= _LINES_MAX:
        return f"has more than {_LINES_MAX:,} lines: cite what matters"
    return symbol, first, last


def _find_declaration(file: CodeFile, symbol: str) -> tuple[str, int, int] | str:
    if not knows_symbols(file.path):
        return "names a symbol, and of this language only lines can be cited here"
    named = find_symbol(file.list_symbols(list_symbols), symbol)
    found = [(name, *lines) for name, places in named.items() for lines in places]
    found.sort(key=lambda each: each[1:])
    if len(found) == 1:
        name, first, last = found[0]
        return name, first, last
    if not found:
        near = ", ".join(find_near(file.list_symbols(list_symbols), symbol))
        hint = f"; near it: {near}" if near else ""
        return f"names {symbol!r}, which this file does not declare{hint}"
    several = ", ".join(f"{name} ({first}-{last})" for name, first, last in found[:_NAMED_MAX])
    more = ", …" if len(found) > _NAMED_MAX else ""
    return f"names {symbol!r}, which this file declares more than once: {several}{more}"
