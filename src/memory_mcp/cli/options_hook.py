"""The options of `hook`. What runs a hook knows none of this: it is here for `--help`."""

import argparse


def hook_options(parser: argparse.ArgumentParser) -> None:
    """Which turning point of the session it is."""
    parser.description = (
        "What Claude Code calls at a session's turning points, as the plugin tells it to: the "
        "event comes as JSON on stdin, the answer goes to stdout. Nobody else needs it."
    )
    parser.add_argument(
        "event", metavar="EVENT", help="session-start, post-compact, stop or session-end"
    )
