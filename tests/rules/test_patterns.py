"""Patterns that are compiled at their first use behave as compiled ones do."""

import re
import subprocess
import sys

import pytest

from memory_mcp.patterns import compile_later


def test_a_pattern_answers_as_a_compiled_one() -> None:
    """Whoever uses one need not know when it is compiled."""
    source = r"(?P<a>b+)"
    later, compiled = compile_later(source, re.IGNORECASE), re.compile(source, re.IGNORECASE)
    for text in ("", "abB", "bb", "c b B"):
        assert later.findall(text) == compiled.findall(text)
        assert later.sub("<", text) == compiled.sub("<", text)
        assert bool(later.fullmatch(text)) == bool(compiled.fullmatch(text))
    assert (later.pattern, later.flags) == (compiled.pattern, compiled.flags)
    assert dict(later.groupindex) == {"a": 1}
    assert compile_later(rb"\d").search(b"a1") is not None


def test_what_is_no_attribute_of_a_pattern_is_none_here_either() -> None:
    """Else a slip would compile it and go unseen."""
    with pytest.raises(AttributeError):
        compile_later("a").serach  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_no_module_compiles_a_pattern_when_it_is_imported() -> None:
    """All of them together take a quarter of the processor time of a short command."""
    script = (
        "import re, sys\n"
        "compiled, own = re.compile, []\n"
        "def note(source, flags=0):\n"
        "    name = sys._getframe(1).f_globals['__name__']\n"
        "    if name.startswith('memory_mcp') and name != 'memory_mcp.patterns':\n"
        "        own.append((name, source))\n"
        "    return compiled(source, flags)\n"
        "re.compile = note\n"
        "import memory_mcp.server.main, memory_mcp.cli.commands, memory_mcp.cli.branches\n"
        "import memory_mcp.cli.memories, memory_mcp.cli.sessions, memory_mcp.build\n"
        "print(own)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
