"""The options of what closes a phase or a session. Only the standard library is imported here."""

import argparse


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
