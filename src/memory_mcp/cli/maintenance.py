"""`memory-mcp reindex`, `doctor` and `trust`: rebuild, check, and trust what came along."""

import argparse

from memory_mcp import engine, maintenance, sessions
from memory_mcp.cli import show
from memory_mcp.config.settings import Settings, find_home_folder
from memory_mcp.disk import Disk
from memory_mcp.domain.outcomes import TrustReport
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.render.outcomes import render_trust_report
from memory_mcp.storage.files.trust import TrustedProjects, list_trusted_clouds
from memory_mcp.trust import report_trust, revoke_trust, trust_project


async def reindex(workspace: Workspace, given: argparse.Namespace) -> show.Output:
    """Make the index anew from the records, with its vectors."""
    del given
    if skipped := engine.refuse_reads(workspace):
        return show.Output({"success": False, "message": skipped.reason})
    with show.progress("Indexing") as advance:
        done = await sessions.reindex(workspace, advance)
    said = [f"{done.adopted} records indexed, {done.erased} late forgets completed."]
    encoded = 0
    try:
        with show.progress("Encoding") as advance:
            encoded = await maintenance.encode_all(workspace, advance)
    except ModelUnavailableError as error:
        said.append(f"Not encoded: {error}")
    if encoded:
        said.append(f"{encoded} records encoded.")
    return show.Output(
        {
            "success": True,
            "indexed": done.adopted,
            "erased": done.erased,
            "encoded": encoded,
            "message": " ".join(said),
        }
    )


async def doctor(workspace: Workspace, given: argparse.Namespace) -> show.Output:
    """Check every invariant, and prove how memories are found."""
    if skipped := engine.refuse_reads(workspace):
        return show.Output({"success": False, "message": skipped.reason})
    found = await maintenance.run_doctor(workspace, repair=given.repair)
    probed = await maintenance.probe_recall(workspace)
    found += probed.findings
    left = [finding for finding in found if not finding.repaired]
    fields = {
        "success": not any(finding.severity == "must" for finding in left),
        "findings": [vars(finding) for finding in found],
        "search": probed.mode,
        "proof": probed.proof,
        "message": show.summarise_findings(len(found), len(found) - len(left)),
    }
    return show.Output(fields, show.findings)


_ANSWERS = ("yes", "no")


def trusted_list(settings: Settings) -> show.Output:
    """The projects and clouds that the user trusts."""
    every = TrustedProjects(find_home_folder(settings), Disk()).every()
    clouds = list_trusted_clouds(find_home_folder(settings))
    lines = [f"{folder}{f' ({name})' if name else ''}" for folder, name in every.items()]
    lines += [f"the cloud at {address}" for address in clouds]
    projects = [{"records": folder, "name": name} for folder, name in every.items()]
    fields = {"success": True, "projects": projects, "clouds": clouds,
              "message": "No project is trusted."}  # fmt: skip
    return show.Output(fields, lambda fields: "\n".join(lines) or str(fields["message"]))


async def trust(workspace: Workspace, given: argparse.Namespace) -> show.Output:
    """Show what waits for the user's trust, ask for it, and write the answer down."""
    if given.revoke:
        revoked = await revoke_trust(workspace)
        said = (
            "This project is trusted no longer: of it only what this machine wrote counts, and "
            "nothing more comes in from a cloud, here or elsewhere. What came into your user scope "
            "from there stays: look at it (`memory-mcp export --scope user`) and forget it."
        )
        said = said if revoked else "This project was not trusted."
        return show.Output({"success": True, "trusted": False, "message": said})
    report = await report_trust(workspace)
    if report.trusted and not report.waiting and not report.cloud:
        return _trust_output(report, "This project is trusted already.")
    if not given.yes:
        if getattr(given, "json", False) or not show.can_ask():
            said = (
                f"{render_trust_report(report)} Nothing was changed: to say yes, repeat with --yes."
            )
            return _trust_output(report, said, success=False)
        if show.ask(render_trust_report(report), _ANSWERS) == "no":
            return _trust_output(report, "Nothing was changed.", success=False)
    granted = await trust_project(workspace)
    taken = f" {report.waiting} record(s) of others count now." if report.waiting else ""
    return _trust_output(
        granted, f"This project is trusted.{taken} `memory-mcp trust --revoke` ends it."
    )


def _trust_output(report: TrustReport, said: str, *, success: bool = True) -> show.Output:
    fields = {"success": success, "trusted": report.trusted, "name": report.remote or None,
              "waiting": report.waiting, "first": list(report.titles),
              "wouldErase": list(report.erases), "cloud": report.cloud or None,
              "message": said}  # fmt: skip
    return show.Output(fields)
