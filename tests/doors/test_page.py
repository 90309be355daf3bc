"""The page without a browser: who gets in, what it reads, and what each action does and undoes."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from command_line import Run, complaint
from fakes import FakeClock, FakeIds, close_workspace, real_workspace
from project_story import Story
from viewing import OWN, PORT, Viewer, outside, viewing

from memory_mcp import branches, maintenance, memories, sessions
from memory_mcp.build import open_workspace
from memory_mcp.cli.main import main
from memory_mcp.config.settings import Settings
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.outcomes import CheckpointSaved, Closeout, ClosingDecision, MemoryAdded
from memory_mcp.domain.record import Draft
from memory_mcp.domain.secret import Secret
from memory_mcp.domain.sessions import Turn
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.graph import GraphNode, place_nodes
from memory_mcp.server.page.document import (
    build_app_document,
    build_export,
    join_scripts,
    load_part,
)
from memory_mcp.server.page.live import follow_changes
from memory_mcp.server.page.reads import READS, Read

pytestmark = pytest.mark.anyio

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\u2028"


@pytest.fixture
async def story(tmp_path: Path) -> AsyncGenerator[Story]:
    """A small project on real files."""
    clock, ids = FakeClock(), FakeIds()
    workspace = real_workspace(tmp_path, clock, ids)
    yield Story(workspace, clock, ids)
    await close_workspace(workspace)


@pytest.fixture
async def viewer(story: Story) -> AsyncGenerator[Viewer]:
    """The page on it, let in."""
    async with viewing(story.workspace) as page:
        yield page


async def test_the_address_lets_one_browser_in_once(story: Story) -> None:
    """Whoever reads the address later, in a history or a log, must not get in with it."""
    async with outside(story.workspace) as page:
        for path in ("/", "/main.js", "/api/head", "/api/events"):
            assert (await page.web.get(path, headers=OWN)).status_code == 401
        assert (await page.web.get("/", params={"token": "wrong"})).status_code == 401
        opened = await page.web.get("/", params={"token": page.entry.token})
        assert opened.headers["location"] == "/"
        cookie = opened.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert (await page.web.get("/")).status_code == 200
        page.web.cookies.clear()
        again = await page.web.get("/", params={"token": page.entry.token})
        assert again.status_code == 401
        page.web.cookies.set(page.entry.cookie_name, "forged")
        assert (await page.web.get("/api/head", headers=OWN)).status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"Host": "localhost"},
        {"Host": f"127.0.0.1:{PORT + 1}"},
        {"Host": f"127.0.0.1.evil.test:{PORT}"},
        {"Origin": "http://evil.test"},
        {"Origin": f"http://127.0.0.1:{PORT + 1}"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"X-Memory-Page": "0"},
    ],
)
async def test_a_foreign_page_reads_and_does_nothing(viewer: Viewer, wrong: dict[str, str]) -> None:
    """A browser sends the cookie along for whatever page asks it to."""
    headers = {**OWN, **wrong}
    assert (await viewer.web.get("/api/head", headers=headers)).status_code in (403, 421)
    sent = await viewer.web.post("/api/act", json={"action": "undo"}, headers=headers)
    assert sent.status_code in (403, 421)


async def test_an_action_needs_the_page_and_a_form_of_ours(viewer: Viewer) -> None:
    """A form of another page sends no header, and what is no action is named."""
    web = viewer.web
    assert (await web.post("/api/act", json={}, headers={"X-Memory-Page": "1"})).status_code == 403
    plain = {**OWN, "Content-Type": "text/plain"}
    assert (await web.post("/api/act", content="{}", headers=plain)).status_code == 415
    refused = await viewer.send(action="format_disk")
    assert refused.status_code == 400
    assert "backtrack" in refused.json()["message"]
    assert (await viewer.send(action="undo", more=1)).status_code == 400
    for wrong in ({"kind": "recipe"}, {"state": "lost"}):
        listed = await web.get("/api/memories", params=wrong, headers=OWN)
        assert listed.status_code == 400
        assert "is none of: " in listed.json()["message"]
    asked = await web.get("/api/passwords", headers=OWN)
    assert asked.status_code == 400
    assert "timeline" in asked.json()["message"]
    assert (await web.get("/api/act", headers=OWN)).status_code == 400


async def test_every_answer_forbids_frames_scripts_and_caches(viewer: Viewer) -> None:
    """Refusals and errors too: a page of ours must not run in another's frame."""
    for path in ("/", "/page.css", "/api/head", "/api/nothing", "/nowhere", "/?token=x"):
        answer = await viewer.web.get(path, headers=OWN)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


async def test_every_read_answers(story: Story, viewer: Viewer) -> None:
    """An empty project and a full one have the same views."""
    given = {"point": {"point": "start"}, "memory": None, "diff": {"a": "start", "b": "head"}}
    for name in READS:
        if (arguments := given.get(name, {})) is not None:
            assert await viewer.read(name, **arguments) is not None
    first = await story.phase_one()
    memory = await story.say("Sessions are kept in Redis.", category="auth", tags=("redis",))
    head = await viewer.read("head")
    assert [each["id"] for each in head["checkpoints"]] == [first]
    timeline = await viewer.read("timeline")
    assert [each["kind"] for each in timeline["nodes"]] == ["branch", "checkpoint", "start"]
    point = await viewer.read("point", point=first)
    assert point["titles"] == ["Sessions are kept in Redis."]
    then = await viewer.read("memories", at=first)
    assert memory not in {each["memoryId"] for each in then["results"]}
    for asked in ({"query": "where are sessions"}, {"tag": "redis"}, {"category": "auth"}):
        found = await viewer.read("memories", **asked)
        assert [each["memoryId"] for each in found["results"]][:1] == [memory]
    whole = await viewer.read("memory", id=memory)
    assert whole["content"] == "Sessions are kept in Redis."
    diff = await viewer.read("diff", a=first)
    assert [each["memoryId"] for each in diff["onlyB"]] == [memory]
    figures = await viewer.read("figures")
    assert sum(each["tokens"] for each in figures["sections"]) >= figures["tokens"] - 20
    assert (await viewer.read("health"))["findings"] == []


async def test_a_backtrack_is_asked_done_and_undone(story: Story, viewer: Viewer) -> None:
    """The question is the tools' own, and a question that is no longer true decides nothing."""
    first = await story.seal("Storage chosen.", 1)
    await story.say("Sessions are kept in Redis.")
    asked = await viewer.act(action="backtrack", to=first)
    assert "Sessions are kept in Redis." in asked["message"]
    await story.say("Redis runs in Frankfurt.")
    changed = await viewer.act(action="backtrack", to=first, confirm=asked["confirm"])
    assert "This hides 2 memories" in changed["message"]
    _, done = await viewer.do(action="backtrack", to=first)
    assert (await viewer.read("head"))["memories"] == 0
    _, back = await viewer.do(**done["undo"])
    assert (await viewer.read("head"))["memories"] == 2
    assert back["undo"] == {"action": "undo"}
    line = (await viewer.do(action="backtrack", to=first))[1]["line"]
    assert await viewer.read("point", point=line)
    await viewer.do(action="backtrack", to=line)
    assert (await viewer.read("head"))["memories"] == 2


async def test_what_is_erased_is_asked_twice(story: Story, viewer: Viewer) -> None:
    """Everything else comes back; a slip of the hand must not cost what cannot."""
    first = await story.seal("Storage chosen.", 1)
    await story.say("Sessions are kept in Redis.")
    lost = await story.say("The password of the staging system was changed.")
    asked, done = await viewer.do(action="forget", memory_id=lost, mode="erase")
    assert len(asked) == 2
    assert "undo" not in done
    assert (
        await viewer.web.get("/api/memory", params={"id": lost}, headers=OWN)
    ).status_code == 400
    asked, done = await viewer.do(action="backtrack", to=first, mode="forget")
    assert len(asked) == 2
    assert "undo" not in done


async def test_a_memory_is_corrected_pinned_and_hidden_and_each_is_undone(
    story: Story, viewer: Viewer
) -> None:
    """Each answer names the action that takes it back."""
    first = await story.say("Tokens live for 60 minutes.", tags=("auth",), title="Tokens")

    async def now() -> list[tuple[str, bool]]:
        rows = (await viewer.read("memories"))["results"]
        return [(each["content"], each.get("pinned", False)) for each in rows]

    asked, done = await viewer.do(
        action="correct", memory_id=first, content="Tokens live for 15 minutes.", reason="audit"
    )
    assert asked
    assert await now() == [("Tokens live for 15 minutes.", False)]
    whole = await viewer.read("memory", id=done["memoryId"])
    assert whole["why"]["replaced"][0]["content"] == "Tokens live for 60 minutes."
    _, done = await viewer.do(**done["undo"])
    assert await now() == [("Tokens live for 60 minutes.", False)]
    _, done = await viewer.do(action="pin", memory_id=done["memoryId"], pinned=True)
    assert await now() == [("Tokens live for 60 minutes.", True)]
    _, done = await viewer.do(**done["undo"])
    _, done = await viewer.do(action="forget", memory_id=done["memoryId"], reason="no longer so")
    assert await now() == []
    _, done = await viewer.do(**done["undo"])
    assert await now() == [("Tokens live for 60 minutes.", False)]
    kept = await viewer.read("memory", id=done["memoryId"])
    assert (kept["tags"], kept["title"]) == (["auth"], "Tokens")


async def test_a_session_that_only_reads_changes_nothing_here(story: Story) -> None:
    """The page is one more door: the settings hold for it as well."""
    first = await story.say("Tokens live for 60 minutes.")
    reading = replace(story.workspace, policy=replace(story.workspace.policy, meta=True))
    async with viewing(reading) as page:
        refused = await page.act(action="pin", memory_id=first, pinned=True)
        assert refused["success"] is False
        assert (await page.read("head"))["reads"]


async def test_what_any_process_writes_is_announced(story: Story) -> None:
    """A page that shows what held a minute ago decides wrongly."""
    ending = asyncio.Event()
    news = follow_changes(story.workspace, ending)
    waiting = asyncio.ensure_future(anext(news))
    for number in range(1_000):  # until it has looked at what is there, and then at this
        await story.say(f"Order number {number} was written down.")
        if waiting.done():
            break
    assert await waiting is True
    ending.set()
    await news.aclose()


async def test_a_read_that_takes_long_ends_with_the_page(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle of a comparison printed a traceback for each read that went on."""
    begun, ended, ending = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def compare_for_ever(_workspace: Workspace, _form: object) -> dict[str, object]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return {}

    monkeypatch.setitem(cast("dict[str, Read]", READS), "disputes", Read(compare_for_ever))
    async with viewing(story.workspace, ending) as viewer:
        asked = asyncio.create_task(viewer.web.get("/api/disputes", headers=OWN))
        await begun.wait()
        ending.set()
        answer = await asked
    await ended.wait()
    assert answer.status_code == 503
    assert answer.json()["message"] == "The page is being ended."


async def test_what_the_user_said_is_kept_or_dropped(story: Story, viewer: Viewer) -> None:
    """A suggestion is decided where it is seen, and what was kept by it can be hidden again."""
    said = "Remember: we always deploy from main on Tuesdays."
    await sessions.capture_turns(story.workspace, [Turn("user", said, story.clock.now())])
    (suggested,) = (await viewer.read("waiting"))["suggestions"]
    _, done = await viewer.do(action="suggestion", statement=suggested["statement"], keep=True)
    assert (await viewer.read("waiting"))["suggestions"] == []
    assert len((await viewer.read("memories"))["results"]) == 1
    for kept in (0, 1, 0, 1):
        _, done = await viewer.do(**done["undo"])
        assert len((await viewer.read("memories"))["results"]) == kept
        assert len((await viewer.read("waiting"))["suggestions"]) == 1 - kept


async def test_only_what_was_hidden_or_replaced_is_put_back(story: Story, viewer: Viewer) -> None:
    """A second try, or one at what a correction replaced, must leave one memory of it."""
    old = await story.say("Tokens live for 60 minutes.")
    holds = await viewer.send(action="put_back", memory_id=old)
    token = holds.json()["confirm"]
    refused = await viewer.send(action="put_back", memory_id=old, confirm=token)
    assert "nothing hides it" in refused.json()["message"]
    _, done = await viewer.do(action="correct", memory_id=old, content="Tokens live for a day.")
    refused = await viewer.send(action="put_back", memory_id=old, confirm=token)
    assert "Correct what replaced it" in refused.json()["message"]
    for _ in range(2):  # each undo is undone by the next
        _, done = await viewer.do(**done["undo"])
    (row,) = (await viewer.read("memories"))["results"]
    assert row["content"] == "Tokens live for a day."
    gone = await viewer.send(action="pin", memory_id=old, pinned=True)
    assert "choose it anew" in gone.json()["message"]
    asked = await viewer.send(action="put_back", memory_id="0199-nothing")
    assert "No memory" in asked.json()["message"]
    _, done = await viewer.do(action="forget", memory_id=row["memoryId"])
    back = await viewer.act(**done["undo"])
    clicks = [viewer.send(**done["undo"], confirm=back["confirm"]) for _ in range(4)]
    answers = [each.status_code for each in await asyncio.gather(*clicks)]
    assert sorted(answers) == [200, 400, 400, 400]
    assert len((await viewer.read("memories"))["results"]) == 1


async def test_a_suggestion_is_decided_alone_and_dropping_it_is_undone(
    story: Story, viewer: Viewer
) -> None:
    """One that is part of another must not decide the other, and a slip must not lose words."""
    for said in ("we always deploy on Tuesdays.", "we always deploy on Tuesdays from main."):
        turn = Turn("user", f"Remember: {said}", story.clock.now())
        await sessions.capture_turns(story.workspace, [turn])

    async def waiting() -> list[str]:
        return [each["statement"] for each in (await viewer.read("waiting"))["suggestions"]]

    both = await waiting()
    short, long = sorted(both, key=len)
    assert short.rstrip(".") in long
    asked, done = await viewer.do(action="suggestion", statement=short, keep=False)
    assert short in asked[0]
    assert await waiting() == [long]
    asked, _ = await viewer.do(**done["undo"])
    assert asked
    assert await waiting() == both
    assert (await viewer.send(action="suggestion", statement="", keep=False)).status_code == 400


async def test_what_another_member_wrote_is_kept_or_dropped_and_each_is_undone(
    story: Story,
) -> None:
    """The word is the user's own: it can be taken back, in this run or the next one."""
    mine = story.workspace
    scope = mine.scope.model_copy(update={"user": "eve"})
    eve = replace(mine, caller=replace(mine.caller, scope=scope))
    written = await memories.add_memory(eve, Draft("Deploy with make ship."))
    assert isinstance(written, MemoryAdded)
    asking = replace(mine, policy=replace(mine.policy, approval="review"))
    async with viewing(asking) as page:

        async def waiting() -> list[str]:
            return [each["content"] for each in (await page.read("waiting"))["reviews"]]

        for keep in (True, False, True):
            assert await waiting() == ["Deploy with make ship."]
            review = {"action": "review", "memory_id": written.record.id, "keep": keep}
            asked, done = await page.do(**review)
            assert "what eve wrote" in asked[0]
            assert await waiting() == []
            assert (await page.send(**review, confirm="x")).status_code == 200  # asks anew
            asked, back = await page.do(**done["undo"])
            assert asked
            assert back["undo"] == review
        own = await page.send(**{**review, "memory_id": await story.say("Mine.")})
        token = own.json()["confirm"]
        refused = await page.send(**{**review, "memory_id": "0"}, confirm=token)
        assert refused.status_code == 400


async def test_still_true_is_undone_with_what_was_cited_before(
    story: Story, viewer: Viewer, tmp_path: Path
) -> None:
    """A citation that was renewed by mistake must be stale again, not believed."""
    code = tmp_path / "project/auth.py"
    code.write_text("def refresh():\n    return 15\n")
    cited = await story.say("refresh() returns 15.", cites=("auth.py#refresh",))
    code.write_text("def refresh():\n    return 20\n")

    async def stale() -> list[str]:
        return [each["content"] for each in (await viewer.read("stale"))["stale"]]

    assert await stale() == ["refresh() returns 15."]
    _, pinned = await viewer.do(action="pin", memory_id=cited, pinned=True)
    assert await stale() == ["refresh() returns 15."]  # a pin says nothing of the code
    asked, done = await viewer.do(action="cite_again", memory_id=pinned["memoryId"])
    assert "still true" in asked[0]
    assert await stale() == []
    _, done = await viewer.do(**done["undo"])
    assert await stale() == ["refresh() returns 15."]
    _, done = await viewer.do(action="forget", memory_id=done["memoryId"], reason="moved")
    assert await stale() == []
    _, done = await viewer.do(**done["undo"])
    assert await stale() == ["refresh() returns 15."]


async def test_a_contradiction_is_found_however_old_the_other_memory_is(
    story: Story, viewer: Viewer
) -> None:
    """What was said first is seldom among the newest; the rest is looked at page by page."""
    old = [
        await story.say("According to the wiki, uploads are kept for 30 days."),
        await story.say("The handbook gives 90 days as the time for which uploads are kept."),
        (await story.keep("The shop opens at 8 in the morning.")).id,
    ]
    for number in range(310):
        await story.keep(f"Parcel {number * 7919} left the depot of hall {number % 40}.")
    newest = (await story.keep("The shop opens at 9 in the morning now.")).id

    async def look(offset: int) -> tuple[list[list[str]], int]:
        found = await viewer.read("disputes", offset=str(offset))
        pairs = [[one["memoryId"] for one in each["memories"]] for each in found["disputes"]]
        assert found["total"] == 314
        return pairs, found["lookedAt"]

    assert await look(0) == ([[old[2], newest]], 300)
    pairs, looked_at = await look(300)
    assert looked_at == 314
    assert old[:2] in pairs


async def test_what_was_done_on_another_branch_is_undone_there(
    story: Story, viewer: Viewer
) -> None:
    """The page shows any branch: the way back must not lead to the one it was opened on."""
    await branches.fork_branch(story.workspace, "idea", "")
    there = story.workspace.at(BranchName("idea"))
    added = await memories.add_memory(there, Draft("Sessions are kept in Valkey."))
    assert isinstance(added, MemoryAdded)
    memory = added.record.id
    _, done = await viewer.do(action="forget", memory_id=memory, branch="idea")
    await viewer.do(**done["undo"])
    assert (await viewer.read("memories"))["results"] == []
    (back,) = (await viewer.read("memories", branch="idea"))["results"]
    assert back["content"] == "Sessions are kept in Valkey."


async def test_a_pending_checkpoint_is_decided_and_each_answer_is_undone(
    story: Story, viewer: Viewer
) -> None:
    """Where no client could ask, the page is where the word is given, and taken back."""
    await story.say("Orders live in PostgreSQL.")
    closeout = Closeout((ClosingDecision("Orders are rows."),))
    for number in (1, 2):
        sealed = await branches.checkpoint(
            story.workspace, f"Storage {number}", number, again=False, approval="pending",
            closeout=closeout if number == 2 else Closeout(),
        )  # fmt: skip
        assert isinstance(sealed, CheckpointSaved)

    async def look() -> tuple[list[str], list[str], bool]:
        head = await viewer.read("head")
        rows = (await viewer.read("memories", kind="decision"))["results"]
        said = [[each["summary"] for each in head[name]] for name in ("pending", "checkpoints")]
        return said[0], said[1], "Orders are rows." in [each["content"] for each in rows]

    first, second = (await viewer.read("waiting"))["pending"]
    decide = {"action": "decide", "checkpoint_id": first["id"], "decision": "edit"}
    (asked,), done = await viewer.do(**decide, summary="Storage is chosen.")
    assert "Storage is chosen." in asked
    assert await look() == (["Storage 2"], ["Storage is chosen."], True)
    (asked,), done = await viewer.do(**done["undo"])
    assert "waits for approval again" in asked
    assert await look() == (["Storage 1", "Storage 2"], [], True)
    _, done = await viewer.do(**done["undo"])  # and given again
    assert await look() == (["Storage 2"], ["Storage is chosen."], True)
    skip = {"action": "decide", "checkpoint_id": second["id"], "decision": "skip"}
    _, done = await viewer.do(**skip)
    assert await look() == ([], ["Storage is chosen."], False)
    assert (await viewer.send(**skip)).status_code == 400
    for pending in (True, False, True):
        _, done = await viewer.do(**done["undo"])
        assert await look() == (["Storage 2"] * pending, ["Storage is chosen."], pending)
    assert await maintenance.run_doctor(story.workspace) == []


async def test_what_came_with_a_repository_is_approved(tmp_path: Path, project: Path) -> None:
    """The question names what waits; no tool takes this answer, and the page is the user's own."""
    theirs = Settings(project_dir=project, home=tmp_path / "theirs", user="eve")
    async with open_workspace(theirs) as built:
        await memories.add_memory(built.workspace, Draft("Deploy with make ship."))
    mine = Settings(project_dir=project, home=tmp_path / "mine", user="ada")
    async with open_workspace(mine) as built, viewing(built.workspace) as page:
        assert (await page.read("memories"))["results"] == []
        trust = (await page.read("waiting"))["trust"]
        assert "Deploy with make ship." in trust["message"]
        asked, done = await page.do(action="trust", trusted=True)
        assert asked == [trust["message"]]
        assert len((await page.read("memories"))["results"]) == 1
        await page.do(**done["undo"])
        assert (await page.read("memories"))["results"] == []


async def test_the_page_shows_a_database_as_it_shows_files(
    tmp_path: Path, project: Path, clean_postgres: str
) -> None:
    """Where memories rest is named without its password, and every view answers."""
    settings = Settings(
        project_dir=project, home=tmp_path / "mine", user="ada", provider="postgres",
        postgres_url=Secret(clean_postgres),
    )  # fmt: skip
    async with open_workspace(settings) as built, viewing(built.workspace) as page:
        for said in (
            "According to the wiki, uploads are kept for 30 days.",
            "The handbook gives 90 days as the time for which uploads are kept.",
        ):
            await memories.add_memory(built.workspace, Draft(said))
        head = await page.read("head")
        assert head["database"].startswith("postgresql://")
        assert "@" not in head["database"]
        assert head["memories"] == 2
        assert len((await page.read("disputes"))["disputes"]) == 1
        figures = await page.read("figures")
        assert sum(count for _, count in figures["days"]) == 2
        for name in ("timeline", "profile", "sessions", "stale", "waiting"):
            assert await page.read(name)
        assert (await page.read("health"))["findings"] == []


def test_scripts_are_joined_without_a_trace_of_modules() -> None:
    """A file and a client's frame have one script; a leftover import would fetch."""
    joined = join_scripts()
    assert not re.search(r"^(import|export)\b", joined, re.MULTILINE)
    assert "innerHTML" not in joined
    assert "eval(" not in joined
    names = re.findall(
        r"^(?:async )?function (\w+)|^const (\w+)|^class (\w+)", joined, re.MULTILINE
    )
    flat = ["".join(each) for each in names]
    assert len(flat) == len(set(flat))
    assert "http" not in joined.replace("http://www.w3.org/2000/svg", "")
    assert "://" not in load_part("page.css")


def test_a_file_holds_what_a_memory_says_as_data() -> None:
    """Whatever a memory says, it ends no script and begins no markup."""
    text = build_export({"answers": {"head": {"project": HOSTILE}}, "memories": []})
    assert "<script>alert" not in text
    assert "onerror=alert(2)>" not in text
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert held
    assert json.loads(held[1])["answers"]["head"]["project"] == HOSTILE
    assert "Content-Security-Policy" in text
    assert "Content-Security-Policy" not in build_app_document()


def test_a_placed_node_stands_where_the_drawing_has_it() -> None:
    """The page and `memory-mcp log` draw one graph: an edge ends where its parent stands."""
    nodes = [
        GraphNode("a", ("c",), "@"),
        GraphNode("b", ("c", "d"), "x"),
        GraphNode("c", ("d",), "o"),
        GraphNode("d", (), "s"),
    ]
    placed = list(place_nodes(nodes))
    columns = {each.key: each.column for each in placed}
    assert columns == {"a": 0, "b": 1, "c": 0, "d": 0}
    for at, node in enumerate(nodes):
        reached = {placed[at].column}
        for each in placed[at:]:  # down the edges that begin at the node
            if each.key in node.parents:
                assert each.column in reached
            reached = {end for start, end in each.edges if start in reached}


@pytest.mark.parametrize("command", [("view", "--export"), ("export",)])
def test_a_file_in_a_folder_that_is_not_there_is_refused(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """A slip of the hand must not make folders."""
    target = tmp_path / "nowhere" / "all"
    assert f"there is no folder {str(target.parent)!r}" in complaint(run, *command, str(target))
    assert not target.parent.exists()


def test_what_stands_in_the_way_of_a_page_is_noticed_before_it_is_made(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after everything was read."""
    monkeypatch.delattr("memory_mcp.server.page")
    monkeypatch.setitem(sys.modules, "memory_mcp.server.page", None)  # to import it is an error
    assert "is there. Name another file" in complaint(run, "view", "--export", __file__)
    assert "is a folder: name a file" in complaint(run, "view", "--export", str(tmp_path))


def test_the_page_is_written_into_one_file(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who gets the file sees what is remembered, without a server or a way to change it."""
    assert main(["--project", str(project), "add", "Orders live in PostgreSQL."]) == 0
    target = tmp_path / "page.html"
    assert main(["--project", str(project), "view", "--export", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert "Orders live in PostgreSQL." in text
    assert str(tmp_path) not in text  # whoever gets it learns no path of this machine
    target.write_text("a page of somebody else")
    again = ["--project", str(project), "view", "--export", str(target)]
    assert main(again) == 1
    assert "repeat with --force to write over it." in capsys.readouterr().err
    assert target.read_text() == "a page of somebody else"
    assert main([*again, "--force"]) == 0
    assert "Orders live in PostgreSQL." in target.read_text(encoding="utf-8")
    assert main(["--project", str(project), "view", "--export", str(target), "--port", "1"]) == 2
    assert "--export" in capsys.readouterr().err
