"""The page inside a client that shows MCP Apps, and nothing of it in a client that does not.

A real host, the bridge of the ext-apps package, drives it in Chromium; npm fetches that once:
`pytest -rs -m referees tests/doors/test_page_in_client.py -n 0`.
"""

import json
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import CHROMIUM, needs_chromium
from doors import Era, add, agent, call, seal, text_of
from mcp import Client
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp_types import TextResourceContents
from platformdirs import user_cache_path
from playwright.async_api import async_playwright, expect

from memory_mcp.config.settings import Settings
from memory_mcp.server.main import make_server

pytestmark = pytest.mark.anyio

URI = "ui://memory/timeline"
PACKAGES = ("@modelcontextprotocol/ext-apps@2.0.4", "esbuild@0.25.12")
ENTRY = 'export * from "@modelcontextprotocol/ext-apps/app-bridge";'

HOST = """<!doctype html><title>host</title>
<iframe id=app sandbox="allow-scripts" width=900 height=700></iframe>"""
BEGIN = """async (html) => {
  const frame = document.getElementById("app");
  const bridge = new Bridge.AppBridge(null, { name: "host", version: "1" },
    { serverTools: {}, serverResources: {} }, { hostContext: { theme: "dark" } });
  bridge.oncalltool = (params) => window.callTool(params);
  bridge.onreadresource = (params) => window.readResource(params);
  const ready = new Promise((resolve) => { bridge.oninitialized = resolve; });
  await bridge.connect(new Bridge.PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await ready;
  window.bridge = bridge;
}"""


@asynccontextmanager
async def showing_apps(settings: Settings, era: Era) -> AsyncGenerator[Client]:
    """A client that says it shows apps."""
    shows = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
    async with Client(make_server(settings), mode=era, extensions=[shows]) as client:
        yield client


async def read(client: Client, uri: str) -> TextResourceContents:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content


@pytest.mark.protocol
async def test_who_shows_apps_finds_the_page_and_others_see_nothing_new(
    settings: Settings, era: Era
) -> None:
    """The page is an addition: the text is beside it, and no list grows for others."""
    async with showing_apps(settings, era) as client:
        first = await seal(client, "Storage chosen", phase=1)
        linked = {tool.name: tool.meta for tool in (await client.list_tools()).tools if tool.meta}
        link = {"ui": {"resourceUri": URI}}
        assert linked == {"memory_head": link, "backtrack": link}
        page = await read(client, URI)
        assert page.mime_type == APP_MIME_TYPE
        assert "<script src" not in page.text
        head = await read(client, "memory://page/head")
        assert json.loads(head.text)["checkpoints"][0]["id"] == first
        asked = await read(client, f"memory://page/point?point={first}")
        assert json.loads(asked.text)["summary"] == "Storage chosen"
        assert first in text_of(await client.call_tool("memory_head", {}))
        listed = [each.uri for each in (await client.list_resources()).resources]
        assert not [uri for uri in listed if "page" in uri or uri.startswith("ui:")]
    async with agent(settings, era) as client:
        assert not [tool.name for tool in (await client.list_tools()).tools if tool.meta]


@pytest.fixture(scope="session")
def bridge() -> str:
    """The bridge of the ext-apps package as one script."""
    given = os.environ.get("MEMORY_TEST_EXT_APPS")
    folder = Path(given or user_cache_path("memory-mcp-tests") / "ext-apps")
    script = folder / "bridge.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not here")
        folder.mkdir(parents=True, exist_ok=True)
        if subprocess.run([npm, "i", "--prefix", folder, *PACKAGES], check=False).returncode:
            pytest.skip("npm cannot fetch the host")
        (folder / "entry.js").write_text(ENTRY)
        bundle = [folder / "node_modules/.bin/esbuild", "entry.js", "--bundle", "--format=iife"]
        subprocess.run(
            [*bundle, "--global-name=Bridge", "--outfile=bridge.js"], cwd=folder, check=True
        )
    return script.read_text(encoding="utf-8")


@needs_chromium
@pytest.mark.referees
async def test_a_host_shows_the_page_and_a_backtrack_is_decided_in_it(
    settings: Settings, bridge: str
) -> None:
    """Reads and actions go through the host, which knows nothing of this page."""
    async with agent(settings, "auto") as client:
        await seal(client, "Storage chosen", phase=1)
    asking = replace(settings, approval="ask")
    async with showing_apps(asking, "auto") as client, async_playwright() as playwright:
        await add(client, "Sessions live in Redis.")
        document = await read(client, URI)

        async def call_tool(params: dict[str, Any]) -> dict[str, Any]:
            done = await client.call_tool(params["name"], params.get("arguments") or {})
            return done.model_dump(mode="json", by_alias=True, exclude_none=True)

        async def read_resource(params: dict[str, Any]) -> dict[str, Any]:
            found = await client.read_resource(params["uri"])
            return found.model_dump(mode="json", by_alias=True)

        browser = await playwright.chromium.launch(executable_path=CHROMIUM)
        page = await browser.new_page()
        for name, function in (("callTool", call_tool), ("readResource", read_resource)):
            await page.expose_function(name, function)  # pyright: ignore[reportUnknownMemberType]
        await page.set_content(HOST)
        await page.add_script_tag(content=bridge)
        await page.evaluate(BEGIN, document.text)
        frame = page.frame_locator("#app")
        await frame.locator(".timeline .row", has_text="Storage chosen").click()
        details = frame.locator(".timeline .details")
        await expect(details).to_contain_text("Sessions live in Redis.")
        await details.get_by_role("button", name="Go back to here").click()
        dialog = frame.locator("dialog")
        await dialog.get_by_role("button").last.click()
        await expect(dialog).to_contain_text("[continue] hides them")
        await dialog.get_by_role("button").last.click()
        await expect(frame.locator("#toast")).to_contain_text("1 memory hidden")
        left = await call(client, "search_memories", query="where do sessions live")
        assert left["results"] == []
        await expect(frame.locator(".timeline .row", has_text="left line")).to_be_visible()
        async with agent(settings, "auto") as other:  # live: nobody reloads the page
            await seal(other, "Another session was here", phase=2)
        row = frame.locator(".timeline .row", has_text="Another session was here")
        await expect(row).to_be_visible()
        await page.evaluate("window.bridge.sendToolResult({ content: [] })")
        assert await frame.locator("html").get_attribute("data-theme") == "dark"
        await browser.close()
