"""What to do next, in the words of the door through which a caller came."""

import re
from collections.abc import Iterator

import pytest
from paths import ROOT

from memory_mcp.cli.main import make_parser
from memory_mcp.errors import UnknownMemoryError
from memory_mcp.hints import name_argument, name_memory, name_step, use_words_of
from memory_mcp.server.tools import load_default_tools


def test_a_model_and_a_program_read_a_call() -> None:
    """The methods of the Python API have the names of the tools."""
    assert name_step("memory_head") == "memory_head"
    assert name_step("backtrack", to="a b", mode=...) == "backtrack(to='a b', mode=…)"
    assert name_argument("again", value=True) == "again=true"
    assert name_argument("supersedes", ["x"]) == "supersedes=['x']"
    assert name_memory("x") == "memory://memory/x"


def test_a_person_reads_a_command_that_a_shell_takes() -> None:
    """Whatever is in a name: it is typed, or pasted, as it stands."""
    with use_words_of("command"):
        assert name_step("memory_head") == "`memory-mcp status`"
        assert name_step("backtrack", to="a b", mode=...) == (
            "`memory-mcp backtrack 'a b' --mode MODE`"
        )
        assert name_argument("again", value=True) == "`--again`"
        assert name_argument("supersedes", ["x", "y"]) == "`--supersedes x --supersedes y`"
        assert name_memory("x") == "`memory-mcp show x`"
        assert "`memory-mcp search`" in str(UnknownMemoryError("x"))
    assert "search_memories" in str(UnknownMemoryError("x"))


def list_steps() -> Iterator[tuple[str, list[str]]]:
    """Each step that the source names: its tool, and the names of its arguments."""
    for path in (ROOT / "src").rglob("*.py"):
        source = path.read_text("utf-8")
        for tool, given in re.findall(r"name_step\(\s*['\"](\w+)['\"]([^()]*)\)", source):
            yield tool, re.findall(r"(\w+)=", given)


@pytest.mark.parametrize(("tool", "arguments"), [*list_steps()])
def test_each_step_is_one_of_the_tool_and_of_the_command(tool: str, arguments: list[str]) -> None:
    """A hint that neither door takes is worse than none."""
    schema = next(each.parameters for each in load_default_tools() if each.name == tool)
    assert set(arguments) <= schema["properties"].keys()

    with use_words_of("command"):
        typed = name_step(tool, **dict.fromkeys(arguments, ...)).strip("`").split()[1:]
    chosen = {"MODE": "continue", "DECISION": "save", "SCOPE": "user", "KIND": "fact"}
    words = [chosen.get(word, word) for word in typed if word != "AGAIN"]
    if words[0] == "update":  # the rest is said in words
        words += ["x", "x"][len(words) - 1 :]
    assert make_parser(words).parse_args(words).command == words[0]
