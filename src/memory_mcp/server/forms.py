"""The forms that a model fills in through a tool and a person through the command line.

The command line reads them too, so this module imports nothing of the MCP SDK.
"""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from memory_mcp.domain.input_form import InputForm
from memory_mcp.domain.outcomes import Closeout, ClosingDecision

SEVERAL: Final = BeforeValidator(lambda value: [value] if isinstance(value, str | dict) else value)
"""A list of which a single item may stand alone."""


class DecisionForm(InputForm):
    """One thing that was decided. Its text alone is one as well."""

    model_config = ConfigDict(extra="forbid")

    text: str
    rationale: str = ""

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_text(cls, value: object) -> object:
        return {"text": value} if isinstance(value, str) else value


class CloseoutForm(InputForm):
    """What is written with a checkpoint."""

    model_config = ConfigDict(extra="forbid")

    decisions: Annotated[list[DecisionForm], SEVERAL] = Field(default_factory=list[DecisionForm])
    artifacts: Annotated[list[str], SEVERAL] = Field(default_factory=list[str])
    issues: Annotated[list[str], SEVERAL] = Field(default_factory=list[str])
    agents: Annotated[list[str], SEVERAL] = Field(default_factory=list[str])


def make_closeout(
    decisions: Sequence[DecisionForm],
    artifacts: Sequence[str],
    issues: Sequence[str],
    agents: Sequence[str],
) -> Closeout:
    """Make the closeout of a checkpoint from the parts of its form."""
    return Closeout(
        decisions=tuple(ClosingDecision(each.text, each.rationale) for each in decisions),
        artifacts=tuple(artifacts),
        issues=tuple(issues),
        agents=tuple(agents),
    )
