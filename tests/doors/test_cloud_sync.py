"""`memory-mcp cloud sync`, as a person or a program uses it."""

import json
from pathlib import Path

import pytest
from cloud import Cloud
from command_line import Run, as_json, complaint
from doors import machine_dir, trust, trust_cloud
from mirrors import KEY, kept, texts


@pytest.fixture
def mirror(run: Run, cloud: Cloud, project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, with a key for the cloud, whose user trusts it."""
    monkeypatch.setenv("SUPERMEMORY_API_KEY", KEY)
    monkeypatch.setenv("SUPERMEMORY_BASE_URL", cloud.url)
    monkeypatch.setenv("MEMORY_USER", "ada")
    trust(project)
    trust_cloud(cloud.url)
    return run


def test_a_command_notes_what_it_stored_and_sync_delivers_it(mirror: Run, cloud: Cloud) -> None:
    """A command ends at once; the next session, or this, brings it there."""
    added = as_json(mirror, "add", "Orders live in PostgreSQL.")
    assert "sync pending (1)" in added["message"]
    assert cloud.requests == []
    before = as_json(mirror, "cloud", "sync", "--status")
    assert before["pending"] == 1
    assert cloud.requests == []

    status, out, error = mirror("cloud", "sync")

    assert (status, error) == (0, "")
    assert out == "Nothing is pending. Supermemory holds 0 records, and is processing 1 change.\n"
    assert texts(cloud) == ["Orders live in PostgreSQL."]
    assert as_json(mirror, "cloud", "sync", "--status")["pending"] == 0


def test_a_program_gets_the_figures(mirror: Run) -> None:
    """Every count has its name; what there is nothing of is said as well."""
    as_json(mirror, "add", "Orders live in PostgreSQL.")
    said = as_json(mirror, "cloud", "sync")

    assert {name: said[name] for name in ("pending", "quiet", "checking", "refused")} == {
        "pending": 0,
        "quiet": 0,
        "checking": 1,
        "refused": 0,
    }
    assert said["undelivered"] == []
    assert said["unmirrored"] == 0


def test_a_search_says_what_did_not_run(mirror: Run, cloud: Cloud) -> None:
    """A person at the prompt reads the same as a program."""
    as_json(mirror, "add", "Orders live in PostgreSQL.")
    cloud.faults.always("503")
    _, out, _ = mirror("search", "orders")

    assert out.splitlines()[-2].startswith("Supermemory: ")
    assert out.endswith("(words+table)\n")


def test_a_key_that_is_refused_is_said_and_nothing_is_lost(mirror: Run, cloud: Cloud) -> None:
    """The exit status is for scripts, the sentence for people."""
    cloud.keys = {"another"}
    as_json(mirror, "add", "Orders live in PostgreSQL.")
    status, out, _ = mirror("cloud", "sync")

    assert status == 1
    assert "Stopped: " in out
    assert "401" in out
    assert "memory-mcp cloud login" in out
    assert KEY not in out
    cloud.keys = {KEY}
    assert mirror("cloud", "sync")[0] == 0
    assert len(kept(cloud)) == 1


def test_older_memories_move_in_when_told(
    mirror: Run, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the status says how many there are."""
    monkeypatch.setenv("MEMORY_PROVIDER", "local")
    as_json(mirror, "add", "Written before there was a key.")
    monkeypatch.setenv("MEMORY_PROVIDER", "auto")
    _, out, _ = mirror("cloud", "sync", "--status")
    assert "1 record written without the cloud stay here only" in out
    as_json(mirror, "cloud", "sync", "--push-all")

    assert texts(cloud) == ["Written before there was a key."]
    assert "stay here only" not in mirror("cloud", "sync", "--status")[1]


def test_a_lost_folder_comes_back(mirror: Run, project: Path) -> None:
    """What was taken in is counted. The index, which knows them all, is no reason not to look."""
    as_json(mirror, "add", "Orders live in PostgreSQL.")
    as_json(mirror, "cloud", "sync")
    for path in (project / ".claude" / "memory").rglob("*.json"):
        path.unlink()
    status, out, _ = mirror("cloud", "sync", "--pull")

    assert status == 0
    assert out.startswith("1 record taken in.")
    assert as_json(mirror, "search", "orders")["results"][0]["content"].startswith("Orders")


def test_without_a_cloud_there_is_nothing_to_sync(run: Run) -> None:
    """Said in a sentence, with the command that says why."""
    status, _, error = run("cloud", "sync")

    assert status == 1
    assert "memory-mcp cloud status" in error


def test_the_ways_to_sync_exclude_one_another(run: Run) -> None:
    """Half of what was asked for must not be done in silence."""
    status, _, error = run("cloud", "sync", "--pull", "--push-all")

    assert status == 2
    assert "not allowed with" in error


def test_a_damaged_outbox_is_named_and_begun_anew(mirror: Run, cloud: Cloud, project: Path) -> None:
    """What the cloud lacks is found out by asking it."""
    as_json(mirror, "add", "Orders live in PostgreSQL.")
    as_json(mirror, "cloud", "sync")
    as_json(mirror, "add", "Sessions live in Redis.")
    (machine_dir(project) / "outbox.sqlite3").write_bytes(b"no database at all" * 500)
    assert "outbox.sqlite3" in complaint(mirror, "cloud", "sync")
    found = json.loads(mirror("doctor", "--json")[1])["findings"]
    assert [finding["code"] for finding in found] == ["outbox-damaged"]
    assert as_json(mirror, "doctor", "--repair")["findings"][0]["repaired"]
    as_json(mirror, "cloud", "sync", "--push-all")

    assert len(kept(cloud)) == 2
    assert set(cloud.posted.values()) == {1}
