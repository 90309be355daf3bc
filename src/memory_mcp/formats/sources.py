"""The one table of importers. Imports the standard library alone: `--help` lists its names.

A new importer is a module beside this one and a line here. The module has two functions:
`matches(material)` says whether a file or folder looks like its own, `read(material)` parses it
(`importers.Importer`). Our own export is tried first, then this table in its order; the first that
matches reads a file, and a folder must match one only.
"""

from typing import Final, NamedTuple

OWN_EXPORT: Final = "memory-mcp"


class Source(NamedTuple):
    """What an importer reads, in words, and the module that does it."""

    title: str
    module: str


SOURCES: Final[dict[str, Source]] = {
    "memory-server": Source("memory.jsonl of the reference memory server", "memory_server"),
    "claude-code": Source(
        "a folder of Claude Code's auto memory (MEMORY.md and other notes)", "claude_code"
    ),
    "claude-md": Source("a CLAUDE.md file", "claude_md"),
    "basic-memory": Source("a folder of basic-memory notes, or one note", "basic_memory"),
    "mem0": Source("memories of mem0 as JSON", "mem0"),
    "claude-mem": Source("an export of claude-mem", "claude_mem"),
    OWN_EXPORT: Source("an export of this program, JSON or Markdown", "own"),
}
