"""Makes the pictures of the page that docs/ shows.

    python docs/screenshots.py                  write docs/view-*.png
    python docs/screenshots.py --out FOLDER     write them there

Tells a small story of three weeks in a folder that is removed afterwards, opens the page on it, and
photographs it in Chromium (Debian's, or what CHROMIUM names): light, dark, and narrow.
"""

import argparse
import asyncio
import base64
import os
import shutil
import socket
import struct
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Page, async_playwright

from memory_mcp import branches, memories
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.config.load import load_settings
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.outcomes import CheckpointSaved, Closeout, ClosingDecision, MemoryAdded
from memory_mcp.domain.record import Approval, Draft, Kind
from memory_mcp.engine.workspace import Workspace
from memory_mcp.server.page.entry import HOST, PageAccess
from memory_mcp.server.page.run import run_page

FOLDER: Final = Path(__file__).parent
_BYTES_MAX: Final = 150_000
"""A page that is opened often must not grow heavy with its pictures."""

_READ_POINTS: Final = """
async (picture) => {
  const image = await createImageBitmap(await (await fetch(picture)).blob());
  const drawing = new OffscreenCanvas(image.width, image.height).getContext("2d");
  drawing.drawImage(image, 0, 0);
  const bytes = drawing.getImageData(0, 0, image.width, image.height).data;
  const parts = [];
  for (let i = 0; i < bytes.length; i += 8192) {
    parts.push(String.fromCharCode(...bytes.subarray(i, i + 8192)));
  }
  return [image.width, image.height, btoa(parts.join(""))];
}
"""
_COLOURS_MAX: Final = 256
_ROUND: Final = 0xF0F0F0

_CODE: Final = "def refresh(token):\n    return issue(token.user, minutes=15)\n"


class StoryClock:
    """Runs through the story, hour by hour, up to now."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC) - timedelta(days=21)

    def now(self) -> datetime:
        """The time of the story."""
        return self._now

    def wait(self, hours: float) -> None:
        """Let time pass, never beyond now."""
        self._now = min(self._now + timedelta(hours=hours), datetime.now(UTC))


class Teller:
    """Writes a story into a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.clock = StoryClock()
        self.workspace = replace(workspace, clock=self.clock)

    async def say(self, content: str, kind: Kind = "fact", **fields: Any) -> str:
        """Remember something, half a day later."""
        self.clock.wait(14)
        done = await memories.add_memory(self.workspace, Draft(content, kind, **fields))
        if not isinstance(done, MemoryAdded):
            raise SystemExit(f"The story cannot be told: {done}")
        return done.record.id

    async def seal(
        self, summary: str, phase: int, *decided: tuple[str, str], approval: Approval = "approved"
    ) -> str:
        """Seal a checkpoint with what was decided."""
        self.clock.wait(9)
        closeout = Closeout(tuple(ClosingDecision(*each) for each in decided))
        done = await branches.checkpoint(
            self.workspace, summary, phase, again=True, approval=approval, closeout=closeout
        )
        if not isinstance(done, CheckpointSaved):
            raise SystemExit(f"The story cannot be told: {done}")
        return done.checkpoint.id

    async def go_back(self, to: str, lesson: str = "") -> None:
        """Backtrack, a while later."""
        self.clock.wait(16)
        await branches.backtrack(self.workspace, to, "continue", lesson=lesson)

    async def fork(self, name: str) -> "Teller":
        """Begin a branch; who tells there has the same clock."""
        await branches.fork_branch(self.workspace, name, "")
        there = Teller(self.workspace)
        there.clock = self.clock
        there.workspace = self.workspace.at(BranchName(name))
        return there


async def tell_story(workspace: Workspace) -> None:
    """Three weeks of a shop: two phases, a road that was left, a branch, and what is beside it."""
    main = Teller(workspace)
    await main.say("The shop sells spare parts for bicycles in eleven countries.", "identity")
    await main.say("I write Python with type hints and read diffs before prose.", "preference",
                   reach="user")  # fmt: skip
    await main.say("Migrations are written by hand and reviewed by two people.", "convention")
    await main.say("Orders live in PostgreSQL: the monthly reports join them with customers.",
                   "decision", category="storage", tags=("database", "orders"))  # fmt: skip
    await main.say("The warehouse exports its stock at 04:00 as CSV over SFTP.", tags=("stock",))
    await main.seal("Storage is chosen and the schema stands.", 1,
                    ("Reports read from a replica", "they took the shop down twice"))  # fmt: skip
    token = await main.say("Access tokens live for 60 minutes and are renewed by a refresh token.",
                           category="auth", tags=("auth",))  # fmt: skip
    await main.say("Login goes through the identity provider of the group.", "decision",
                   category="auth", tags=("auth",))  # fmt: skip
    sealed = await main.seal("Sign-in works end to end.", 2,
                             ("Sessions are JWTs", "no lookup per request"))  # fmt: skip
    await main.say("Sessions are kept in Redis, one key for each browser.", "decision",
                   category="sessions", tags=("redis",))  # fmt: skip
    await main.say("Redis runs in the same cluster as the cache.", tags=("redis",))
    await main.seal("Sessions moved to Redis.", 3)
    await main.say("A session in Redis takes 2 kB on average.", tags=("redis",))
    await main.go_back(sealed, "Redis for sessions: operations will not run a second one.")
    search = await main.fork("search-by-typesense")
    await search.say("Typesense indexes the catalogue in nine seconds.", tags=("search",))
    await search.say("Facets need a reindex whenever a category is renamed.", tags=("search",))
    main.clock.wait(14)
    await memories.update_memory(
        main.workspace, token,
        "Access tokens live for 15 minutes and are renewed by a refresh token.",
        reason="the audit asked for 15 minutes",
    )  # fmt: skip
    await main.say("Tokens are renewed by refresh(), which issues one for 15 minutes.",
                   cites=("auth.py#refresh",), tags=("auth",))  # fmt: skip
    await main.say("Carts are kept in the browser until checkout.", "decision", pinned=True,
                   category="cart")  # fmt: skip
    await main.seal("Checkout takes an order without an account.", 3,
                    ("A guest orders by e-mail alone", "a third never sign up"))  # fmt: skip
    await main.say("Invoices are numbered by country and year.", category="billing")
    await main.say("According to the wiki, uploads are kept for 30 days.")
    await main.say("The handbook gives 90 days as the time for which uploads are kept.")
    await main.say("Payment by card goes through one provider, Adyen.", "decision",
                   category="billing")  # fmt: skip
    await main.seal("Billing is ready for the audit.", 4, approval="pending")


@asynccontextmanager
async def open_story(folder: Path) -> AsyncGenerator[tuple[BuiltWorkspace, PageAccess]]:
    """The page on a project with that story; ends with the block."""
    project = folder / "shop"
    project.mkdir()
    (project / "auth.py").write_text(_CODE, encoding="utf-8")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "begin"]):
        who = ["-c", "user.name=shop", "-c", "user.email=shop@example.com"]
        begun = await asyncio.create_subprocess_exec("git", *who, *command, cwd=project)
        await begun.wait()
    own = {"MEMORY_HOME": str(folder / "home"), "MEMORY_PROVIDER": "local", "MEMORY_USER": "ada"}
    settings = load_settings(overrides=own, project=project).settings
    listening = socket.create_server((HOST, 0))
    async with open_workspace(settings) as built:
        await tell_story(built.workspace)
        entry = PageAccess(listening.getsockname()[1])
        serving = asyncio.create_task(run_page(built, entry, listening))
        try:
            yield built, entry
        finally:
            serving.cancel()
            await asyncio.wait([serving])


async def photograph(page: Page, name: str, out: Path) -> None:
    """Write one picture, and refuse one that is too heavy."""
    target = out / f"view-{name}.png"
    taken = base64.b64encode(await page.screenshot()).decode()
    blank = await page.context.new_page()
    width, height, points = await blank.evaluate(_READ_POINTS, f"data:image/png;base64,{taken}")
    await blank.close()
    target.write_bytes(make_png(width, height, base64.b64decode(points)))
    size = target.stat().st_size
    sys.stdout.write(f"{target} {size:,} bytes\n")
    if size > _BYTES_MAX:
        raise SystemExit(f"{target} has {size:,} bytes: {_BYTES_MAX:,} are the most.")


def make_png(width: int, height: int, points: bytes) -> bytes:
    """A picture of 256 colours: a third of the bytes, and nobody sees a difference."""
    pixels = memoryview(points).cast("I")
    counted = Counter(pixels)
    palette: list[int] = []
    places: dict[int, int] = {}
    for colour, _ in counted.most_common():  # rounded: else greys would leave no room for a red
        if colour & _ROUND not in places and len(palette) < _COLOURS_MAX:
            places[colour & _ROUND] = len(palette)
            palette.append(colour)

    def split(colour: int) -> tuple[int, int, int]:
        return colour & 255, colour >> 8 & 255, colour >> 16 & 255

    def find(colour: int) -> int:
        if (known := places.get(colour & _ROUND)) is not None:
            return known
        mine = split(colour)
        far = [sum((a - b) ** 2 for a, b in zip(mine, split(c), strict=True)) for c in palette]
        return far.index(min(far))

    nearest = {colour: find(colour) for colour in counted}
    indexes = bytes(map(nearest.__getitem__, pixels))
    rows = b"".join(b"\0" + indexes[at : at + width] for at in range(0, len(indexes), width))
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),
        b"PLTE": b"".join(bytes(split(colour)) for colour in palette),
        b"IDAT": zlib.compress(rows, 9),
        b"IEND": b"",
    }
    parts = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


async def make_pictures(out: Path) -> None:
    """All pictures of the page."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        raise SystemExit("Chromium is not here: install Debian's, or name one with CHROMIUM.")
    with tempfile.TemporaryDirectory() as folder:
        async with open_story(Path(folder)) as (_, entry), async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium)
            context = await browser.new_context(viewport={"width": 1180, "height": 860})
            page = await context.new_page()
            await page.goto(entry.address)
            await page.wait_for_selector("html[data-ready]")
            await page.locator(".timeline .row", has_text="Sign-in works").click()
            await page.locator(".details .said").wait_for()
            await page.mouse.move(0, 0)
            await photograph(page, "light", out)
            await page.emulate_media(color_scheme="dark")
            await photograph(page, "dark", out)
            await page.emulate_media(color_scheme="light")
            await page.get_by_role("tab", name="Memories").click()
            await page.get_by_label("Search", exact=True).fill("how long does a token live")
            await page.locator(".memories .row .score").first.wait_for()
            await page.locator(".memories .row", has_text="15 minutes and").first.click()
            await page.locator(".memories .diff").wait_for()
            await page.mouse.move(0, 0)
            await photograph(page, "memories", out)
            await page.get_by_role("tab", name="Timeline").click()
            await page.set_viewport_size({"width": 390, "height": 800})
            await photograph(page, "narrow", out)
            await browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER")
    asyncio.run(make_pictures(parser.parse_args().out))
