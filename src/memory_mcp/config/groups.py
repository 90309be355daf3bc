"""Settings that belong together: from what was given to the value that a room is handed.

`settings` names every one of them, and is the only module that reads the environment.
"""

from dataclasses import dataclass
from typing import Final, Literal, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from memory_mcp.config import values
from memory_mcp.config.values import Given
from memory_mcp.domain.episodes import Pace
from memory_mcp.domain.limits import (
    CANDIDATES_MAX,
    CONTEXT_TOKENS_MAX,
    CONTEXT_TOKENS_MIN,
    IMPORTANCE_MAX,
    IMPORTANCE_MIN,
    RESULTS_MAX,
)
from memory_mcp.domain.merging import MergeMode, Merging
from memory_mcp.domain.opening import OpeningSettings
from memory_mcp.errors import SettingError

EmbedderName = Literal["auto", "none", "minilm", "openai", "ollama"]
_EMBEDDERS: Final[tuple[EmbedderName, ...]] = ("auto", "none", "minilm", "openai", "ollama")
_OPENAI: Final = "https://api.openai.com/v1"
_OLLAMA: Final = "http://127.0.0.1:11434"
_DAYS_MAX: Final = 36_500
_TURNS_MAX: Final = 1_000
_MINUTES_MAX: Final = 10_080
_HOURS_MAX: Final = 168
"""A week: what lies further back is no longer the same matter."""


@dataclass(frozen=True)
class EmbedderSettings:
    """What turns text into vectors; where it is and how it is asked, if it is a server."""

    name: EmbedderName = "auto"
    url: str = ""
    model: str = ""
    api_key: SecretStr | None = None


@dataclass(frozen=True)
class LanguageSettings:
    """The language model that judges and composes: a chat endpoint, a model there, a key for it."""

    url: str
    model: str
    api_key: SecretStr | None = None


def embedder(given: Given) -> EmbedderSettings:
    """What recalls by meaning."""
    name = cast("EmbedderName", values.choice(given, "MEMORY_EMBEDDER", _EMBEDDERS, "auto"))
    model = values.text(given, "MEMORY_EMBEDDER_MODEL")
    key = values.key_in("MEMORY_EMBEDDER_API_KEY", values.text(given, "MEMORY_EMBEDDER_API_KEY"))
    url = given.get("MEMORY_EMBEDDER_URL")
    match name:
        case "none":
            return EmbedderSettings(name)
        case "auto" | "minilm":
            for setting in ("URL", "MODEL", "API_KEY"):
                if found := given.get(f"MEMORY_EMBEDDER_{setting}"):
                    why = f"openai or ollama, because {found.name} is set (or none)"
                    raise SettingError("MEMORY_EMBEDDER", name, why)
            return EmbedderSettings(name)
        case "openai":
            if key is None and url is None:
                raise SettingError("MEMORY_EMBEDDER_API_KEY", "", f"a key for {_OPENAI}")
            where = values.endpoint(url, _OPENAI)
            return EmbedderSettings(name, where, model or "text-embedding-3-small", key)
        case "ollama":
            if not model:
                what = "the name of an embedding model that your Ollama has (`ollama list`)"
                raise SettingError("MEMORY_EMBEDDER_MODEL", "", what)
            return EmbedderSettings(
                name, values.endpoint(url, _OLLAMA, private=key is None), model, key
            )


def language(given: Given) -> LanguageSettings | None:
    """The language model, if one was chosen. Its name is all that must be said."""
    model = values.text(given, "MEMORY_LLM_MODEL")
    key = values.key_in("MEMORY_LLM_API_KEY", values.text(given, "MEMORY_LLM_API_KEY"))
    url = given.get("MEMORY_LLM_BASE_URL")
    if not model:
        for setting in ("BASE_URL", "API_KEY"):
            if found := given.get(f"MEMORY_LLM_{setting}"):
                what = f"the name of a chat model, because {found.name} is set"
                raise SettingError("MEMORY_LLM_MODEL", "", what)
        return None
    if key is None and url is None:
        raise SettingError("MEMORY_LLM_API_KEY", "", f"a key for {_OPENAI}")
    return LanguageSettings(values.endpoint(url, _OPENAI, private=key is None), model, key)


def merging(given: Given) -> Merging:
    """When two memories are one fact."""
    usual = Merging()
    check_low = values.share(given, "MEMORY_MERGE_CHECK_LOW", usual.check_low)
    auto_update = values.share(given, "MEMORY_MERGE_AUTO_UPDATE", usual.auto_update)
    fallback_low = values.share(given, "MEMORY_MERGE_FALLBACK_LOW", usual.fallback_low)
    _in_order(given, ("FALLBACK_LOW", fallback_low), ("CHECK_LOW", check_low))
    _in_order(given, ("CHECK_LOW", check_low), ("AUTO_UPDATE", auto_update))
    fallback = values.flag(
        given, "MEMORY_MERGE_FALLBACK_ENABLED", "true or false", default=usual.fallback_enabled
    )
    categories = values.names(given, "MEMORY_MERGE_FALLBACK_CATEGORIES")
    mode = values.choice(given, "MEMORY_MERGE_MODE", ("recreate", "update"), usual.mode)
    return Merging(
        topk=values.whole(given, "MEMORY_MERGE_TOPK", usual.topk, 0, RESULTS_MAX),
        auto_update=auto_update,
        check_low=check_low,
        fallback_enabled=fallback,
        fallback_low=fallback_low,
        fallback_topk=values.whole(
            given, "MEMORY_MERGE_FALLBACK_TOPK", usual.fallback_topk, 0, RESULTS_MAX
        ),
        fallback_recency_days=values.whole(
            given, "MEMORY_MERGE_FALLBACK_RECENCY_DAYS", usual.fallback_recency_days, 0, _DAYS_MAX
        ),
        fallback_categories=categories or usual.fallback_categories,
        mode=cast("MergeMode", mode),
        min_importance=values.whole(
            given,
            "MEMORY_SEMANTIC_MIN_IMPORTANCE",
            usual.min_importance,
            IMPORTANCE_MIN,
            IMPORTANCE_MAX,
        ),
    )


def nudge_queue(given: Given) -> str:
    """The address of the queue that nudges come from, if it is not a folder."""
    address = given.get("MEMORY_NUDGE_QUEUE")
    url = values.endpoint(address, "")
    if address is not None and not urlsplit(url).path:
        what = "the URL of a queue, like https://sqs.eu-west-1.amazonaws.com/123456789012/nudges"
        raise SettingError(address.name, None, what)
    return url


def _in_order(given: Given, low: tuple[str, float], high: tuple[str, float]) -> None:
    """A band must not stand upside down; the setting that was given is named."""
    if low[1] <= high[1]:
        return
    names = [f"MEMORY_MERGE_{name}" for name, _ in (low, high)]
    if names[0] in given:
        raise SettingError(*given[names[0]], f"at most {names[1]} ({high[1]:g})")
    raise SettingError(*given[names[1]], f"at least {names[0]} ({low[1]:g})")


def opening(given: Given) -> OpeningSettings:
    """How much opens a session or goes with a task."""
    usual = OpeningSettings()
    return OpeningSettings(
        bootstrap_tokens=values.whole(
            given,
            "MEMORY_BOOTSTRAP_TOKENS",
            usual.bootstrap_tokens,
            CONTEXT_TOKENS_MIN,
            CONTEXT_TOKENS_MAX,
        ),
        topk=values.whole(given, "MEMORY_CONTEXT_TOPK", usual.topk, 1, CANDIDATES_MAX),
        topn=values.whole(given, "MEMORY_CONTEXT_TOPN", usual.topn, 1, CANDIDATES_MAX),
        interval=values.whole(given, "MEMORY_CHECKPOINT_INTERVAL", usual.interval, 0, _TURNS_MAX),
    )


def pace(given: Given) -> Pace:
    """How often a session leaves an episode."""
    usual = Pace()
    return Pace(
        window=values.whole(given, "EPISODIC_WINDOW_N", usual.window, 1, _TURNS_MAX),
        cooldown_turns=values.whole(
            given, "EPISODIC_COOLDOWN_TURNS", usual.cooldown_turns, 0, _TURNS_MAX
        ),
        cooldown_minutes=values.whole(
            given, "EPISODIC_COOLDOWN_MINUTES", usual.cooldown_minutes, 0, _MINUTES_MAX
        ),
        per_day=values.whole(given, "EPISODIC_MAX_PER_DAY", usual.per_day, 0, _TURNS_MAX),
        merge_hours=values.figure(
            given, "EPISODIC_MERGE_WINDOW_HOURS", usual.merge_hours, 0, _HOURS_MAX
        ),
        novelty_min=values.share(given, "EPISODIC_NOVELTY_MIN", usual.novelty_min),
    )
