"""The real Claude Code in a repository: checkout, reset and `/rewind`, and what the model saw then.

`pytest -rs -m claude`; with `-n 0 -s -k transcript` it prints what the model saw.
"""

import re
from collections.abc import Sequence
from typing import Final

import pytest
from driver import ClaudeCode, Turn
from git_world import IGNORED
from messages_api import Seen
from real_git import commit_all, git
from story import read
from terminal import open_terminal

pytestmark = pytest.mark.claude

KEPT: Final = "Orders live in PostgreSQL."
ELSEWHERE: Final = "Sessions are kept in Redis."
LATER: Final = "Invoices are printed at night."
LEFT: Final = "The cart is cached in Valkey."
OURS: Final = re.compile(
    r"^(?:\w+ hook additional context: (?:<memory.*?</memory>|.*?$)|\[calls .*?$|\{\"succ.*?$)",
    re.MULTILINE | re.DOTALL,
)
"""What the model saw of us: what hooks added, what it called, and what that answered."""
UNTOLD: Final = re.compile(r"mcp__plugin_memory-mcp_memory__|,\"createdAt\":\"[^\"]*\"")


@pytest.fixture
def versioned(claude: ClaudeCode) -> ClaudeCode:
    """A project with one commit, whose memory follows git."""
    (claude.project / ".gitignore").write_text(IGNORED, "utf-8")
    commit_all(claude.project, "begin")
    git(claude.project, "branch", "-M", "main")
    claude.environment["MEMORY_GIT"] = "follow"
    return claude


def work(claude: ClaudeCode, name: str) -> None:
    """Change a file and commit it."""
    (claude.project / f"{name}.py").write_text(f"{name} = 1\n", "utf-8")
    commit_all(claude.project, name)


def look(claude: ClaudeCode) -> str:
    """The line of a prompt that has the model look into its memory."""
    return claude.call("search_memories", query="", limit=9)


def excerpt(prompt: str, seen: Sequence[Seen]) -> str:
    """What a turn added to what the model saw, of us alone."""
    messages = seen[-1].messages
    begin = max(at for at, (role, text) in enumerate(messages)
                if role == "user" and not text.startswith('{"success'))  # fmt: skip
    added = "\n".join(text for _, text in messages[begin:])
    ours = [UNTOLD.sub("", found) for found in OURS.findall(added)]
    return "\n".join([f"user: {prompt}", *ours])


def tell_on_branches(claude: ClaudeCode) -> list[tuple[str, Turn]]:
    """Work on main and on feature; then a second session, on main, on feature, and after resets."""
    turns: list[tuple[str, Turn]] = []

    def ask(prompt: str, call: str) -> None:
        turns.append((prompt, session.ask(prompt, call)))

    with claude.session() as session:
        ask("We begin.", claude.call("add_memory", content=KEPT))
        work(claude, "orders")
        git(claude.project, "switch", "-q", "-c", "feature")
        ask("On feature.", claude.call("add_memory", content=ELSEWHERE))
        work(claude, "sessions")
        ask("One commit later.", claude.call("add_memory", content=LATER))
        work(claude, "invoices")
        git(claude.project, "switch", "-q", "main")
        ask("On main, after a checkout.", look(claude))
        read(claude)
        session.kill()  # else an episode quotes the prompts, in which the script stands
    with claude.session() as session:
        ask("A second session, on main.", look(claude))
        git(claude.project, "switch", "-q", "feature")
        ask("Back on feature.", look(claude))
        git(claude.project, "reset", "-q", "--hard", "HEAD~1")
        ask("After reset --hard HEAD~1.", look(claude))
        git(claude.project, "reset", "-q", "--hard", "HEAD@{1}")
        ask("Forward again.", look(claude))
        session.kill()
    return turns


def test_transcript_of_branches_and_a_rewind(
    versioned: ClaudeCode, capsys: pytest.CaptureFixture[str]
) -> None:
    """A session on a branch, a checkout, a second session, a reset, and `/rewind`."""
    turns = tell_on_branches(versioned)
    shown = [excerpt(prompt, turn.seen) for prompt, turn in turns]
    *_, checkout, second, back, reset, forward = ["".join(turn.results()) for _, turn in turns]
    with open_terminal(versioned) as terminal:
        prompts = ("Hello.", versioned.call("add_memory", content=LEFT), "And the cart?")
        shown += [excerpt(prompt, terminal.ask(prompt)) for prompt in prompts]
        written = versioned.transcript()
        terminal.rewind(turns=2)
        assert versioned.transcript() == written, "no hook could read of it before the next prompt"
        looks = "\n".join([look(versioned)] * 3)  # Claude Code writes 100 ms later what was typed
        told = terminal.ask(looks)
        shown.append(excerpt(looks, told))
    with capsys.disabled():
        print("\n\n" + "\n\n".join(shown))  # noqa: T201  # this is what it is for

    for on_main in (checkout, second):
        assert KEPT in on_main
        assert ELSEWHERE not in on_main
        assert LATER not in on_main
    assert all(text in back and text in forward for text in (KEPT, ELSEWHERE, LATER))
    assert ELSEWHERE in reset
    assert LATER not in reset
    assert shown[3].count("Git is on main now: 2 memories") == shown[3].count("Git is on") == 1
    assert LEFT not in told[-1].messages[-1][1]
    assert ELSEWHERE in told[-1].messages[-1][1]
    assert "1 memory of the turns that were left not recalled any more" in told[-1].text
    versioned.memory("undo")
    assert LEFT in versioned.memory("search", "cart")
