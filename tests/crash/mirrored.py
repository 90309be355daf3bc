"""A session on a project behind which there is a cloud, in this process or in another."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from project import settings_in

from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk
from memory_mcp.domain.secret import Secret
from memory_mcp.storage.files.trust import TrustedCloud, TrustedProjects

__all__ = ["mirrored", "mirrored_settings"]


def mirrored_settings(root: Path, url: str, *, extraction: bool = False) -> Settings:
    """The settings of a session on the project that `make_project` made, which is trusted."""
    records = str((root / "shop" / ".claude" / "memory").resolve())
    name = "git.example/acme/shop"
    trusted = TrustedProjects(root / "home", Disk())
    if records not in trusted.every():
        trusted.trust(records, name)
    cloud = TrustedCloud(root / "home", url, Disk())
    if not cloud.trusted():
        cloud.grant()
    return replace(
        settings_in(root),
        user="ada",
        approval="auto",
        api_key=Secret("sm_test"),
        base_url=url,
        remote_timeout=1.0,
        extraction=extraction,
    )


@asynccontextmanager
async def mirrored(
    root: Path, url: str, disk: Disk | None = None, *, extraction: bool = False
) -> AsyncGenerator[BuiltWorkspace]:
    """A fresh session: nothing in memory of those before it, and nothing delivered beside it."""
    async with open_workspace(
        mirrored_settings(root, url, extraction=extraction), disk=disk
    ) as built:
        yield built
