"""Every text that is rendered from a memory, as it was looked at and found good."""

from datetime import timedelta

import pytest
from fakes import FakeClock, FakeIds, fake_workspace
from golden import golden
from project_story import Story
from views_in_memory import MemoryViews

from memory_mcp import bootstrap, branches, memories, sessions
from memory_mcp.bootstrap.opening import build_bootstrap
from memory_mcp.render.block import Block

pytestmark = pytest.mark.anyio


def a_story() -> Story:
    clock, ids = FakeClock(), FakeIds()
    return Story(fake_workspace(clock, ids), clock, ids)


async def text(story: Story, task: str = "", since: str = "", budget: int = 500) -> str:
    block = await sessions.memory_context(story.workspace, task, budget, since)
    assert isinstance(block, Block)
    return f"{block.text}\n"


async def test_what_opens_a_session_and_goes_with_a_task() -> None:
    """The first thing a model reads."""
    story = a_story()
    golden("context-empty.md", await text(story))
    await story.phase_one()
    await story.phase_two()

    golden("context.md", await text(story))
    golden("context-120-tokens.md", await text(story, budget=120))
    golden("context-task.md", await text(story, task="carts and orders"))


async def test_what_has_changed_since() -> None:
    """What a resumed session reads instead: nothing of what was given up but ids."""
    story = a_story()
    await story.phase_one()
    then = (await build_bootstrap(story.workspace)).since
    golden("since-nothing.md", await text(story, since=then))
    await story.phase_two()
    later = (await build_bootstrap(story.workspace)).since
    golden("since-new.md", await text(story, since=then))
    story.clock.advance(timedelta(minutes=1))
    await branches.backtrack(
        story.workspace, "phase 1", "continue", lesson="Cookies are too small."
    )
    golden("since-backtrack.md", await text(story, since=later))


async def test_the_pages() -> None:
    """What lies in the project's folders."""
    story = a_story()
    views = story.workspace.views
    assert isinstance(views, MemoryViews)
    brief = await story.say("It was said and taken back.")
    await memories.forget_memory(story.workspace, brief, "", erase=True)
    await bootstrap.render_views(story.workspace)
    golden("MEMORY-empty.md", views.pages["MEMORY.md"])
    golden("HISTORY-empty.md", views.pages["HISTORY.md"])
    await story.phase_one()
    await story.phase_two()
    await bootstrap.render_views(story.workspace)

    for page, shown in views.pages.items():
        golden(page, shown)
    golden("rendered-text.md", views.bootstraps["main"]["text"] + "\n")
    live = (await text(story)).splitlines()
    assert views.bootstraps["main"]["text"].splitlines() == [*live[:-2], live[-1]], (
        "a hook prints what the tool says, but for the time"
    )
