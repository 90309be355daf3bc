"""`memory-mcp token`: add a token for a client over HTTP, list them, revoke one."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memory_mcp.cli.commands import Subcommand, add_actions
from memory_mcp.cli.inputs import UsageError
from memory_mcp.cli.output import Fields, Output
from memory_mcp.config.load import LoadedSettings
from memory_mcp.config.settings import Settings
from memory_mcp.domain.fields import normalise_name
from memory_mcp.domain.record import format_time
from memory_mcp.domain.spans import parse_span
from memory_mcp.errors import InvalidRequestError, quote
from memory_mcp.patterns import compile_later
from memory_mcp.server.tokens import (
    Identity,
    Project,
    StoredToken,
    check_project_name,
    open_tokens,
)

_NOT_IN_NAMES: Final = compile_later(r"[^a-z0-9_-]+")


def token(loaded: LoadedSettings, args: Namespace) -> Output:
    """Carry out the action after `token`; without one: list."""
    match args.action:
        case "add":
            return _add_token(loaded.settings, args)
        case "revoke":
            return _revoke_token(loaded.settings, args.name)
        case _:
            return _list_tokens(loaded.settings)


def _add_token(settings: Settings, args: Namespace) -> Output:
    name = _check_name("NAME", args.name)
    identity = Identity(
        user=_check_name("--user", args.user or name),
        team=_check_name("--team", args.team) if args.team else None,
        projects=_read_projects(args.projects or []),
        read_only=args.read_only,
        figures=args.metrics,
        expires_at=args.expires,
    )
    now = datetime.now(UTC)
    if identity.expired(now):
        raise InvalidRequestError("--expires is in the past: the token would let nobody in.")
    stored, shown = open_tokens(settings).add(name, identity, now)
    fields = {"success": True, **_describe(stored, now), "token": shown}
    return Output(fields, _added_text)


def _revoke_token(settings: Settings, name: str) -> Output:
    now = datetime.now(UTC)
    revoked = open_tokens(settings).revoke(name, now)
    message = f"{revoked.name} lets nobody in any more; what it has open ends within a second."
    return Output({"success": True, **_describe(revoked, now), "message": message})


def _list_tokens(settings: Settings) -> Output:
    now = datetime.now(UTC)
    tokens = [_describe(each, now) for each in open_tokens(settings).list()]
    return Output({"success": True, "tokens": tokens}, _tokens_text)


def _check_name(what: str, text: str) -> str:
    """A name as it can be stored and shown on one line.

    Raises:
        UsageError: it is none.
    """
    if not text or normalise_name(text) != text:
        raise UsageError(
            f"{what} {text[:80]!r} is no name: use visible characters on one line, without space "
            "at its ends."
        )
    return text


def _read_projects(named: list[str]) -> tuple[Project, ...]:
    projects = [_read_project(each) for each in named]
    names = [each.name for each in projects]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"Two projects are called {name!r}. Add a token for each.")
    return tuple(projects)


def _read_project(named: str) -> Project:
    """A folder, if there is a slash in it, else the name of a project that the server holds.

    Raises:
        InvalidRequestError: the folder does not exist, or the name is none.
    """
    if not any(sign in named for sign in ("/", "\\")) and named not in (".", "..", "~"):
        return Project(name=check_project_name(named))
    folder = Path(named).expanduser().absolute().resolve()
    if not folder.is_dir():
        raise InvalidRequestError(f"--project {named!r} is no folder. Name one that exists.")
    name = _NOT_IN_NAMES.sub("-", folder.name.lower()).strip("-_")[:63]
    return Project(name=check_project_name(name or "project"), folder=str(folder))


def parse_expiry(text: str) -> datetime:
    """A time, or how long from now: 12h, 90d, 4w.

    Raises:
        ArgumentTypeError: it is neither.
    """
    try:
        return parse_span("time", text, datetime.now(UTC), 1)
    except InvalidRequestError:
        raise ArgumentTypeError(
            f"{quote(text)} is no time; write it like 2026-12-31 or 2026-12-31T18:00+01:00; or how "
            "long it lasts, like 90d"
        ) from None


def _describe(stored: StoredToken, now: datetime) -> dict[str, Any]:
    identity = stored.identity
    state = "holds" if stored.holds(now) else "revoked" if stored.revoked_at else "expired"
    return {
        "name": stored.name,
        "tokenId": stored.id,
        "state": state,
        "user": identity.user,
        "team": identity.team,
        "projects": [each.folder or each.name for each in identity.projects],
        "may": "read figures" if identity.figures else "read" if identity.read_only else "write",
        "createdAt": format_time(stored.created_at),
        "expiresAt": format_time(identity.expires_at) if identity.expires_at else None,
    }


def _added_text(fields: Fields) -> str:
    return (
        f"{_token_text(fields)}\n\n{fields['token']}\n\n"
        "This is shown once. The client sends it as: Authorization: Bearer TOKEN"
    )


def _tokens_text(fields: Fields) -> str:
    lines = [_token_text(each) for each in fields["tokens"]]
    return "\n".join(lines) or "There is no token. `memory-mcp token add NAME` adds one."


def _token_text(fields: Fields) -> str:
    until = f" until {fields['expiresAt']}" if fields["expiresAt"] else ""
    team = f" of team {fields['team']}" if fields["team"] else ""
    several = "s" * (len(fields["projects"]) > 1)
    projects = f"project{several} {', '.join(fields['projects'])}" if fields["projects"] else ""
    return (
        f"{fields['name']} [{fields['tokenId']}] {fields['state']}{until}\n"
        f"   user {fields['user']}{team}, {projects or 'no project'}, may {fields['may']}"
    )


def _add_token_options(parser: ArgumentParser) -> None:
    action = add_actions(parser, places=())  # a token has projects of its own
    action("list", "every token, without what a client sends (the default)")
    add = action("add", "add a token, and show it once")
    add.add_argument("name", metavar="NAME", help="what the token is called in lists")
    add.add_argument("--user", metavar="NAME", help="whose memory it is (default: NAME)")
    add.add_argument("--team", metavar="NAME", help="the team whose projects these are")
    add.add_argument("--project", action="append", dest="projects", metavar="PROJECT",
                     help="a name, or a folder here; repeat it for more")  # fmt: skip
    add.add_argument("--read-only", action="store_true", help="it reads, and writes nothing")
    add.add_argument("--metrics", action="store_true", help="it reads /metrics, and nothing else")
    add.add_argument("--expires", type=parse_expiry, metavar="TIME",
                     help="ISO 8601, or how long it lasts: 12h, 90d, 4w")  # fmt: skip
    revoke = action("revoke", "let a token in no longer, at once")
    revoke.add_argument("name", metavar="NAME", help="its name or id")


COMMANDS: Final = {"token": Subcommand(token, _add_token_options)}
