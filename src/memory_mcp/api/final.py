"""Writes what a node knows at the end of a run as two files, for the API and the command line."""

import json
import os
from pathlib import Path
from typing import Final

from memory_mcp import layers
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.render.final import FINAL_HEADING, make_final_fields, render_final
from memory_mcp.storage.files.reports import write_report

FINAL_MARKDOWN: Final = "final_memory_for_paper.md"
FINAL_JSON: Final = "final_memory_for_paper.json"


async def export_final_memory(
    workspace: Workspace,
    folder: str | os.PathLike[str],
    project: str = "",
    markdown_name: str = FINAL_MARKDOWN,
    json_name: str = FINAL_JSON,
) -> tuple[Path, Path]:
    """Write the report of the caller's node; the paths of the Markdown and of the JSON file.

    Raises:
        InvalidRequestError: the files cannot have these names, a link or another file stands in
            the way, or memory is off.
        UnknownTargetError: no such node.
    """
    if markdown_name.casefold() == json_name.casefold():  # one file where case does not count
        raise InvalidRequestError(f"Both files are called {json_name!r}. Give them two names.")
    final = await layers.collect_final_memory(workspace)
    if isinstance(final, Skipped):
        raise InvalidRequestError(final.reason)
    data = json.dumps(make_final_fields(final), ensure_ascii=False, indent=2)
    texts = {markdown_name: render_final(final), json_name: f"{data}\n"}
    begins = {markdown_name: FINAL_HEADING, json_name: '{\n  "node": '}
    markdown_path, json_path = await write_report(os.fspath(folder), texts, begins, project)
    return markdown_path, json_path
