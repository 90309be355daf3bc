"""A real Chromium on the page of the real command, with other processes at work beside it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from viewing import showing

CHROMIUM = shutil.which("chromium") or ""
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="Debian's chromium is not here")

_WRITER = """
import asyncio, os, sys
from mcp import Client, StdioServerParameters
async def write(project, name):
    ours = {**os.environ, "MEMORY_APPROVAL": "auto", "CLAUDE_PROJECT_DIR": project}
    server = StdioServerParameters(command=sys.executable, args=["-m", "memory_mcp"], env=ours)
    async with Client(server) as client:
        for number in range(1000):
            said = f"{name} wrote down number {number} of its own list."
            await client.call_tool("add_memory", {"content": said})
            await asyncio.sleep(4)
asyncio.run(write(*sys.argv[1:]))
"""


@contextmanager
def browsing() -> Generator[Browser]:
    """Debian's Chromium; Playwright fetches none of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, project: Path, width: int = 1200) -> Generator[Page]:
    """The page of that project, ready; what its scripts throw fails the test."""
    with showing(project, os.environ) as address:
        context = browser.new_context(viewport={"width": width, "height": 800})
        page = context.new_page()
        page.set_default_timeout(15_000)
        expect.set_options(timeout=15_000)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        yield page
        assert faults == []
        context.close()


@contextmanager
def writers(project: Path, *names: str) -> Generator[None]:
    """Clients with a real server each, which go on writing into the project."""
    running = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(project), name]) for name in names
    ]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def agree(page: Page) -> int:
    """Say yes to every question of the dialog; how many there were.

    What others write meanwhile makes a question anew: it is answered as well.
    """
    dialog, asked = page.locator("dialog"), 0
    expect(dialog).to_be_visible()
    while dialog.is_visible():
        # a question that is asked anew may say the same: it is another one for having no mark
        dialog.evaluate("(dialog) => { dialog.querySelector('h2').dataset.answered = 'yes'; }")
        dialog.get_by_role("button").last.click()
        asked += 1
        page.wait_for_function(
            "() => { const dialog = document.querySelector('dialog');"
            " return dialog.open ? !dialog.querySelector('[data-answered]')"
            " : document.querySelector('#toast').innerText !== ''; }"
        )
    return asked


def say(page: Page) -> str:
    """What the page said last."""
    return page.locator("#toast").inner_text()
