"""`memory-mcp serve`: serve MCP clients, over stdio or HTTP."""

import gc
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any, Final

from memory_mcp.cli.arguments import parse_port, parse_url_path, some_of
from memory_mcp.cli.commands import Subcommand
from memory_mcp.cli.inputs import UsageError
from memory_mcp.cli.output import Output, print_note
from memory_mcp.config.load import LoadedSettings
from memory_mcp.config.settings import TOOLSETS, add_toolsets
from memory_mcp.hints import use_words_of
from memory_mcp.shutdown import import_whole

_ON_A_TERMINAL: Final = (
    "This serves an MCP client, which starts it itself and speaks to it here: `memory-mcp install "
    "--help`. To use it by hand, `memory-mcp --help`. Ctrl-C ends it."
)

_ADDRESS: Final[Mapping[str, Any]] = {"host": "127.0.0.1", "port": 8000, "path": ""}
"""Options that mean something over HTTP alone, with their defaults."""


def serve(loaded: LoadedSettings, args: Namespace) -> Output:
    """Serve until the client goes away."""
    given = {name: getattr(args, name) for name in _ADDRESS if getattr(args, name) is not None}
    if given and args.transport == "stdio":
        raise UsageError(
            f"--{next(iter(given))} needs --transport streamable-http: stdio has no address."
        )
    if args.json:
        raise UsageError("serve takes no --json: what it writes is MCP's.")
    settings = add_toolsets(loaded.settings, args.toolsets)
    if args.transport == "stdio" and sys.stdin.isatty():
        print_note(_ON_A_TERMINAL)
    gc.disable()  # imports make much that stays and nothing to collect
    with import_whole():
        from memory_mcp.server import main as server  # imports the MCP SDK

    gc.freeze()
    gc.enable()
    with use_words_of("call"):
        server.serve(settings, args.transport, **{**_ADDRESS, **given})
    return Output({"success": True}, silent=True)


def _add_serve_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--transport",
        choices=("stdio", "sse", "streamable-http"),
        default="stdio",
        help="stdio (default); streamable-http is the HTTP one to choose, sse is the older one",
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        help="default 127.0.0.1, this machine only; any other needs tokens (see `token`)",
    )
    parser.add_argument("--port", metavar="N", type=parse_port, help="default 8000")
    parser.add_argument("--path", metavar="PATH", type=parse_url_path,
                        help="default /mcp, or /sse for sse")  # fmt: skip
    parser.add_argument(
        "--toolsets",
        type=some_of(TOOLSETS),
        default="",
        metavar="NAMES",
        help="further tools, e.g. branches",
    )


COMMANDS: Final = {"serve": Subcommand(serve, _add_serve_options)}
