"""The story that the tests tell Claude Code: a shop, a decision, and a road that was left."""

import json
import re
import time
from dataclasses import dataclass
from typing import Final

from doors import machine_dir
from driver import ClaudeCode, Json, Turn

from memory_mcp import rendered

__all__ = [
    "ABANDONED", "KEPT", "LESSON", "SUMMARY", "TRACES", "Worked", "answers",
    "context", "excerpt", "first_session", "read",
]  # fmt: skip

KEPT: Final = "Orders live in PostgreSQL because the reports join them."
SUMMARY: Final = "Storage chosen: PostgreSQL holds the orders."
ABANDONED: Final = (
    "Sessions live in Valkey with an expiry of one hour.",
    "The cart is cached on host kingfisher at port 6390.",
)
LESSON: Final = "A cache server was more to run than it was worth."
TRACES: Final = re.compile(r"Valkey|kingfisher|6390|expiry of one hour")
"""What nobody may read again once the road is left."""


READING_SECONDS_MAX: Final = 30.0


@dataclass(frozen=True)
class Worked:
    """The first session, turn by turn."""

    hello: Turn
    sealed: Turn
    approved: Turn
    astray: Turn
    back: Turn


def read(claude: ClaudeCode) -> None:
    """Be a user who reads the answer before closing: meanwhile the server renders what it wrote.

    Claude Code ends servers at once; what was not rendered by then is caught up with later.
    """
    machine = machine_dir(claude.project)
    until = time.monotonic() + READING_SECONDS_MAX
    while (inbox := machine / "inbox").exists() and any(inbox.glob("*.json")):
        assert time.monotonic() < until, "the server does not work its inbox off"
        time.sleep(0.05)
    while (
        ready := rendered.load_bootstrap(str(machine), "main")
    ) is None or not rendered.is_current(ready):
        assert time.monotonic() < until, "the server does not render what it wrote"
        time.sleep(0.05)


def answers(turn: Turn) -> list[Json]:
    """What our tools answered in this turn, as data."""
    return [json.loads(result) for result in turn.results()]


def context(turn: Turn, hook: str, *, shown: bool = True) -> str:
    """What a hook added to what the model sees; that it did see it is checked, where it can be."""
    texts = [
        json.loads(run["stdout"]).get("hookSpecificOutput", {}).get("additionalContext", "")
        for run in turn.said(hook)
        if run["stdout"].strip()
    ]
    text = "".join(texts)
    assert not shown or text in turn.seen[-1].text, "printed, but not shown to the model"
    return text


def excerpt(turn: Turn) -> str:
    """What the model saw of us: instructions (their beginning), tools, and what hooks added."""
    seen = turn.first.text
    told = re.search(r"^## \S*memory\S*\n(.{0,160})", seen, re.MULTILINE)
    tools = sorted(set(re.findall(r"^mcp__\S*memory\S*__(\w+)$", seen, re.MULTILINE)))
    added = re.findall(
        r"^(\w+ hook additional context: (?:.*?</memory>(?:\n\S.*?$)?|.*?$))",
        seen,
        re.MULTILINE | re.DOTALL,
    )
    spoken = [text for role, text in turn.first.messages if role == "user"]
    return "\n\n".join(
        [
            f"# MCP Server Instructions\n{told[1]} [...]" if told else "no instructions",
            f"deferred tools: {', '.join(tools)}",
            *added,
            f"user: {spoken[-1].splitlines()[-1]}",
        ]
    )


def first_session(claude: ClaudeCode) -> Worked:
    """Decide, seal, be approved, go astray and come back, on a project that knows nothing yet."""
    call = claude.call
    with claude.session() as session:
        hello = session.ask("Hello")
        sealed = session.ask(
            "We take PostgreSQL.",
            call("add_memory", content=KEPT, kind="decision"),
            call("add_memory", content="Short commit messages.", kind="preference", scope="user"),
            call("checkpoint", summary=SUMMARY, phase=1),
        )
        pending = answers(sealed)[-1]["checkpointId"]
        approved = session.ask("Save it.", call("checkpoint", pending=pending, decision="save"))
        astray = session.ask(
            "Let us try a cache now: the sessions of the shop move to Valkey, and the cart is kept "
            "on the host kingfisher, because the database is slow in the evening.",
            *(call("add_memory", content=text) for text in ABANDONED),
        )
        back = session.ask(
            "Scrap the cache.", call("backtrack", to=1, mode="continue", lesson=LESSON)
        )
        read(claude)
    return Worked(hello, sealed, approved, astray, back)
