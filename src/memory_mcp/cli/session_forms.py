"""The JSON that the commands around a session read. It is parsed by pydantic, which few need."""

from typing import Annotated, Final

from pydantic import BeforeValidator, ConfigDict, TypeAdapter

from memory_mcp.domain.input_form import InputForm
from memory_mcp.domain.json_input import drop_nulls, keep_spoken_messages
from memory_mcp.domain.sessions import Turn

TURNS: Final = TypeAdapter(
    Annotated[list[Turn], BeforeValidator(lambda turns: keep_spoken_messages(drop_nulls(turns)))]
)


class ConsolidationForm(InputForm):
    """What a session hands on, as the tool takes it."""

    model_config = ConfigDict(extra="forbid")

    history_entry: str = ""
    memory_update: str = ""
    insights: str | list[str] = ""
    session_id: str = ""
    final: bool = False
