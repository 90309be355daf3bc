"""What is printed never does anything to the terminal, or to the reader's eye."""

import io
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from command_line import Run
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.cli.output import (
    can_show,
    make_printable,
    make_printable_json,
    print_json,
    print_styled,
)

_HARM = "\x1b[2J\x9b31m\x07\r\x08\u202eevil\u2066\u200b\ufeff\U000e0041\u2028\x7f\x85"
_HIDDEN = set(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B, 0x200E, 0x200F)))


def _harmless(text: str) -> bool:
    kept = text.replace("\n", "").replace("\t", "")
    return all(
        unicodedata.category(char) not in ("Cc", "Zl", "Zp", "Cs") for char in kept
    ) and not (
        set(kept)
        & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff")
    )


@given(st.text(st.characters(), max_size=80))
def test_nothing_printed_is_a_control_character(text: str) -> None:
    """Nor a mark that turns the direction or shows nothing; the rest is as it was."""
    shown = make_printable(text)

    assert _harmless(shown)
    assert make_printable(shown) == shown
    if text.isascii() and text.isprintable():
        assert shown == text


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_means_the_same_and_shows_what_it_hides(value: object) -> None:
    """A program reads the very text; a person who looks at it sees the escapes."""
    for indent in (None, 2):
        said = make_printable_json(json.dumps(value, ensure_ascii=False, indent=indent))
        assert json.loads(said) == value
        assert _harmless(said)


def test_scripts_and_emoji_keep_their_joiners() -> None:
    """Persian and a family are spelt with what hides elsewhere."""
    for text in (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f469\u200d\U0001f4bb",
        "café 🦩",
    ):
        assert make_printable(text) == text
    assert make_printable("me\u200dmory") == "me\\u200dmory"


def test_json_goes_out_on_one_line_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Escapes of JSON, also beyond 16 bits."""
    print_json({"a": "\U000e0041\x1b"})

    assert capsys.readouterr().out == '{\n  "a": "\\udb40\\udc41\\u001b"\n}\n'


@pytest.mark.usefixtures("lone_doctor")
def test_no_command_prints_what_others_wrote_into_the_files(run: Run, project: Path) -> None:
    """Records may come with a clone, and name anything: contents, titles, tags, branches."""
    assert run("add", "The tap drips", "--title", "Tap")[0] == 0
    (path,) = (project / ".claude" / "memory").rglob("*.json")
    record = json.loads(path.read_bytes())
    record |= {"content": f"tap {_HARM}", "title": f"T{_HARM}", "tags": [_HARM]}
    path.write_text(json.dumps(record))
    run("doctor", "--reindex")
    for arguments in (
        ("search", "tap"), ("search",), ("context",), ("status",), ("doctor",), ("export",),
        ("search", "--json"), ("context", "--json"), ("forget", _HARM),
        ("--branch", _HARM, "status"), ("list",), ("show", _HARM),
        ("import", f"./{_HARM}"), (_HARM,), ("search", f"--{_HARM}"), ("nudge", "list"),
    ):  # fmt: skip
        _, out, error = run(*arguments)
        assert _harmless(out), arguments
        assert _harmless(error), arguments


def test_only_one_place_writes_to_the_terminal() -> None:
    """Another `print` would print whatever it is given."""
    source = Path(sys.modules["memory_mcp"].__file__ or "").parent
    listed = subprocess.run(
        ["grep", "-rnE", r"sys\.std(out|err)\.write|(^|[^.\w])print\(", source / "cli"],  # noqa: S607
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    found = [line for line in listed.splitlines() if "output.py" not in line]
    assert [line for line in found if "readable_json(" not in line] == []


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, _Terminal])
def test_styled_words_are_no_more_harmful_than_plain_ones(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the only escapes are those of the style."""
    monkeypatch.setattr(sys, "stdout", shown := stream())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_styled([[("one", "bold"), (f" {_HARM}", "red")]])

    escapes = ("\x1b[1m", "\x1b[31m", "\x1b[0m") if stream is _Terminal else ()
    text = shown.getvalue()
    for escape in escapes:
        assert escape in text
        text = text.replace(escape, "")
    assert text.startswith(r"one \x1b[2J\x9b31m\x07")
    assert _harmless(text)


def test_signs_are_shown_where_the_stream_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that has no encoding, or one that nobody knows, is no reason to fail."""
    for encoding, shown in (("utf-8", True), ("ascii", False), ("cp1252", False)):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        assert can_show("├─╯") is shown
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert can_show("├─╯")
