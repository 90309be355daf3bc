"""A backtrack does what the user was shown, or nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from doors import Era, User, agent, call
from mcp.client import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

from memory_mcp import memories
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.record import Draft

pytestmark = pytest.mark.anyio


class SlowUser(User):
    """While this user reads the first question, another session remembers one more thing."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("accept", {"choice": "forget"})
        self._settings = settings

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        if not self.asked:
            async with open_workspace(self._settings) as built:
                await memories.add_memory(
                    built.workspace, Draft(content="written during the question")
                )
        return await super().__call__(context, params)


@pytest.mark.protocol
async def test_what_came_while_the_question_was_open_is_not_erased_unseen(
    tmp_path: Path, project: Path, era: Era
) -> None:
    """[forget] cannot be undone, so it counts for exactly what the question said."""
    asking = Settings(project_dir=project, home=tmp_path / "home", user="ada")
    user = SlowUser(asking)
    async with agent(asking, era, user) as client:
        await call(client, "add_memory", content="written before")
        said = await call(client, "backtrack", to="start")
        found = await call(client, "search_memories", query="")

    contents = {hit["content"] for hit in found["results"]}
    if said["success"]:  # the newer protocol asks again, about what there is now
        assert "written during the question" in user.asked[-1]
        assert contents == set()
    else:
        assert said["status"] == "changed"
        assert contents == {"written before", "written during the question"}


async def test_a_token_stands_for_the_texts_not_only_for_their_number(
    settings: Settings, era: Era
) -> None:
    """A correction keeps the count, and is not what the user agreed to erase."""
    async with agent(replace(settings, approval="ask"), era) as client:
        old = (await call(client, "add_memory", content="first text"))["memoryId"]
        token = (await call(client, "backtrack", to="start"))["confirm"]
        await call(client, "update_memory", memory_id=old, content="never shown")
        said = await call(client, "backtrack", to="start", mode="forget", confirm=token)

    assert (said["success"], said["status"]) == (False, "changed")
