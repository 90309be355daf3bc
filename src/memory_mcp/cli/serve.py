"""`memory-mcp serve`: serve MCP clients, over stdio or HTTP."""

import gc
import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from memory_mcp.cli.arguments import parse_port, some_of
from memory_mcp.cli.commands import Subcommand
from memory_mcp.cli.output import Output, print_note
from memory_mcp.config.load import LoadedSettings
from memory_mcp.config.settings import TOOLSETS, add_toolsets
from memory_mcp.hints import use_words_of
from memory_mcp.shutdown import import_whole

_ON_A_TERMINAL: Final = (
    "This serves an MCP client, which starts it itself and speaks to it here: `memory-mcp install "
    "--help`. To use it by hand, `memory-mcp --help`. Ctrl-C ends it."
)


def serve(loaded: LoadedSettings, args: Namespace) -> Output:
    """Serve until the client goes away."""
    settings = add_toolsets(loaded.settings, args.toolsets)
    if args.transport == "stdio" and sys.stdin.isatty():
        print_note(_ON_A_TERMINAL)
    gc.disable()  # imports make much that stays and nothing to collect
    with import_whole():
        from memory_mcp.server import main as server  # imports the MCP SDK

    gc.freeze()
    gc.enable()
    with use_words_of("call"):
        server.serve(settings, args.transport, args.host, args.port, args.path)
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
        default="127.0.0.1",
        help="default 127.0.0.1, this machine only; any other needs tokens (see `token`)",
    )
    parser.add_argument("--port", metavar="N", type=parse_port, default=8000, help="default 8000")
    parser.add_argument("--path", metavar="PATH", default="", help="default /mcp, or /sse for sse")
    parser.add_argument(
        "--toolsets",
        type=some_of(TOOLSETS),
        default="",
        metavar="NAMES",
        help="further tools, e.g. branches",
    )


COMMANDS: Final = {"serve": Subcommand(serve, _add_serve_options)}
