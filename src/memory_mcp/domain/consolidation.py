"""What a session hands on: what happened, what is true now, and what was learnt."""

from dataclasses import dataclass

from memory_mcp.domain.record import Record

__all__ = ["Consolidated", "Consolidation", "ToConsolidate"]


@dataclass(frozen=True)
class ToConsolidate:
    """A consolidation as proposed. `session` names whose it is; empty: this session's.

    `final` says that the session ends with it.
    """

    history_entry: str = ""
    memory_update: str = ""
    insights: tuple[str, ...] = ()
    session: str = ""
    final: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write: then it only asks for the latest one."""
        return not (self.history_entry or self.memory_update or self.insights)


@dataclass(frozen=True)
class Consolidation:
    """What a session handed on last, as far as it is visible."""

    session: str
    final: bool = False
    summary: Record | None = None
    insights: Record | None = None


@dataclass(frozen=True)
class Consolidated:
    """All of it is durable. Without `written` records nothing was new.

    `due_turns` is after how many turns the next one is due; 0: never. `latest` is the newest one
    that is visible, of any session; `asked` says that this was all that was wanted, and
    `nothing` that there was nothing of the session to make final.
    """

    session: str
    written: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()
    latest: Consolidation | None = None
    due_turns: int = 0
    asked: bool = False
    nothing: bool = False
