"""`memory-mcp doctor` and `trust`: check and rebuild, and trust what came along."""

from argparse import ArgumentParser, Namespace
from typing import Any, Final

from memory_mcp import engine, maintenance, sessions
from memory_mcp.cli import output
from memory_mcp.cli.commands import Subcommand, in_workspace
from memory_mcp.cli.output import Fields, Output, ask_choice, show_progress
from memory_mcp.config.load import LoadedSettings
from memory_mcp.config.settings import Settings, find_home_folder
from memory_mcp.disk import Disk
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import Skipped, TrustReport
from memory_mcp.engine.workspace import Workspace, make_off
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.render.outcomes import render_trust_report
from memory_mcp.storage.files.trust import TrustedProjects, list_trusted_clouds
from memory_mcp.trust import report_trust, revoke_trust, trust_project

_REVOKED: Final = (
    "This project is trusted no longer: of it only what this machine wrote counts, and nothing "
    "more comes in from a cloud, here or elsewhere. What came into your user scope from there "
    "stays: look at it (`memory-mcp export --scope user`) and forget it."
)

_NOTHING_WAITS: Final = "Nothing waits. To trust what comes later, repeat with --yes."


async def _reindex(workspace: Workspace) -> Output:
    """Rebuild the index from the records, with its vectors."""
    with show_progress("Indexing") as advance:
        done = await sessions.reindex(workspace, advance)
    indexed = pluralise(done.adopted, "record", "records")
    late = pluralise(done.erased, "late forget", "late forgets")
    messages = [f"{indexed} indexed, {late} completed."]
    encoded = 0
    try:
        with show_progress("Encoding") as advance:
            encoded = await maintenance.encode_all(workspace, advance)
    except ModelUnavailableError as error:
        messages.append(f"Not encoded: {error}")
    if encoded:
        messages.append(f"{pluralise(encoded, 'record', 'records')} encoded.")
    return Output({"success": True, "indexed": done.adopted, "erased": done.erased,
                   "encoded": encoded, "message": " ".join(messages)})  # fmt: skip


async def doctor(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Check every invariant, and prove how memories are found; or rebuild the index."""
    if skipped := engine.refuse_reads(workspace):
        return skipped
    if args.reindex:
        return await _reindex(workspace)
    findings = await maintenance.run_doctor(workspace, repair=args.repair)
    probe = await maintenance.probe_recall(workspace, findings)
    findings += probe.findings
    open_findings = [finding for finding in findings if not finding.repaired]
    mended = len(findings) - len(open_findings)
    fields = {
        "success": not any(finding.severity == "must" for finding in open_findings),
        "findings": [vars(finding) for finding in findings],
        "search": probe.mode,
        "proof": probe.proof,
        "message": (
            f"{pluralise(len(findings), 'finding', 'findings')}, {mended} mended."
            if findings
            else "Everything is as it must be."
        ),
        "meta": workspace.policy.meta,
    }
    return Output(fields, _findings_text, report=True)


def _findings_text(fields: Fields) -> str:
    lines = [_finding_text(finding) for finding in fields["findings"]]
    proof = f"Search: {fields['search']}. {fields['proof']}".strip()
    meta = ["This is a meta session: nothing is written."] if fields["meta"] else []
    return "\n".join([*lines, proof, *meta, str(fields["message"])])


def _finding_text(finding: Fields) -> str:
    if finding["repaired"]:
        return f"mended: {finding['what']}"
    return f"{finding['severity']}: {finding['what']} {finding['remedy']}".rstrip()


def _add_doctor_options(parser: ArgumentParser) -> None:
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--repair", action="store_true", help="mend what can be mended")
    only.add_argument(
        "--reindex",
        action="store_true",
        help="make the index anew with its vectors, and take in records of another clone",
    )


def trust(loaded: LoadedSettings, args: Namespace) -> Output | Skipped:
    """Show, ask for, revoke or list the user's trust."""
    if args.list:
        return _list_trusted(loaded.settings)
    if not loaded.settings.enabled:
        return make_off(loaded.settings.off)
    return in_workspace(_revoke_trust if args.revoke else _trust_project)(loaded, args)


def _list_trusted(settings: Settings) -> Output:
    """The projects and clouds that the user trusts."""
    projects = TrustedProjects(find_home_folder(settings), Disk()).every()
    clouds = list_trusted_clouds(find_home_folder(settings))
    lines = [f"{folder}{f' ({it.name})' if it.name else ''}" for folder, it in projects.items()]
    lines += [f"the cloud at {address}" for address in clouds]
    fields = {
        "success": True,
        "projects": [
            {"records": folder, "name": it.name or None} for folder, it in projects.items()
        ],
        "clouds": clouds,
        "message": "\n".join(lines) or "No project is trusted.",
    }
    return Output(fields)


async def _revoke_trust(workspace: Workspace, _args: Namespace) -> Output:
    revoked = await revoke_trust(workspace)
    message = _REVOKED if revoked else "This project was not trusted."
    return Output({"success": True, "trusted": False, "message": message})


async def _trust_project(workspace: Workspace, args: Namespace) -> Output:
    """Show what waits for the user's trust, ask for it unless told, and write the answer down."""
    report = await report_trust(workspace)
    if report.trusted and not (report.waiting or report.cloud or report.settings):
        return Output(_trust_fields(report, "This project is trusted already."))
    if not args.yes:
        if not (report.waiting or report.cloud or report.settings or report.before is not None):
            return Output(_trust_fields(report, _NOTHING_WAITS))
        if args.json or not output.can_ask():
            message = (
                f"{render_trust_report(report)} Nothing was changed: to say yes, repeat with --yes."
            )
            return Output(_trust_fields(report, message, success=False))
        if ask_choice(render_trust_report(report), ("yes", "no")) == "no":
            return Output(_trust_fields(report, "Nothing was changed.", success=False))
    granted = await trust_project(workspace)
    records = pluralise(report.waiting, "record of others counts", "records of others count")
    counted = f" {records} now." if report.waiting else ""
    return Output(
        _trust_fields(
            granted, f"This project is trusted.{counted} `memory-mcp trust --revoke` ends it."
        )
    )


def _trust_fields(report: TrustReport, message: str, *, success: bool = True) -> dict[str, Any]:
    return {"success": success, "trusted": report.trusted, "name": report.remote or None,
            "waiting": report.waiting, "first": list(report.titles),
            "wouldErase": list(report.erases), "cloud": report.cloud or None,
            "message": message}  # fmt: skip


def _add_trust_options(parser: ArgumentParser) -> None:
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--yes", action="store_true", help="trust it without being asked")
    only.add_argument("--list", action="store_true", help="the projects that are trusted")
    only.add_argument("--revoke", action="store_true", help="trust this project no longer")


COMMANDS: Final = {
    "doctor": Subcommand(in_workspace(doctor), _add_doctor_options),
    "trust": Subcommand(trust, _add_trust_options),
}
