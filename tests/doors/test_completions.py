"""What is offered while an id is being typed: what holds here, and nothing else."""

import pytest
from doors import Era, add, agent, call, seal
from fakes import fake_workspace
from mcp_types import PromptReference, ResourceTemplateReference
from shop import added, shop

from memory_mcp.config.settings import Settings
from memory_mcp.domain.limits import COMPLETIONS_MAX
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Policy
from memory_mcp.server.handlers import complete
from memory_mcp.server.resources import MEMORY

pytestmark = pytest.mark.anyio

_IDS = ResourceTemplateReference(uri=MEMORY)


async def test_a_memory_is_found_by_its_id_or_by_its_words() -> None:
    """Nobody knows a UUID by heart; the newest come first."""
    workspace = await shop()
    every = (await complete(workspace, _IDS, "id", "")).values
    storage = (await complete(workspace, _IDS, "id", "POSTGRESQL storage")).values

    assert every == sorted(every, reverse=True)
    assert len(storage) == 1
    assert (await complete(workspace, _IDS, "id", storage[0][:-1])).values == storage
    assert (await complete(workspace, _IDS, "id", "redis")).values == []
    assert (await complete(workspace, _IDS, "other", "")).values == []


@pytest.mark.nightly
async def test_no_more_is_offered_than_the_protocol_allows() -> None:
    """And it is said that there is more."""
    workspace = fake_workspace(policy=Policy())
    for number in range(COMPLETIONS_MAX + 10):
        await added(workspace, Draft(f"Part {number} of the shop sells item number {number}."))
    found = await complete(workspace, _IDS, "id", "")

    assert len(found.values) == COMPLETIONS_MAX
    assert found.has_more


@pytest.mark.protocol
async def test_arguments_of_prompts_are_completed_too(settings: Settings, era: Era) -> None:
    """Where to go back to is a name nobody types by hand."""
    review, close = PromptReference(name="review_backtrack"), PromptReference(name="close_phase")
    async with agent(settings, era) as client:
        sealed = await seal(client, "Storage chosen", phase=1)
        left = await seal(client, "Sessions chosen", phase=2)
        said = await call(client, "backtrack", to=1, mode="continue")
        await add(client, "Sessions live in cookies.")
        every = await client.complete(review, {"name": "to", "value": ""})
        some = await client.complete(review, {"name": "to", "value": "phase1"})
        phases = await client.complete(close, {"name": "phase", "value": ""})

    if said.get("line"):
        assert said["line"] in every.completion.values
    assert {sealed, "phase 1", left, "start"} <= set(every.completion.values)
    assert some.completion.values == [sealed]
    assert phases.completion.values == ["2"]
