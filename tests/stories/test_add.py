"""Remembering: what a memory becomes on disk, and what is refused before a byte is written."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from command_line import Run
from doors import Era, add, agent, call, read, recalled, record_file, records, refused, text_of

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.mark.files
async def test_a_memory_is_one_readable_file_that_says_where_it_came_from(
    settings: Settings, era: Era, project: Path
) -> None:
    """The store is read with jq and committed to git, so the file itself is a promise."""
    async with agent(replace(settings, session="s-1"), era) as client:
        memory_id = await add(
            client,
            "JWT for auth, because sessions do not scale.",
            kind="decision",
            phase=2,
            metadata={
                "title": "Auth",
                "category": "architecture",
                "tags": ["auth", "jwt", "auth"],
                "importance": 5,
                "pinned": True,
            },
        )

    path = record_file(project / ".claude" / "memory", memory_id)
    (record,) = records(project)
    assert path.name == f"{memory_id}.json"
    assert path.parent.name == record["created_at"][:7]
    assert record.pop("created_at").endswith("Z")
    assert record.pop("key").startswith("project:shop-")
    scope = record.pop("scope")
    assert scope["user"] == "ada"
    assert record.pop("container_tags") == [
        "ada",
        f"tag:project:{scope['project']}",
        "category:architecture",
        "tag:auth",
        "tag:jwt",
    ]
    assert record.pop("origin") == {
        "by": "assistant",
        "client": "mcp/0.1.0",
        "session": "s-1",
    }
    assert record == {
        "schema_version": 1,
        "id": memory_id,
        "kind": "decision",
        "layer": "archival",
        "content": "JWT for auth, because sessions do not scale.",
        "title": "Auth",
        "category": "architecture",
        "tags": ["auth", "jwt"],
        "importance": 5,
        "pinned": True,
        "phase": 2,
        "segment": "root",
        "branch": "main",
    }


async def test_what_is_absent_is_left_out_of_the_file(
    settings: Settings, era: Era, project: Path
) -> None:
    """A file full of nulls is noise in every diff."""
    async with agent(settings, era) as client:
        await add(client, "The shop sells coffee.")

    (record,) = records(project)
    assert set(record) == {
        "schema_version", "id", "kind", "layer", "content", "importance", "segment", "branch",
        "scope", "origin", "created_at", "container_tags",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "layer"),
    [("preference", "core"), ("convention", "core"), ("identity", "core"),
     ("pattern", "archival"), ("lesson", "archival")],
)  # fmt: skip
async def test_durable_kinds_stand_outside_the_timeline(
    settings: Settings, project: Path, kind: str, layer: str
) -> None:
    """What holds about the user or was learnt for good belongs to no stretch of the project."""
    async with agent(settings, "auto") as client:
        said = await call(client, "add_memory", content="Tabs, never spaces.", kind=kind)

    (record,) = records(project)
    assert said["durable"] is True
    assert record["layer"] == layer
    assert "segment" not in record
    assert "branch" not in record


async def test_a_kind_that_there_is_not_is_refused_in_plain_words(settings: Settings) -> None:
    """A model reads what it may say, not how the validator says it."""
    async with agent(settings, "auto") as client:
        said = await refused(client, "add_memory", content="Tabs.", kind="foo")

    assert said.startswith("add_memory: kind must be 'fact', ")
    assert said.endswith(" (got 'foo')")


_NO_PROJECT: Final = "No project here: this is shared by all folders without one."


async def test_a_memory_of_no_project_says_so_once(settings: Settings, tmp_path: Path) -> None:
    """All folders outside of a work tree share one memory, which nobody expects."""
    nowhere = replace(settings, project_dir=None)
    async with agent(nowhere, "auto") as client:
        said = await call(client, "add_memory", content="Mine alone.", scope="user")
        assert _NO_PROJECT not in said["message"]
        said = await call(client, "add_memory", content="The port is 9000.")
        assert f"{_NO_PROJECT} The user begins one" in said["message"]
        said = await call(client, "add_memory", content="Deploys go out on Tuesdays.")
        assert _NO_PROJECT not in said["message"]
    for chosen in (
        settings,
        replace(nowhere, hosted=True),
        replace(nowhere, memory_dir=tmp_path / "kept"),
    ):
        async with agent(chosen, "auto") as client:
            said = await call(client, "add_memory", content="Kept where it was meant to be.")
            assert _NO_PROJECT not in said["message"]


def test_a_command_outside_of_a_project_says_where_it_keeps_things(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that a project is begun by git, or by its name."""
    monkeypatch.chdir(tmp_path)
    for call_ in (("add", "The port is 9000."), ("checkpoint", "The plan stands.")):
        _, out, _ = run(*call_)
        assert f"{_NO_PROJECT} `git init`, or `--project .`" in out
    assert _NO_PROJECT not in run("add", "The port is 9000.", "--project", ".")[1]


@pytest.mark.parametrize(
    ("kind", "scope", "key"),
    [
        ("preference", "user", "user:preferences:short-commits"),
        ("convention", "user", "user:conventions:short-commits"),
        ("pattern", "user", "user:patterns:short-commits"),
        ("preference", "project", "project:none:preferences"),
        ("identity", "project", "project:none:identity"),
        ("decision", "project", "project:none:decision:"),
    ],
)
async def test_keys_follow_the_schema(
    settings: Settings, tmp_path: Path, kind: str, scope: str, key: str
) -> None:
    """Other programs look memories up by these keys."""
    async with agent(replace(settings, project_dir=None), "auto") as client:
        await add(client, "Short commits.", kind=kind, scope=scope,
                  metadata={"title": "Short commits!"})  # fmt: skip

    (record,) = records(tmp_path / "home")
    assert record["key"].startswith(key)


async def test_a_user_memory_is_found_from_every_project(
    settings: Settings, tmp_path: Path
) -> None:
    """A preference told once must not be told again in the next project."""
    (tmp_path / "other").mkdir()
    other = replace(settings, project_dir=tmp_path / "other")
    async with agent(settings, "auto") as client:
        memory_id = await add(client, "The user prefers short commits.", scope="user")
        await add(client, "This shop commits to main.")
    async with agent(other, "auto") as client:
        assert await recalled(client, "commits") == ["The user prefers short commits."]

    (record,) = records(tmp_path / "home")
    assert record["id"] == memory_id
    assert "project" not in record["scope"]


async def test_memories_of_two_users_do_not_mix(settings: Settings) -> None:
    """Scope is enforced by the server: two people on one machine share no preferences."""
    async with agent(settings, "auto") as client:
        await add(client, "Ada prefers tabs.", scope="user")
    async with agent(replace(settings, user="Grace H."), "auto") as client:
        assert await recalled(client, "prefers") == []


async def test_a_memory_past_its_time_is_not_recalled(settings: Settings, era: Era) -> None:
    """Expiry is exact; the moment is stored, not the time that is left."""
    soon = datetime.now(UTC) + timedelta(hours=1)
    async with agent(settings, era) as client:
        await add(client, "Freeze until tomorrow.", metadata={"expires_at": soon.isoformat()})
        assert await recalled(client, "freeze") == ["Freeze until tomorrow."]
        naive = (soon + timedelta(days=1)).replace(tzinfo=None).isoformat()
        await add(client, "Freeze next week too.", metadata={"expires_at": naive})
        past = await refused(
            client, "add_memory", content="Old.", metadata={"expires_at": "2001-02-03T04:05:06"}
        )
    assert "2001-02-03T04:05:06+00:00, which is past" in past


async def test_a_correction_given_with_the_new_memory_replaces_the_old_one(
    settings: Settings, era: Era
) -> None:
    """`supersedes` is the way to replace several memories by one."""
    async with agent(settings, era) as client:
        first = await add(client, "Port 8000 is used.")
        second = await add(client, "Port 8001 is used.")
        said = await call(
            client, "add_memory", content="Port 9000 is used.", supersedes=[first, second, first]
        )
        assert await recalled(client, "port") == ["Port 9000 is used."]

    assert said["outcome"] == "replaced"
    assert said["replaced"] == [first, second]


_REFUSED = {
    "empty": ({"content": " \n"}, "content is empty"),
    "title": (
        {"content": "x", "metadata": {"title": "t" * 201}},
        "title has 201 characters; the limit is 200",
    ),
    "category": (
        {"content": "x", "metadata": {"category": "c" * 65}},
        "category has 65 characters; the limit is 64",
    ),
    "tag": (
        {"content": "x", "metadata": {"tags": ["t" * 65]}},
        "a tag has 65 characters; the limit is 64",
    ),
    "blank tag": ({"content": "x", "metadata": {"tags": [" "]}}, "a tag is empty"),
    "tags": (
        {"content": "x", "metadata": {"tags": [str(n) for n in range(33)]}},
        "33 tags; the limit is 32",
    ),
    "importance": (
        {"content": "x", "metadata": {"importance": 6}},
        "importance is 6; choose 1 (trivial) to 5",
    ),
    "phase": ({"content": "x", "phase": 10_000}, "phase is 10000; it must be 0 to 9999"),
    "negative phase": ({"content": "x", "phase": -1}, "phase is -1"),
    "no such time": (
        {"content": "x", "metadata": {"expires_at": "0001-01-01T00:00:00+23:00"}},
        "expires_at is 0001-01-01T00:00:00+23:00, which no calendar knows in UTC",
    ),
    "links": (
        {"content": "x", "supersedes": ["a"] * 33},
        "supersedes names 33 memories; the limit is 32",
    ),
    "unknown memory": (
        {"content": "x", "supersedes": ["nope"]},
        "No memory 'nope' here. Take the id from",
    ),
    "kind": ({"content": "x", "kind": "checkpoint"}, "kind"),
    "metadata": ({"content": "x", "metadata": {"colour": "red"}}, "colour"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("arguments", "said"), _REFUSED.values(), ids=_REFUSED)
async def test_what_cannot_be_stored_is_refused_with_its_figure(
    settings: Settings, tmp_path: Path, arguments: dict[str, object], said: str
) -> None:
    """A limit that is not named cannot be kept to, and nothing half-checked reaches the disk."""
    async with agent(settings, "auto") as client:
        assert said in text_of(await client.call_tool("add_memory", arguments))

    assert records(tmp_path) == []


async def test_a_receipt_without_news_is_small(settings: Settings, era: Era) -> None:
    """Every field of a receipt is paid for by the model on every call."""
    async with agent(settings, era) as client:
        said = await call(client, "add_memory", content="The shop sells coffee.")

    memory_id = said.pop("memoryId")
    assert len(memory_id) == 36
    assert said == {"success": True, "outcome": "inserted", "message": "Stored."}


async def test_head_counts_what_was_added(settings: Settings, era: Era) -> None:
    """The two counts are what a backtrack can and cannot touch."""
    async with agent(settings, era) as client:
        await add(client, "The shop sells coffee.")
        await add(client, "Tabs.", kind="preference")
        await add(client, "Short commits.", kind="preference", scope="user")
        head = await read(client, "memory_head")

    assert "1 memory on this line, 2 memories beside it, which no backtrack hides." in head
