"""How much opens a session or goes with a task, and how often a session is asked to sum up."""

from dataclasses import dataclass

from memory_mcp.domain.limits import CONTEXT_TOKENS_DEFAULT

__all__ = ["OpeningSettings"]


@dataclass(frozen=True)
class OpeningSettings:
    """A session opens within `bootstrap_tokens` (characters / 4).

    For a task `topk` candidates are ranked and at most `topn` of them shown. Every `interval`
    turns a session is reminded to consolidate; 0: never.
    """

    bootstrap_tokens: int = CONTEXT_TOKENS_DEFAULT
    topk: int = 40
    topn: int = 10
    interval: int = 10
