"""The page of a project of years: 10,000 memories and 500 checkpoints, in a real Chromium."""

import asyncio
from pathlib import Path

import pytest
from browsing import browsing, needs_chromium, open_tab, opened
from house import filled
from playwright.sync_api import Page, expect

pytestmark = [needs_chromium, pytest.mark.browser, pytest.mark.nightly]

MEMORIES = 10_000
CHECKPOINTS = 500
ROWS_MAX = 100
"""Rows that a view draws at once, which is what fits its window and a little more."""


async def fill(folder: Path) -> None:
    async with filled(folder, MEMORIES, chain=CHECKPOINTS):
        pass


def test_a_project_of_years_is_looked_at_as_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each view answers within what a test waits for, and no view draws what nobody can look at."""
    asyncio.run(fill(tmp_path))
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMORY_USER", "bench")
    with browsing() as browser, opened(browser, tmp_path / "project") as page:
        rows = page.locator(".timeline .row")
        expect(rows.first).to_be_visible()
        _go_down_to_the_start(page)
        assert 0 < rows.count() <= ROWS_MAX
        _walk_through_time(page)
        _search(page)
        for tab in ("Decide", "Compare", "Profile", "Sessions", "Health"):
            open_tab(page, tab)
            expect(page.get_by_role("tabpanel").locator("h2").first).to_be_visible()


def _go_down_to_the_start(page: Page) -> None:
    """The newest 200 are shown at first; the row below them asks for all."""
    rows = page.locator(".timeline .row")
    page.get_by_role("listbox", name="The timeline").focus()
    page.keyboard.press("End")
    page.wait_for_function(
        "(least) => document.querySelector('.timeline .row').ariaSetSize >= least", arg=CHECKPOINTS
    )
    page.keyboard.press("End")
    expect(rows.filter(has_text="start").last).to_have_attribute("aria-selected", "true")


def _walk_through_time(page: Page) -> None:
    """Thirty keys one after the other: the page shows the last, not one after the other."""
    page.get_by_label("What was known then").focus()
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    expect(page.locator(".timeline .details")).to_contain_text("What was known then")


def _search(page: Page) -> None:
    open_tab(page, "Memories")
    rows = page.locator(".memories .row")
    expect(rows.first).to_be_visible()
    assert 0 < rows.count() <= ROWS_MAX
    page.get_by_label("Search", exact=True).press_sequentially("database of orders", delay=30)
    expect(rows.first.locator(".score")).to_be_visible()
    rows.first.click()
    expect(page.locator("#memory-title")).to_be_visible()
