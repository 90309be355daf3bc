"""Sessions whose memories are mirrored to a cloud, on one machine or several."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cloud import Cloud, Document
from doors import trust, trust_cloud

from memory_mcp import sync
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.limits import REMOTE_SEARCH_SECONDS_MAX
from memory_mcp.domain.secret import Secret

KEY = "sm_test"
PATIENCE_SECONDS = 60
"""How long a test waits for what happens beside the calls: no measure of speed."""


def mirrored(settings: Settings, cloud: Cloud, **changes: Any) -> Settings:
    """The same session with a key for the cloud, whose user trusts it and the project."""
    if settings.home and settings.project_dir:
        trust(settings.project_dir, settings.home)
        trust_cloud(cloud.url, settings.home)
    changes = {"remote_timeout": REMOTE_SEARCH_SECONDS_MAX, **changes}  # not what a user waits
    return replace(settings, api_key=Secret(KEY), base_url=cloud.url, **changes)


def machine(folder: Path, cloud: Cloud, **changes: Any) -> Settings:
    """A machine of its own with a trusted clone of the one project that all of them work on."""
    project = folder / "shop"
    (project / ".git").mkdir(parents=True)
    remote = '[remote "origin"]\n\turl = https://git.example.org/ada/shop.git\n'
    (project / ".git" / "config").write_text(remote, "utf-8")
    own = Settings(project_dir=project, home=folder / "home", user="ada", approval="auto")
    return mirrored(own, cloud, **changes)


async def synced(settings: Settings, **how: bool) -> sync.SyncReport:
    """Everything delivered that can be, as `memory-mcp cloud sync` does it.

    What the server under test holds just then is its own to deliver: it is waited for.
    """
    async with open_workspace(settings) as built, asyncio.timeout(PATIENCE_SECONDS):
        done = await sync.sync(built.workspace, _unseen, **how)
        while "another session" in done.stopped:
            await asyncio.sleep(0.02)
            done = await sync.sync(built.workspace, _unseen, **how)
    return done


def _unseen(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


async def pending(settings: Settings) -> int:
    """What the outboxes still hold."""
    async with open_workspace(settings) as built:
        return (await sync.report_sync(built.workspace)).counts.pending


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait for what happens beside the calls."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110  # what happens elsewhere sets no event here
            await asyncio.sleep(0.02)


def kept(cloud: Cloud) -> dict[str, Document]:
    """Every document of every namespace, by our ids."""
    return {
        id_: document
        for namespace in cloud.namespaces()
        for id_, document in cloud.documents(namespace).items()
    }


def texts(cloud: Cloud) -> list[str]:
    """What every document says."""
    return sorted(document.content for document in kept(cloud).values())
