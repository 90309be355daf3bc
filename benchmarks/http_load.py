"""A server over HTTP under load: is an acknowledged memory ever lost, how long do calls take?

    python benchmarks/http_load.py                               # 64 clients, five minutes
    python benchmarks/http_load.py --seconds 60 --kill-every 10  # the server is killed meanwhile
    python benchmarks/http_load.py --postgres --kill-every 20    # on a PostgreSQL, killed with it

Nine of ten calls read (search, context, head), one writes. The clients are four to a user, and the
users are eight to a team, whose project they share. With `--kill-every` the server gets SIGKILL
every so many seconds and is started again; calls that fail then are counted, and made again. With
`--postgres` the memories are in a PostgreSQL server of its own, all of whose processes get SIGKILL
as well, half a period later; memories wait for it on disk. At the end each memory that was
acknowledged must have its file or row. Exit status 1: one is missing, or a call failed while
nothing was killed.
"""

import argparse
import asyncio
import os
import random
import re
import resource
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx2
from corpus import Corpus
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memory_mcp.disk import Disk
from memory_mcp.server.tokens import Identity, Project, TokenFile

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
from postgres import PrivateServer, execute, private_server

CLIENTS_OF_A_USER, USERS_OF_A_TEAM = 4, 8
WRITES = 0.1
PAUSE_SECONDS = 0.05
"""After a call that failed: the server may be starting."""


@dataclass
class Tally:
    """What the clients did."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    acknowledged: dict[str, str] = field(default_factory=dict[str, str])
    waited: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])
    resident: list[int] = field(default_factory=list[int])
    kills: int = 0

    def fail(self, why: str) -> None:
        self.failures[why] += 1

    @property
    def failed(self) -> int:
        return self.failures.total()


class Server:
    """The real server in a process of its own, on one port for all of its lives."""

    def __init__(self, home: Path, settings: dict[str, str]) -> None:
        self._home = home
        self._settings = settings
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "memory_mcp", "serve", "--transport", "streamable-http"]
        ours = {"MEMORY_HOME": str(self._home), "MEMORY_APPROVAL": "auto"}
        return subprocess.Popen(
            [*command, "--port", str(self.port)],
            env={**os.environ, **ours, **self._settings, "MEMORY_HTTP_RATE": "1000000"},
            cwd=self._home,
            stderr=subprocess.DEVNULL,
        )

    async def wait_until_ready(self) -> None:
        """Wait until it takes requests."""
        async with httpx2.AsyncClient() as web:
            while True:
                with suppress(httpx2.HTTPError):
                    if (await web.get(f"http://127.0.0.1:{self.port}/readyz")).is_success:
                        return
                await asyncio.sleep(PAUSE_SECONDS)

    async def kill_and_start(self) -> None:
        """End it as a power cut would, and start it again."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = self._start()
        await self.wait_until_ready()

    def resident(self) -> int:
        """Its resident memory in MB, where the system tells."""
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{self.process.pid}/status").read_text("utf-8").splitlines()
            line = next(each for each in lines if each.startswith("VmRSS"))
            return int(line.split()[1]) // 1024
        return 0

    def end(self) -> int:
        """Ask it to end; its status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


async def work(server: Server, token: str, texts: Corpus, until: float, tally: Tally) -> None:
    """One client: a call after the other."""
    chance = random.Random(token)
    headers = {"authorization": f"Bearer {token}"}
    url = f"http://127.0.0.1:{server.port}/mcp"
    while time.monotonic() < until:
        try:
            async with (
                httpx2.AsyncClient(headers=headers, timeout=60) as web,
                Client(streamable_http_client(url, http_client=web)) as client,
            ):
                while time.monotonic() < until:
                    await call(client, chance, texts, tally)
        except Exception as error:  # noqa: BLE001  # whatever a client meets while it is away
            tally.fail(type(error).__name__)
            await asyncio.sleep(PAUSE_SECONDS)


async def call(client: Client, chance: random.Random, texts: Corpus, tally: Tally) -> None:
    """One call, timed."""
    asked = texts.question().text
    reads: list[tuple[str, dict[str, str]]] = [
        ("search_memories", {"query": asked}),
        ("memory_context", {"task": asked}),
        ("memory_head", {}),
    ]
    text = texts.draft().content
    write = "add_memory", {"content": text}
    name, given = write if chance.random() < WRITES else chance.choice(reads)
    began = time.monotonic()
    result = await client.call_tool(name, given)
    tally.seconds[name].append(time.monotonic() - began)
    if result.is_error:
        tally.fail(_PLACE.sub("", str(result.content))[:_SAID_CHARS_MAX])
    elif result.structured_content and "memoryId" in result.structured_content:
        tally.acknowledged[result.structured_content["memoryId"]] = text
        tally.waited += result.structured_content.get("outcome") == "waiting"


_PLACE = re.compile(r"postgresql://\S+")
_SAID_CHARS_MAX = 160


async def watch(
    server: Server, database: PrivateServer | None, until: float, kill_every: float, tally: Tally
) -> None:
    """Note how much memory the server has; kill it now and then, in turn with its database."""
    killed_at, of_database = time.monotonic(), False
    period = kill_every / 2 if database else kill_every
    while time.monotonic() < until:
        await asyncio.sleep(1)
        tally.resident.append(server.resident())
        if kill_every and time.monotonic() - killed_at >= period:
            tally.kills += 1
            if database and of_database:
                database.crash()
                await asyncio.sleep(_AWAY_SECONDS)
                await asyncio.to_thread(database.start)
            else:
                await server.kill_and_start()
            killed_at, of_database = time.monotonic(), not of_database


_AWAY_SECONDS = 2.0
"""How long a database that was killed stays away, at the least."""


def add_tokens(home: Path, clients: int) -> list[str]:
    """A token for each client."""
    file, found = TokenFile(home, Disk()), list[str]()
    for number in range(clients):
        user = number // CLIENTS_OF_A_USER
        identity = Identity(
            user=f"user-{user}",
            team=f"team-{user // USERS_OF_A_TEAM}",
            projects=(Project(name="load"),),
        )
        found.append(file.add(f"client-{number}", identity, datetime.now(UTC))[1])
    return found


async def run(
    home: Path, clients: int, seconds: float, kill_every: float, database: PrivateServer | None
) -> int:
    """Do it; the exit status."""
    tokens, settings = add_tokens(home, clients), dict[str, str]()
    if database:
        settings = {
            "MEMORY_PROVIDER": "postgres",
            "MEMORY_POSTGRES_URL": database.url,
            "MEMORY_POSTGRES_AWAY": "wait",
        }
    server, tally, texts = Server(home, settings), Tally(), Corpus(16)
    await server.wait_until_ready()
    until = time.monotonic() + seconds
    await asyncio.gather(
        watch(server, database, until, kill_every, tally),
        *(work(server, token, texts, until, tally) for token in tokens),
    )
    if database:
        await wait_until_delivered(server, home, tokens)
    status = server.end()
    there = list_rows(database) if database else list_files(home)
    lost = [id_ for id_, text in tally.acknowledged.items() if not there & {id_, text}]
    report(tally, clients, seconds, status, lost)
    return int(bool(lost) or (bool(tally.failed) and not tally.kills))


def list_files(home: Path) -> set[str]:
    """The ids of the memories in files."""
    return {each.stem for each in (home / "held").rglob("*.json")}


def list_rows(database: PrivateServer) -> set[str]:
    """The ids of the memories in the database; and their texts, for what was known when it came."""
    rows = execute(database.of_superuser.removesuffix("postgres") + "memory", _STORED)
    return {value for row in rows for value in row}


_STORED = "SELECT id, json::json ->> 'content' FROM memory_mcp.record"


async def wait_until_delivered(server: Server, home: Path, tokens: Sequence[str]) -> None:
    """Call for everyone once, and wait until nothing waits for the database any more."""
    for token in tokens:
        headers = {"authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{server.port}/mcp"
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as web,
            Client(streamable_http_client(url, http_client=web)) as client,
        ):
            await client.call_tool("memory_head", {})
    async with asyncio.timeout(_DELIVERY_SECONDS_MAX):
        while count_waiting(home):  # noqa: ASYNC110  # files tell nobody
            await asyncio.sleep(1)


def count_waiting(home: Path) -> int:
    """How many memories wait for the database, by the outboxes of all tenants."""
    found = 0
    for path in home.rglob("waiting.sqlite3"):
        with closing(sqlite3.connect(path)) as file:
            found += file.execute("SELECT count(*) FROM parcel").fetchone()[0]
    return found


_DELIVERY_SECONDS_MAX = 120.0


def report(tally: Tally, clients: int, seconds: float, status: int, lost: Sequence[str]) -> None:
    """Print what was measured."""
    every = [each for times in tally.seconds.values() for each in times]
    print(f"{clients} clients, {seconds:g} s, {tally.kills} kills, end with status {status}")
    print(f"{len(every):,} calls, {len(every) / seconds:.0f} a second, {tally.failed} failed")
    for why, count in tally.failures.most_common(4):
        print(f"  failed {count} times: {why}")
    for name, times in sorted(tally.seconds.items()):
        cuts = statistics.quantiles(times, n=20) if len(times) > 1 else times * 19
        print(
            f"  {name}: {len(times):,}, p50 {cuts[9] * 1000:.0f} ms, p95 {cuts[18] * 1000:.0f} ms"
        )
    if resident := [each for each in tally.resident if each]:
        early, late = resident[len(resident) // 3], resident[-1]
        print(f"resident: {early} MB after a third, {late} MB at the end, {max(resident)} at most")
    waited = f", {tally.waited} of them while the database was away" if tally.waited else ""
    print(f"{len(tally.acknowledged):,} memories acknowledged{waited}, {len(lost)} lost")
    print(
        f"processor time of the clients: {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.0f} s"
    )


def main() -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--kill-every", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--postgres", action="store_true")
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = stack.enter_context(private_server()) if args.postgres else None
        return asyncio.run(run(folder, args.clients, args.seconds, args.kill_every, database))


if __name__ == "__main__":
    sys.exit(main())
