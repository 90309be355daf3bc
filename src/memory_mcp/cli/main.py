"""The command line's grammar. Only the standard library is imported here: `--help` is instant.

What a command does is in `cli.commands`, imported once it is known that one runs; the server and
the MCP SDK are imported inside `serve` alone, so that every other command starts fast.
"""

import argparse
import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

from memory_mcp import __version__
from memory_mcp.cli.options import (
    add_options,
    backtrack_options,
    checkpoint_options,
    context_options,
    episode_options,
    forget_options,
    fork_options,
    models_options,
    nudge_options,
    search_options,
    serve_options,
    sync_options,
    trust_options,
    update_options,
)
from memory_mcp.cli.options_clients import install_options, uninstall_options
from memory_mcp.cli.options_closing import (
    closeout_options,
    consolidate_options,
    identity_options,
    phase_options,
)
from memory_mcp.cli.options_hook import hook_options
from memory_mcp.cli.options_moving import export_options, import_options
from memory_mcp.cli.terminal import say, say_json
from memory_mcp.hook import main as run_hook

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
