"""What was decided, and why, is found by asking: among many other memories, by words alone."""

import random
from typing import Final

import pytest
from closing import PHASES
from depth import depth
from doors import Era, add, agent, call, recalled

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio

DESIGN: Final = (
    ("Modular monolith with a hexagonal core", "three people cannot run microservices"),
    ("PostgreSQL as the only store", "reports join five tables"),
    ("Monorepo with Nx", "one version of everything"),
)
WHAT: Final = (
    "the billing service", "the login page", "the deploy job", "the search index",
    "the mobile client", "the nightly export", "the admin panel", "the mail queue",
)  # fmt: skip
DID: Final = (
    "was rewritten to use", "failed because of", "now depends on", "was tested with",
    "is documented beside", "was moved behind", "logs through", "retries with", "waits for",
)  # fmt: skip
WITH: Final = (
    "Redis streams", "the old gateway", "OpenTelemetry", "Terraform modules", "S3 buckets",
    "gRPC calls", "Playwright", "Debian images", "Kafka topics", "Vault secrets",
)  # fmt: skip
KINDS: Final = ("fact", "decision", "event", "fact")


def other_memories(many: int) -> list[tuple[str, str]]:
    """Texts that are alike, and a kind each: what fills a project in the phases that follow."""
    chance = random.Random(3)  # noqa: S311  # the same in every run
    every = [f"{what} {did} {use}" for what in WHAT for did in DID for use in WITH]
    texts = chance.sample(every, many)
    return [
        (f"On day {n} {text}, ticket {n * 13 + 7}.", chance.choice(KINDS))
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    "later",
    [pytest.param(False, marks=pytest.mark.nightly, id="one phase"),
     pytest.param(True, id="phases after it")],
)  # fmt: skip
async def test_all_that_was_decided_in_a_phase_comes_first_among_hundreds(
    settings: Settings, *, later: bool
) -> None:
    """The question that a closeout is written for, in both its wordings."""
    async with agent(settings, "auto") as client:
        await call(
            client, "checkpoint", summary="Research finished", phase=1,
            decisions=[{"text": "Ten office managers were interviewed", "rationale": "they buy"}],
        )  # fmt: skip
        await call(
            client, "checkpoint", summary="The architecture stands", phase=2,
            decisions=[{"text": text, "rationale": why} for text, why in DESIGN],
            issues=["Nobody load-tested the import"], artifacts=["docs/adr-001.md"],
            agents=["architect: drew the design"],
        )  # fmt: skip
        for text, kind in other_memories(depth(100, 330)):
            await add(client, text, kind=kind)
        for number in (3, 4, 5) if later else ():
            await call(
                client, "checkpoint", summary=f"Phase {number} done", phase=number,
                decisions=[{"text": f"Phase {number} decision: use library L{number}{n}",
                            "rationale": f"it was quicker in trial {n}"} for n in range(10)],
            )  # fmt: skip
        found = [
            await recalled(client, question)
            for question in (
                "What was decided in phase 2?",
                "what did we decide in phase 2",
                "which decisions were made in phase 2?",
            )
        ]
        why = await recalled(client, "why did we choose that architecture?")

    wanted = {f"{text}\nReason: {reason}" for text, reason in DESIGN}
    for hits in found:
        assert set(hits[:3]) == wanted
    # no decision says "architecture": what does was written in one step with the decisions
    assert any(text.startswith("Modular monolith") for text in why[:5])


async def test_what_was_decided_in_a_phase_and_why_is_found_by_asking(
    settings: Settings, era: Era
) -> None:
    """The point of it all, among more than sixty other memories, by words alone."""
    async with agent(settings, era) as client:
        for number, (facts, decisions, issues) in PHASES.items():
            for fact in facts:
                await add(client, fact, phase=number)
            await call(
                client, "checkpoint", summary=f"Part {number} is done", phase=number,
                decisions=[{"text": text, "rationale": why} for text, why in decisions],
                issues=list(issues), artifacts=["src/app.py"], agents=["architect", "coder"],
            )  # fmt: skip
        found = await call(
            client, "search_memories", query="what was decided in phase 2?", limit=10
        )
        why = await recalled(client, "why did we choose that architecture?")
        open_ = await recalled(client, "which issues of phase 2 are open?")

    of_phase = {f"{text}\nReason: {reason}" for text, reason in PHASES[2][1]}
    kinds = [(r["metadata"].get("phase"), r["content"]) for r in found["results"]]
    first_other = next((at for at, (n, _) in enumerate(kinds) if n != 2), len(kinds))
    assert of_phase <= {content for _, content in kinds[:first_other]}
    assert any(text.startswith("We build a hexagonal architecture") for text in why[:3])
    assert "Reason: the portals change their protocols twice a year" in " ".join(why[:3])
    assert set(open_[:3]) >= set(PHASES[2][2])


async def test_a_phase_that_nobody_recorded_is_looked_for_by_its_words(
    settings: Settings, era: Era
) -> None:
    """Phase 2 may be one of a clinical trial: then "phase" and "2" are words like any others."""
    async with agent(settings, era) as client:
        for number in (1, 2, 3):
            await add(client, f"Phase {number} of the trial had {number * 40} patients.")
        found = await recalled(client, "how many patients were in phase 2?")

    assert found[0] == "Phase 2 of the trial had 80 patients."


async def test_a_phase_is_preferred_and_nothing_is_left_out(settings: Settings, era: Era) -> None:
    """A memory of another phase that is meant more plainly is still found."""
    async with agent(settings, era) as client:
        await add(client, "The login takes 90 ms.", phase=1)
        await add(client, "The checkout takes 300 ms.", phase=2)
        found = await recalled(client, "how long does the login take since phase 2")
        plainly = await recalled(client, "login takes ms")

    assert set(found) == {"The checkout takes 300 ms.", "The login takes 90 ms."}
    assert plainly[0] == "The login takes 90 ms."
