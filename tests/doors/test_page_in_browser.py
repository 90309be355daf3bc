"""The page in a real Chromium: everything is decided there, and nothing that is said there runs."""

import asyncio
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from browsing import agree, browsing, needs_chromium, open_tab, opened, say, writers
from platformdirs import user_cache_path
from playwright.sync_api import Locator, Page, expect

from memory_mcp import branches, sessions
from memory_mcp.build import open_workspace
from memory_mcp.cli.main import main
from memory_mcp.config.settings import read_settings
from memory_mcp.domain.sessions import Turn

pytestmark = [needs_chromium, pytest.mark.browser]

AXE = "axe-core@4.12.1"
TABS = ("Timeline", "Memories", "Decide", "Compare", "Profile", "Sessions", "Health")
CODE = "def refresh(token):\n    return issue(token.user, minutes=15)\n"

HOSTILE = (
    "<img src=x onerror=alert(1)><script>alert(2)</script><b>bold</b>",
    "x" * 8_000,
    "\u05e9\u05dc\u05d5\u05dd: <a href=javascript:alert(3)>\u05e2\u05d5\u05dc\u05dd</a> (abc)",
    "</script></style>--><svg onload=alert(4)>{{7*7}}${7*7}",
)


def tell(project: Path, *said: str) -> None:
    assert main(["--project", str(project), *said]) == 0


@pytest.fixture
def shop(project: Path) -> Path:
    """A project with something of everything that can be decided."""
    (project / "auth.py").write_text(CODE)
    tell(project, "add", "Orders live in PostgreSQL.", "--kind", "decision")
    tell(project, "checkpoint", "Storage is chosen.", "--phase", "1")
    tell(project, "add", "Sessions are kept in Redis.", "--tag", "redis")
    tell(project, "add", "Tokens live for 60 minutes.", "--title", "Tokens")
    tell(project, "add", "Stock comes at four in the morning.")
    tell(project, "add", "The password of staging hangs in the kitchen.")
    tell(project, "add", "refresh() issues a token.", "--cite", "auth.py#refresh")
    tell(project, "add", "According to the wiki, uploads are kept for 30 days.")
    tell(project, "add", "The handbook gives 90 days as the time for which uploads are kept.")
    (project / "auth.py").write_text(CODE.replace("15", "20"))
    asyncio.run(leave_waiting(project))
    eve = {**os.environ, "MEMORY_USER": "eve"}
    _tell_as(eve, project, "The lift of hall three takes 900 kg.")
    theirs = {**eve, "MEMORY_HOME": str(project.parent / "theirs")}
    _tell_as(theirs, project, "Deploy with make ship.")
    return project


async def leave_waiting(project: Path) -> None:
    """Checkpoints of an agent whose client cannot ask, and what the user said in passing."""
    async with open_workspace(read_settings(), start=project) as built:
        for number in (2, 3):
            await branches.checkpoint(
                built.workspace, f"Step {number} is done.", number, again=False, approval="pending"
            )
        for said in ("we always deploy on Tuesdays.", "the staging key is in the blue box."):
            turn = Turn("user", f"Remember: {said}", datetime.now(UTC))
            await sessions.capture_turns(built.workspace, [turn])


def _tell_as(environment: Mapping[str, str], project: Path, said: str) -> None:
    command = [sys.executable, "-m", "memory_mcp", "--project", str(project), "add", said]
    subprocess.run(command, env=environment, check=True)


def choose_memory(page: Page, text: str) -> None:
    open_tab(page, "Memories")
    page.get_by_label("Search", exact=True).fill(text)
    row = page.locator(".memories .row").filter(has_text=text).first
    row.click()
    expect(page.locator("#memory-title")).to_contain_text(text.partition(" ")[0])


def undo(page: Page) -> None:
    page.locator("#toast").get_by_role("button", name="Undo").click()
    agree(page)


def decide(card: Locator, answer: str) -> None:
    """Give this answer to a card, take it back, and give it again."""
    for again in (True, False):
        expect(card).to_have_count(1)
        card.get_by_role("button", name=answer, exact=True).click()
        agree(card.page)
        expect(card).to_have_count(0)
        if again:
            undo(card.page)


def test_everything_is_decided_in_the_page_while_others_write(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each action asks in the words of the tools and offers the way back, whoever else writes."""
    monkeypatch.setenv("MEMORY_APPROVAL", "review")  # else nobody is asked about other members
    with browsing() as browser, writers(shop, "Ada", "Bob"), opened(browser, shop) as page:
        open_tab(page, "Memories")
        for name in ("Ada", "Bob"):  # live: nobody reloads the page
            expect(
                page.locator(".memories .row").filter(has_text=f"{name} wrote").first
            ).to_be_visible()
        _decide_moves(page)
        _decide_memories(page)
        _decide_what_waits(page)
        _decide_what_is_doubtful(page)
        _trust_and_look(page)


def _decide_moves(page: Page) -> None:
    open_tab(page, "Timeline")
    page.locator(".timeline .row").filter(has_text="Storage is chosen").click()
    details = page.locator(".timeline .details")
    expect(details).to_contain_text("Sessions are kept in Redis.")
    details.get_by_role("button", name="Go back to here").click()
    page.get_by_label("What was tried").fill("Redis: nobody runs it.")
    agree(page)
    assert "Back at phase1" in say(page)
    line = page.locator(".timeline .row").filter(has_text="left line")
    expect(line.first).to_be_visible()
    undo(page)
    page.locator(".timeline .row").filter(has_text="Storage is chosen").click()
    details.get_by_role("button", name="Go back to here").click()
    agree(page)
    left = re.search(r"line-[\w-]+", say(page))
    assert left  # what others wrote meanwhile may have left a line of its own
    page.locator(".timeline .row").filter(has_text=left[0]).first.click()
    details.get_by_role("button", name="Restore this line").click()
    agree(page)
    assert "Restored line-" in say(page)
    undo(page)
    undo(page)
    choose_memory(page, "Sessions are kept in Redis.")


def _decide_memories(page: Page) -> None:
    detail = page.locator(".memories .details")
    choose_memory(page, "Tokens live for 60 minutes.")
    detail.get_by_role("button", name="Correct").click()
    page.get_by_label("The whole new text").fill("Tokens live for 15 minutes.")
    agree(page)
    choose_memory(page, "Tokens live for 15 minutes.")
    expect(detail.locator("del")).to_have_text("60 ")
    undo(page)
    choose_memory(page, "Tokens live for 60 minutes.")
    detail.get_by_role("button", name="Pin", exact=True).click()
    agree(page)
    expect(page.locator("#toast")).to_contain_text("Pinned")
    undo(page)
    expect(page.locator("#toast")).to_contain_text("No longer pinned")
    undo(page)
    expect(page.locator("#toast")).to_contain_text("Pinned")
    choose_memory(page, "Stock comes at four")
    detail.get_by_role("button", name="Hide").click()
    agree(page)
    expect(page.locator("#toast")).to_contain_text("Hidden")
    undo(page)
    choose_memory(page, "Stock comes at four")
    choose_memory(page, "The password of staging")
    detail.get_by_role("button", name="Erase").click()
    assert agree(page) >= 2
    expect(page.locator("#toast")).to_contain_text("Erased for good.")
    expect(page.locator("#toast").get_by_role("button", name="Undo")).to_have_count(0)


def _decide_what_waits(page: Page) -> None:
    """Checkpoints are saved, skipped and edited, words of others and the user's own kept or not."""
    open_tab(page, "Decide")
    cards = page.locator(".waiting .card")
    decide(cards.filter(has_text="Step 2 is done."), "Skip")
    undo(page)
    edited = cards.filter(has_text="Step 2 is done.")
    edited.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Summary").fill("The second step stands.")
    agree(page)
    expect(edited).to_have_count(0)
    undo(page)
    expect(edited).to_have_count(1)  # and not as it was edited
    decide(cards.filter(has_text="Step 3 is done."), "Save")
    decide(cards.filter(has_text="always deploy on Tuesdays"), "Keep")
    decide(cards.filter(has_text="in the blue box"), "Drop")
    decide(cards.filter(has_text="The lift of hall three"), "Keep")
    undo(page)
    decide(cards.filter(has_text="The lift of hall three"), "Drop")


def _trust_and_look(page: Page) -> None:
    """What came with the repository counts once it is trusted, and no longer if not."""
    trust = page.get_by_role("button", name="Trust this project")
    expect(page.locator(".waiting")).to_contain_text("Deploy with make ship.")
    trust.click()
    agree(page)
    expect(trust).to_have_count(0)
    undo(page)
    expect(trust).to_have_count(1)
    trust.click()
    agree(page)
    open_tab(page, "Compare")
    first = page.get_by_label("First", exact=True)
    first.select_option("start")
    expect(page.locator(".compare")).to_contain_text("Deploy with make ship.")
    expect(page.locator(".compare")).to_contain_text("Sessions are kept in Redis.")
    for _ in range(2):  # what was chosen stays while others write
        before = page.locator(".compare").inner_text()
        page.wait_for_function(
            "(before) => document.querySelector('.compare').innerText !== before", arg=before
        )
        expect(first).to_have_value("start")
    open_tab(page, "Health")
    page.get_by_role("button", name="Check everything now").click()
    expect(page.locator(".health")).to_contain_text("Everything is as it must be.")
    page.wait_for_event("response", lambda answer: "api/figures" in answer.url)
    expect(page.locator(".health")).to_contain_text("Everything is as it must be.")


def _decide_what_is_doubtful(page: Page) -> None:
    waiting = page.locator(".waiting")
    pair = waiting.locator(".card").filter(has_text="30 days").filter(has_text="90 days")
    for _ in range(2):
        pair.get_by_role("button", name="This one is right").first.click()
        agree(page)
        expect(pair).to_have_count(0)
        undo(page)
        expect(pair).to_have_count(1)
    stale = waiting.locator(".card").filter(has_text="refresh() issues")
    expect(stale).to_contain_text("has changed")
    stale.get_by_role("button", name="Still true").click()
    agree(page)
    expect(stale).to_have_count(0)
    undo(page)
    expect(stale).to_have_count(1)


@pytest.mark.nightly
def test_the_keyboard_alone_is_enough(shop: Path) -> None:
    """Tabs, rows, time, search and a question: each is reached, and shows where one is."""
    with browsing() as browser, opened(browser, shop) as page:
        page.get_by_role("tab", name="Timeline").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Memories")).to_be_focused()
        page.keyboard.press("ArrowLeft")
        page.get_by_label("What was known then").focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#then-text")).to_contain_text("phase3")
        page.keyboard.press("Home")
        expect(page.locator("#then-text")).to_contain_text("phase1")
        expect(page.locator(".timeline .details")).to_contain_text("What was known then (1)")
        page.get_by_role("listbox", name="The timeline").focus()
        page.keyboard.press("End")
        expect(page.locator(".timeline .row[aria-selected=true]")).to_contain_text("start")
        page.keyboard.press("Home")
        page.keyboard.press("End")
        page.keyboard.press("ArrowUp")
        page.get_by_role("button", name="Go back to here").focus()
        said = ["--project", str(shop), "add", "Bread comes at five in the morning."]
        subprocess.run([sys.executable, "-m", "memory_mcp", *said], check=True)
        expect(page.locator(".timeline .details")).to_contain_text("Bread comes at five")
        expect(page.get_by_role("button", name="Go back to here")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_label("What was tried")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open]")).to_have_count(0)
        page.locator("#main").focus()
        page.keyboard.press("/")
        expect(page.get_by_label("Search", exact=True)).to_be_focused()
        page.keyboard.type("where are sessions")
        first = page.locator(".memories .row").first
        expect(first).to_contain_text("Redis")
        expect(first.locator(".score")).to_be_visible()


@pytest.fixture(scope="session")
def axe() -> str:
    """The checker's script, which npm fetches into the user's cache once."""
    folder = Path(os.environ.get("MEMORY_TEST_AXE") or user_cache_path("memory-mcp-tests") / "axe")
    script = folder / "node_modules/axe-core/axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not here")
        folder.mkdir(parents=True, exist_ok=True)
        if subprocess.run([npm, "i", "--prefix", folder, AXE], check=False).returncode:
            pytest.skip("npm cannot fetch axe-core")
    return script.read_text(encoding="utf-8")


@pytest.mark.nightly
def test_axe_finds_no_violation(shop: Path, axe: str) -> None:
    """In each view, light and dark, with a question open."""
    with browsing() as browser, opened(browser, shop) as page:
        page.evaluate(axe)
        found: list[object] = []

        def look(where: str) -> None:
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                told = page.evaluate("axe.run()")
                found.extend((where, scheme, each["id"]) for each in told["violations"])

        for tab in TABS:
            open_tab(page, tab)
            page.locator(f".panel.{tab.lower()} h2, .panel.waiting h2").first.wait_for(
                state="attached"
            )
            look(tab)
        choose_memory(page, "Tokens live for 60 minutes.")
        page.locator(".memories .details").get_by_role("button", name="Correct").click()
        look("question")
        assert found == []


@contextmanager
def foreign_page(html: str) -> Generator[str]:
    """A page of somebody else, on another port of this machine: the nearest that one can come."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


_ATTACK = """<iframe name=frame src="PAGE"></iframe>
<form method=post action="PAGE/api/act" enctype="text/plain" target=frame>
<input name='{"action":"undo","x":"' value='"}'></form>
<script>
const tries = [
  fetch("PAGE/api/head", {credentials: "include"}).then((a) => a.text()),
  fetch("PAGE/api/head", {credentials: "include", headers: {"X-Memory-Page": "1"}})
    .then((a) => a.text()),
  fetch("PAGE/api/head", {credentials: "include", mode: "no-cors"}).then((a) => a.text()),
  fetch("PAGE/api/act", {method: "POST", credentials: "include", mode: "no-cors",
    body: JSON.stringify({action: "undo"})}).then((a) => a.text()),
];
document.forms[0].submit();
window.result = Promise.allSettled(tries).then((all) => all.map((each) => each.value ?? "refused"));
</script>"""


def test_what_cannot_be_read_is_not_told_as_nothing(shop: Path) -> None:
    """Whatever else is found meanwhile; once it can be read again, it is there."""
    busy = {"message": "The database is away."}
    with browsing() as browser, opened(browser, shop) as page:
        open_tab(page, "Decide")
        panel = page.get_by_role("tabpanel", name="Decide")
        expect(panel).to_contain_text("What waits for your word")
        page.route("**/api/waiting*", lambda route: route.fulfill(status=503, json=busy))
        open_tab(page, "Profile")
        with page.expect_response("**/api/disputes*"):
            open_tab(page, "Decide")
        expect(panel).to_contain_text(busy["message"])
        page.wait_for_timeout(500)  # what compares all records draws as well
        expect(panel).to_have_text(busy["message"])
        page.unroute("**/api/waiting*")
        open_tab(page, "Profile")
        open_tab(page, "Decide")
        expect(panel).to_contain_text("What waits for your word")
        _what_cannot_be_read_at_first_is_read_later(page, busy)
        _a_stream_that_is_refused_is_not_asked_for_again(page)


def _what_cannot_be_read_at_first_is_read_later(page: Page, busy: dict[str, str]) -> None:
    page.route("**/api/head*", lambda route: route.fulfill(status=503, json=busy))
    page.reload()
    expect(page.locator("#toast")).to_contain_text(busy["message"])
    expect(page.locator("#standing")).to_be_empty()
    page.unroute("**/api/head*")
    expect(page.locator("#standing")).to_contain_text("on this line")


def _a_stream_that_is_refused_is_not_asked_for_again(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.route("**/api/events", lambda route: route.fulfill(status=401, body="Open it anew."))
    page.reload()
    expect(page.locator("#live")).to_have_text("not connected")
    page.wait_for_timeout(2500)  # what is only away is asked for again after one second
    assert len([url for url in asked if url.endswith("/api/events")]) == 1


def test_nothing_of_others_runs_or_acts_here(project: Path) -> None:
    """A memory may come from a web page that an agent read, and any page may ask this one.

    One server and one browser for both: each costs seconds.
    """
    for text in HOSTILE:
        tell(project, "add", text)
    tell(project, "checkpoint", HOSTILE[0], "--phase", "1")
    tell(project, "add", "Sessions are kept in Redis.")
    tell(project, "backtrack", "1", "--mode", "continue")
    with browsing() as browser, opened(browser, project, width=390) as page:
        _what_a_memory_says_is_text_and_fits_a_phone(page)
        _a_foreign_page_can_neither_read_act_nor_frame(page)


def _what_a_memory_says_is_text_and_fits_a_phone(page: Page) -> None:
    open_tab(page, "Memories")
    for at in range(len(HOSTILE)):
        page.locator(".memories .row").nth(at).click()
        expect(page.locator("#memory-title")).to_be_visible()
        shown = page.locator(".memories .text").inner_text()
        assert any(text.split()[0] in shown for text in HOSTILE)
    open_tab(page, "Timeline")
    page.locator(".timeline .row").filter(has_text="onerror").click()
    for tab in TABS:
        open_tab(page, tab)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, (tab, wide)
    assert page.locator("main img, main script, main a[href^=javascript]").count() == 0


def _a_foreign_page_can_neither_read_act_nor_frame(page: Page) -> None:
    """With the cookie in the browser, and from the same site: only the origin differs."""
    address = page.url.partition("#")[0].rstrip("/")
    with foreign_page(_ATTACK.replace("PAGE", address)) as other:
        evil = page.context.new_page()
        evil.goto(other)
        assert evil.evaluate("window.result") in (
            ["refused", "refused", "", ""], ["refused", "refused", "refused", "refused"]
        )  # fmt: skip
        frame = evil.frame(name="frame")
        assert frame is not None
        assert frame.locator("#project").count() == 0
        evil.close()
    open_tab(page, "Timeline")
    expect(page.locator(".timeline .row").filter(has_text="left line").first).to_be_visible()
