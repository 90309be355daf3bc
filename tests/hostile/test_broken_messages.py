"""JSON-RPC messages, broken at random, sent to the real server: it answers the next good one."""

import json
import sys
from collections.abc import Generator
from pathlib import Path
from random import Random

import pytest
from attack import World
from depth import depth
from mutations import mutated
from verdicts import differences, digest
from visiting import MEGABYTES_MAX, Launcher, Server, own_folders

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="its processes are forked, and get their pipes by a socket"
)

AT_ONCE = 20
"""So many broken messages go before a good one."""

_CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("add_memory", {"content": "The build runs on two cores.", "metadata": {"tags": ["ci"]}}),
    ("search_memories", {"query": "build", "limit": 3}),
    ("memory_context", {"task": "speed up the build", "budget_tokens": 300}),
    ("checkpoint", {"summary": "The build is settled.", "phase": 1}),
    ("backtrack", {"to": "1", "mode": "abort"}),
    ("forget_memory", {"memory_id": "019b76da-a801-7378-892f-3df50ed8c48c"}),
    ("memory_head", {}),
)
_OTHERS: tuple[tuple[str, dict[str, object]], ...] = (
    ("resources/read", {"uri": "memory://context"}),
    ("prompts/get", {"name": "session_start", "arguments": {}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "session_start"},
                             "argument": {"name": "task", "value": ""}}),
    ("tools/list", {}),
    ("ping", {}),
    ("notifications/cancelled", {"requestId": "q1"}),
)  # fmt: skip


@pytest.fixture(scope="module")
def launcher() -> Generator[Launcher]:
    """What starts the server; the real program, imported once."""
    launcher = Launcher()
    yield launcher
    launcher.close()


def _messages() -> list[bytes]:
    """Good ones, to be broken."""
    requests = [("tools/call", {"name": name, "arguments": given}) for name, given in _CALLS]
    return [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        for number, (method, params) in enumerate((*requests, *_OTHERS))
    ]


def _speak(folder: Path, launcher: Launcher, seeds: range) -> None:
    """Send what is broken, a good one now and then, and see that each good one is answered."""
    base = folder.resolve() / "machine"
    world = World(base / "repo", base / "home", base / "outside")
    for each in (world.repo / ".git", world.home, world.outside):
        each.mkdir(parents=True)
    but = (world.repo, *own_folders(world))
    before = digest(base, but)
    good = _messages()
    server = Server(launcher, world)
    server.hello()
    for start in seeds[::AT_ONCE]:
        for seed in range(start, min(start + AT_ONCE, seeds.stop)):
            random = Random(seed)  # noqa: S311  # no secret
            line = mutated(random.choice(good), random)
            server.send(line.replace(b"\n", b" "))
        try:
            answer = server.ask("tools/call", name="memory_head", arguments={})
        except TimeoutError as error:
            error.add_note(f"after the seeds from {start}")
            raise
        assert not answer["result"].get("isError"), f"after the seeds from {start}: {answer}"
    ended = server.close()

    assert ended.status == 0, ended.error[-2000:]
    assert ended.megabytes < MEGABYTES_MAX
    assert differences(before, digest(base, but)) == []


def test_broken_messages_never_end_a_session(tmp_path: Path, launcher: Launcher) -> None:
    """A client may send anything: the next good request is answered."""
    _speak(tmp_path, launcher, range(depth(260, 10_000)))
