"""The base of forms that a model, a client or a person fills in."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from memory_mcp.domain.json_input import drop_nulls


class InputForm(BaseModel):
    """Base of every form that a model, a client or a person fills in: null means absent."""

    model_config = ConfigDict(defer_build=True)  # until the first is filled in

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        return drop_nulls(value)
