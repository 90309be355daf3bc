"""Every command by what one wants of it, and the page that `memory-mcp --help` shows.

Standard library alone, so that `--help` is instant.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from memory_mcp.frozen import frozen

_GROUP_COLUMNS: Final = 10
_NAME_COLUMNS: Final = 13
_SHORT_COLUMNS: Final = 22


@frozen
class Entry:
    """A command: the module of its handler, what the page says of it, and what it does.

    `takes` are those of `--project` and `--branch` that mean something to it.
    """

    name: str
    module: str
    short: str
    summary: str
    takes: tuple[str, ...] = ("project", "branch")


_PROJECT: Final = ("project",)
_NOWHERE: Final = ()

GROUPS: Final = {
    "remember": (
        Entry("add", "memories", "remember one thing", "remember one thing"),
        Entry("search", "memories", "find what holds", "find what holds"),
        Entry("list", "memories", "the newest first", "what holds, newest first"),
        Entry("show", "memories", "one memory, whole", "one memory or checkpoint, whole"),
        Entry("update", "memories", "correct a memory", "replace what a memory says"),
        Entry("forget", "memories", "erase or hide one",
              "erase one memory for good, or hide it from here on"),
    ),
    "time": (
        Entry("status", "branches", "where you stand",
              "where the project stands: checkpoints, pending approvals, left lines"),
        Entry("log", "branches", "the timeline, drawn",
              "the timeline as a graph: checkpoints, branches, left lines"),
        Entry("view", "view", "see it as a page",
              "the timeline and the memories as a page in the browser, to look and decide"),
        Entry("diff", "branches", "compare two points",
              "what was known at one point of the timeline and not at another"),
        Entry("checkpoint", "branches", "seal a restore point",
              "seal a restore point, or decide a pending one"),
        Entry("backtrack", "branches", "go back, or restore",
              "go back to a checkpoint, or restore what was left"),
        Entry("undo", "branches", "undo the last move",
              "undo the last move: a backtrack, a restore, a join, an answer to a checkpoint, what "
              "git moved, or the choice of its mode; never a hide, a forget or a correction"),
        Entry("fork", "branches", "begin a branch", "begin a branch, here or at a checkpoint"),
        Entry("phase", "sessions", "which step it is at",
              "in which phase the project is, or move it to another"),
        Entry("git", "git", "follow the code",
              "whether memory follows git, and where in it memories stand"),
    ),
    "session": (
        Entry("context", "sessions", "what a session sees",
              "the block that opens a session or goes with a task"),
        Entry("consolidate", "sessions", "hand on to the next",
              "hand on what a later session needs"),
        Entry("suggestions", "sessions", "keep what was said?",
              "what the user said and may be kept: list, keep, drop"),
        Entry("nudge", "nudges", "have it brought up",
              "what a session brings up once: add, list, clear", _PROJECT),
        Entry("identity", "sessions", "what the project is",
              "what the project is, or say it anew", _PROJECT),
        Entry("profile", "sessions", "what is known of you",
              "what is known of the user, and which memories it rests on"),
    ),
    "care": (
        Entry("export", "transfer", "write all to a file",
              "write what holds to a file or folder; all with --history"),
        Entry("import", "transfer", "take memories in",
              "take in what another program remembers, or an export"),
        Entry("move", "transfer", "to a database",
              "carry all memories to files or to the database, with a proof"),
        Entry("doctor", "maintenance", "check and mend",
              "check every invariant of files and index, mend or rebuild them", _PROJECT),
        Entry("stale", "git", "what the code left",
              "memories whose cited code has changed or is gone"),
        Entry("trust", "maintenance", "let a clone's count",
              "let what came with this repository count, or no longer", _PROJECT),
    ),
    "set up": (
        Entry("demo", "demo", "see it work",
              "see it work: a real server, a real client, a small project", _NOWHERE),
        Entry("config", "config", "see every setting",
              "what is set, by whom, and what each setting is for", _PROJECT),
        Entry("install", "clients", "tell your agent of it",
              "tell a client of it, in the client's own configuration", _PROJECT),
        Entry("uninstall", "clients", "take it out again",
              "take it out of a client's configuration again", _PROJECT),
        Entry("models", "models", "recall by meaning",
              "the models for recall by meaning: list, add, remove", _NOWHERE),
        Entry("cloud", "cloud", "a copy in the cloud",
              "the provider of memories: status, login, logout, sync", _PROJECT),
        Entry("serve", "serve", "serve MCP clients", "serve MCP clients"),
        Entry("token", "tokens", "let others in by HTTP",
              "the tokens that let clients in over HTTP: add, list, revoke", _NOWHERE),
    ),
}  # fmt: skip
"""What `--help` lists, by what one wants."""

FOR_PROGRAMS: Final = (
    Entry("episode", "sessions", "", "write down what a session was about, from its turns"),
    Entry("capture", "sessions", "", "keep or suggest what the user's turns say"),
    Entry("hook", "", "", "", _NOWHERE),
)
"""What only programs call: `--help` does not list it, and no message offers it."""

LISTED: Final = tuple(chain.from_iterable(GROUPS.values()))

_PAGE: Final = """\
usage: memory-mcp [OPTION ...] COMMAND ...
A memory for agents that stays coherent. Without a command: serve over stdio.

{commands}

options   --project DIR (default: the one around you)   --branch NAME (main)
          --json   --version   --help (after a command: all about that one)"""


def find_entry(name: str) -> Entry:
    """The command of that name."""
    return next(entry for entry in (*LISTED, *FOR_PROGRAMS) if entry.name == name)


def format_page() -> str:
    """The page that `--help` shows; it fits a terminal of 24 lines and 80 columns."""
    return f"{_PAGE.format(commands=chr(10).join(_format_rows()))}\n"


def _format_rows() -> Iterator[str]:
    for group, entries in GROUPS.items():
        for at in range(0, len(entries), 2):
            heading = "" if at else group
            row = entries[at : at + 2]
            cells = (f"{each.name:{_NAME_COLUMNS}}{each.short:{_SHORT_COLUMNS}}" for each in row)
            yield f"{heading:{_GROUP_COLUMNS}}{''.join(cells)}".rstrip()
