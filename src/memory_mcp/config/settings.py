"""Every setting in one table. No other module reads the environment.

A row names the variable, the field of `Settings` that it fills, its parser, and the fallback while
its value is wrong. The defaults stand in `Settings` and the values in it; what each setting is for
stands in the README, which is checked against the table.
"""

import getpass
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from platformdirs import user_data_path
from pydantic import SecretStr

from memory_mcp.config import values as v
from memory_mcp.config.values import EnvironmentVariable, Parser
from memory_mcp.domain.deduplication import MergeMode, MergePolicy, SecretPolicy
from memory_mcp.domain.limits import (
    CANDIDATES_MAX,
    CONTEXT_TOKENS_MAX,
    CONTEXT_TOKENS_MIN,
    IMPORTANCE_MAX,
    IMPORTANCE_MIN,
    REMOTE_SEARCH_SECONDS_DEFAULT,
    REMOTE_SEARCH_SECONDS_MAX,
    RESULTS_MAX,
)
from memory_mcp.domain.search import RerankWeights
from memory_mcp.domain.sessions import ContextSettings, EpisodeSettings
from memory_mcp.errors import SettingError
from memory_mcp.frozen import frozen
from memory_mcp.locations import find_state_home

CLIENT_VARIABLES: Final = ("CLAUDE_CONFIG_DIR", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME")
"""Variables that say where clients keep their configuration; they are no settings."""

TOOLSETS: Final = ("branches", "session", "hooks")

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Provider = Literal["auto", "local", "supermemory"]
EmbedderName = Literal["auto", "none", "minilm", "openai", "ollama"]
Variables = Mapping[str, EnvironmentVariable]
"""The variables that are set, each by the name of its setting."""

_OPENAI: Final = "https://api.openai.com/v1"
_OLLAMA: Final = "http://127.0.0.1:11434"
_DAYS_MAX: Final = 36_500
_TURNS_MAX: Final = 1_000
_MINUTES_MAX: Final = 10_080
_HOURS_MAX: Final = 168
"""A week: what is older is about another matter."""

_SIMILARITY_MIN: Final = 0.75
"""A variable whose name is so similar to a setting's is taken for a misspelt one."""
_OWN_SIMILARITY_MIN: Final = 0.54
"""The same for the part behind `MEMORY_` and its like, with which variables of others begin too."""


@frozen
class EmbedderSettings:
    """The embedder; and its address, model and key, if it is a server."""

    name: EmbedderName = "auto"
    url: str = ""
    model: str = ""
    api_key: SecretStr | None = None


@frozen
class LanguageSettings:
    """The language model that judges and composes: a chat endpoint, a model there, a key for it."""

    url: str
    model: str
    api_key: SecretStr | None = None


@frozen
class Settings:
    """The settings of this process. Folders that are None follow from the project or the system.

    - `lost`: a wrong setting leaves open where the memory is, so it is only read.
    - `project_missing`: the project was named and is not there; no other takes its place.
    - `cloud_off`: the wrong setting because of which nothing is sent to the cloud.
    - `warnings`: what is wrong with single settings, what applies instead, and what to do.
    """

    enabled: bool = True
    meta: bool = False
    lost: bool = False
    phase: int | None = None
    approval: Literal["ask", "auto"] = "ask"
    branch: str = "main"
    project_dir: Path | None = None
    project_missing: bool = False
    state_dir: Path | None = None
    memory_dir: Path | None = None
    home: Path | None = None
    user: str = "default"
    toolsets: tuple[str, ...] = ()
    log_level: LogLevel = "WARNING"
    session: str = ""
    provider: Provider = "auto"
    cloud_off: str = ""
    api_key: SecretStr | None = None
    base_url: str = "https://api.supermemory.ai"
    container_tag: str = ""
    remote_timeout: float = REMOTE_SEARCH_SECONDS_DEFAULT
    extraction: bool = False
    weights: RerankWeights = RerankWeights()  # frozen
    embedder: EmbedderSettings = EmbedderSettings()
    secrets: SecretPolicy = "redact"
    merging: MergePolicy = MergePolicy()
    language: LanguageSettings | None = None
    episode_settings: EpisodeSettings = EpisodeSettings()
    nudge_queue: str = ""
    opening: ContextSettings = ContextSettings()
    warnings: tuple[str, ...] = ()


@frozen
class SettingFallback:
    """What applies while a value is wrong, and the sentence that says so.

    Where the default could do harm, something safer applies: what is stored, sent or done against
    the user's will cannot be taken back.
    """

    message: str
    fields: Mapping[str, Any] | None = None
    cloud_off: bool = False


READ_ONLY: Final = "Until then nothing is written, so that nothing lands in the wrong place."

_DEFAULT: Final = SettingFallback("Until then it counts as not set.")
_OFF: Final = SettingFallback(
    "Until then memory is off, because it may be meant so.", {"enabled": False}
)
_META: Final = SettingFallback(
    "Until then nothing is written (meta), as it may be meant so.", {"meta": True}
)
_ASK: Final = SettingFallback("Until then the user is asked.", {"approval": "ask"})
_REFUSE: Final = SettingFallback(
    "Until then a text with a secret is refused.", {"secrets": "refuse"}
)
_LOST: Final = SettingFallback(READ_ONLY, {"meta": True, "lost": True})
_NO_PROJECT: Final = SettingFallback(
    READ_ONLY, {"meta": True, "lost": True, "project_missing": True, "project_dir": None}
)
_LOCAL: Final = SettingFallback(
    "Until then nothing is sent to the cloud: the memory works on this machine alone.",
    cloud_off=True,
)


@frozen
class Setting:
    """One row of the table.

    `field` is a field of `Settings`, or `group.field`. Settings that are read together by a
    function have no parser. Of two rows for one field the first that is set counts.
    `leads_elsewhere`: ignored because misspelt, it would send memories to the wrong place.
    """

    name: str
    field: str
    parse: Parser | None
    fallback: SettingFallback = _DEFAULT
    leads_elsewhere: bool = False


def _parse_meta(variable: EnvironmentVariable) -> bool:
    return v.parse_choice("normal", "meta")(variable) == "meta"


def _parse_cloud_key(variable: EnvironmentVariable) -> SecretStr | None:
    return v.parse_key(variable.name, variable.value)


_TABLE: Final = (
    Setting("MEMORY_ENABLED", "enabled", v.parse_flag("true or false"), _OFF),
    Setting("MEMORY_MODE", "meta", _parse_meta, _META),
    Setting("MEMORY_PHASE", "phase", v.parse_phase),
    Setting("ATOMIC_PHASE", "phase", v.parse_phase),
    Setting("MEMORY_APPROVAL", "approval", v.parse_choice("ask", "auto"), _ASK),
    Setting("MEMORY_BRANCH", "branch", v.parse_branch, _LOST),
    Setting("MEMORY_PROJECT_DIR", "project_dir", v.parse_existing_folder, _NO_PROJECT),
    Setting("CLAUDE_PROJECT_DIR", "project_dir", v.parse_folder, _NO_PROJECT),
    Setting("MEMORY_STATE_DIR", "state_dir", v.parse_own_folder, _LOST),
    Setting("MEMORY_DIR", "memory_dir", v.parse_own_folder, _LOST),
    Setting("MEMORY_HOME", "home", v.parse_own_folder, _LOST),
    Setting("MEMORY_USER", "user", v.parse_text),
    Setting("MEMORY_TOOLSETS", "toolsets", v.parse_choices(*TOOLSETS)),
    Setting("MEMORY_LOG_LEVEL", "log_level", v.parse_choice(*get_args(LogLevel))),
    Setting("CLAUDE_CODE_SESSION_ID", "session", v.parse_text),
    Setting("MEMORY_PROVIDER", "provider",
            v.parse_choice(*get_args(Provider)), _LOCAL, leads_elsewhere=True),
    Setting("SUPERMEMORY_API_KEY", "api_key", _parse_cloud_key, _LOCAL),
    Setting("SUPERMEMORY_BASE_URL", "base_url", v.parse_origin, _LOCAL, leads_elsewhere=True),
    Setting("SUPERMEMORY_CONTAINER_TAG", "container_tag",
            v.parse_container, _LOCAL, leads_elsewhere=True),
    Setting("SUPERMEMORY_TIMEOUT", "remote_timeout",
            v.parse_seconds(REMOTE_SEARCH_SECONDS_MAX), _LOCAL),
    Setting("SUPERMEMORY_EXTRACTION", "extraction", v.parse_flag("on or off"), _LOCAL),
    Setting("MEMORY_RERANK_WEIGHTS", "weights", v.parse_weights),
    Setting("MEMORY_BOOTSTRAP_TOKENS", "opening.bootstrap_tokens",
            v.parse_integer(CONTEXT_TOKENS_MIN, CONTEXT_TOKENS_MAX)),
    Setting("MEMORY_CONTEXT_TOPK", "opening.topk", v.parse_integer(1, CANDIDATES_MAX)),
    Setting("MEMORY_CONTEXT_TOPN", "opening.topn", v.parse_integer(1, CANDIDATES_MAX)),
    Setting("MEMORY_CHECKPOINT_INTERVAL", "opening.interval", v.parse_integer(0, _TURNS_MAX)),
    Setting("MEMORY_EMBEDDER", "embedder", None),
    Setting("MEMORY_EMBEDDER_URL", "embedder", None),
    Setting("MEMORY_EMBEDDER_MODEL", "embedder", None),
    Setting("MEMORY_EMBEDDER_API_KEY", "embedder", None),
    Setting("MEMORY_SECRETS", "secrets", v.parse_choice(*get_args(SecretPolicy)), _REFUSE),
    Setting("MEMORY_MERGE_TOPK", "merging.topk", v.parse_integer(0, RESULTS_MAX)),
    Setting("MEMORY_MERGE_AUTO_UPDATE", "merging.auto_update", v.parse_number(0, 1)),
    Setting("MEMORY_MERGE_CHECK_LOW", "merging.check_low", v.parse_number(0, 1)),
    Setting("MEMORY_MERGE_FALLBACK_ENABLED", "merging.fallback_enabled",
            v.parse_flag("true or false")),
    Setting("MEMORY_MERGE_FALLBACK_LOW", "merging.fallback_low", v.parse_number(0, 1)),
    Setting("MEMORY_MERGE_FALLBACK_TOPK", "merging.fallback_topk", v.parse_integer(0, RESULTS_MAX)),
    Setting("MEMORY_MERGE_FALLBACK_RECENCY_DAYS", "merging.fallback_recency_days",
            v.parse_integer(0, _DAYS_MAX)),
    Setting("MEMORY_MERGE_FALLBACK_CATEGORIES", "merging.fallback_categories", v.parse_names),
    Setting("MEMORY_MERGE_MODE", "merging.mode", v.parse_choice(*get_args(MergeMode))),
    Setting("MEMORY_SEMANTIC_MIN_IMPORTANCE", "merging.min_importance",
            v.parse_integer(IMPORTANCE_MIN, IMPORTANCE_MAX)),
    Setting("MEMORY_LLM_BASE_URL", "language", None),
    Setting("MEMORY_LLM_MODEL", "language", None),
    Setting("MEMORY_LLM_API_KEY", "language", None),
    Setting("EPISODIC_WINDOW_N", "episode_settings.window", v.parse_integer(1, _TURNS_MAX)),
    Setting("EPISODIC_COOLDOWN_TURNS", "episode_settings.cooldown_turns",
            v.parse_integer(0, _TURNS_MAX)),
    Setting("EPISODIC_COOLDOWN_MINUTES", "episode_settings.cooldown_minutes",
            v.parse_integer(0, _MINUTES_MAX)),
    Setting("EPISODIC_MAX_PER_DAY", "episode_settings.per_day", v.parse_integer(0, _TURNS_MAX)),
    Setting("EPISODIC_MERGE_WINDOW_HOURS", "episode_settings.merge_hours",
            v.parse_number(0, _HOURS_MAX)),
    Setting("EPISODIC_NOVELTY_MIN", "episode_settings.novelty_min", v.parse_number(0, 1)),
    Setting("MEMORY_NUDGE_QUEUE", "nudge_queue", v.parse_queue),
)  # fmt: skip

SETTINGS: Final[Mapping[str, Setting]] = {row.name: row for row in _TABLE}
"""Every setting by its name. Each `MEMORY_X` is also read from `ATOMIC_MEMORY_X`."""

_TOGETHER: Final = ("MEMORY_EMBEDDER", "MEMORY_LLM")
"""Prefixes of settings that are read together: a wrong one makes all of them wrong."""

_PREFIXES: Final = ("MEMORY_", "ATOMIC_MEMORY_", "EPISODIC_", "SUPERMEMORY_")


def read_settings(
    environment: Mapping[str, str] | None = None, overrides: Mapping[str, str] | None = None
) -> Settings:
    """The settings of this process. A wrong one falls back by itself, and leaves a warning."""
    environment = {**(os.environ if environment is None else environment), **(overrides or {})}
    warnings: list[str] = []
    fields: dict[str, Any] = {}
    skip: set[str] = set()
    while True:
        variables = _select_variables(environment, skip)
        try:
            settings = _read_all(variables)
        except SettingError as error:
            wrong = _find_wrong(error, variables)
            fallback = SETTINGS[wrong[0]].fallback
            warnings.append(f"{error} {fallback.message}")
            fields |= fallback.fields or {}
            if fallback.cloud_off:
                fields["cloud_off"] = wrong[0]
            skip.update(wrong)
        else:
            break
    settings = replace(settings, **fields)
    if settings.enabled or warnings:
        for name, guess in _find_misspelt(environment):
            hint = f"{name} is no setting. Did you mean {guess}?"
            meant = guess.removeprefix("ATOMIC_")
            if meant in SETTINGS and SETTINGS[meant].leads_elsewhere and meant not in variables:
                settings = replace(settings, cloud_off=settings.cloud_off or name)
                warnings.append(f"{hint} Correct or remove it and start again. {_LOCAL.message}")
            else:
                warnings.append(f"{hint} It is ignored.")
    return replace(settings, warnings=tuple(warnings))


def parse_settings(environment: Mapping[str, str]) -> Settings:
    """The settings of these variables.

    Raises:
        SettingError: a value is wrong; the message names the setting and the choices.
    """
    return _read_all(_select_variables(environment))


def _find_wrong(error: SettingError, variables: Variables) -> list[str]:
    """The settings that an error is about, the one it names first."""
    named = [name for name, variable in variables.items() if error.name in (name, variable.name)]
    for prefix in _TOGETHER:
        if error.name.removeprefix("ATOMIC_").startswith(prefix):
            named += [name for name in variables if name.startswith(prefix)]
    if not named:
        raise error
    return named


def _find_misspelt(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each variable that is almost a setting, with that setting: by itself it does nothing."""
    ours = [*SETTINGS, *(f"ATOMIC_{name}" for name in SETTINGS if name.startswith("MEMORY_"))]
    for name in sorted(environment):
        if name.startswith(_PREFIXES) and name not in ours and environment[name].strip():
            for guess in get_close_matches(name, ours, n=1, cutoff=_SIMILARITY_MIN):
                own = SequenceMatcher(None, _drop_prefix(name), _drop_prefix(guess))
                if own.ratio() >= _OWN_SIMILARITY_MIN:
                    yield name, guess


def _drop_prefix(name: str) -> str:
    """The name without its prefix."""
    return name.removeprefix("ATOMIC_").partition("_")[2]


def _select_variables(environment: Mapping[str, str], skip: Collection[str] = ()) -> Variables:
    """The variables that are set, without those to skip."""
    variables: dict[str, EnvironmentVariable] = {}
    project = ""
    if "CLAUDE_PROJECT_DIR" not in skip:
        project = environment.get("CLAUDE_PROJECT_DIR", "").strip()
    for setting in SETTINGS:
        own = "" if setting == "CLAUDE_PROJECT_DIR" else project
        names = [setting, f"ATOMIC_{setting}"] if setting.startswith("MEMORY_") else [setting]
        for name in reversed(names):  # the setting's own name has the last word
            value = environment.get(name, "").strip()
            if value and setting not in skip:
                variables[setting] = EnvironmentVariable(name, value, own)
    return variables


def _read_all(variables: Variables) -> Settings:
    """The settings of these variables, with the default of every other one.

    Raises:
        SettingError: a value is wrong.
    """
    fields: dict[str, object] = {}
    for row in _TABLE:
        if row.parse and row.name in variables and row.field not in fields:
            fields[row.field] = row.parse(variables[row.name])
            if fields == {"enabled": False}:
                return Settings(enabled=False)
    own: dict[str, Any] = {"user": _find_login()}
    groups: dict[str, dict[str, Any]] = {}
    for path, value in fields.items():
        group, _, field = path.rpartition(".")
        if value != ():  # a list of nothing is not set
            (groups.setdefault(group, {}) if group else own)[field] = value
    for group, changed in groups.items():
        own[group] = replace(getattr(Settings, group), **changed)
    found = Settings(embedder=_read_embedder(variables), language=_read_language(variables), **own)
    _require_order(found.merging, variables)
    return found


def _read_embedder(variables: Variables) -> EmbedderSettings:
    """The embedder that was chosen."""
    chosen = variables.get("MEMORY_EMBEDDER", EnvironmentVariable("MEMORY_EMBEDDER", "auto"))
    name = cast("EmbedderName", v.parse_choice(*get_args(EmbedderName))(chosen))
    model = _value(variables, "MEMORY_EMBEDDER_MODEL")
    api_key = v.parse_key("MEMORY_EMBEDDER_API_KEY", _value(variables, "MEMORY_EMBEDDER_API_KEY"))
    url = variables.get("MEMORY_EMBEDDER_URL")
    match name:
        case "none":
            return EmbedderSettings(name)
        case "auto" | "minilm":
            for setting in ("URL", "MODEL", "API_KEY"):
                if found := variables.get(f"MEMORY_EMBEDDER_{setting}"):
                    why = f"openai or ollama, because {found.name} is set (or none)"
                    raise SettingError("MEMORY_EMBEDDER", name, why)
            return EmbedderSettings(name)
        case "openai":
            if api_key is None and url is None:
                raise SettingError("MEMORY_EMBEDDER_API_KEY", "", f"a key for {_OPENAI}")
            where = v.parse_endpoint(url, _OPENAI)
            return EmbedderSettings(name, where, model or "text-embedding-3-small", api_key)
        case "ollama":
            if not model:
                what = "the name of an embedding model that your Ollama has (`ollama list`)"
                raise SettingError("MEMORY_EMBEDDER_MODEL", "", what)
            where = v.parse_endpoint(url, _OLLAMA, private=api_key is None)
            return EmbedderSettings(name, where, model, api_key)


def _read_language(variables: Variables) -> LanguageSettings | None:
    """The language model, if one was chosen. Only its name must be set."""
    model = _value(variables, "MEMORY_LLM_MODEL")
    api_key = v.parse_key("MEMORY_LLM_API_KEY", _value(variables, "MEMORY_LLM_API_KEY"))
    url = variables.get("MEMORY_LLM_BASE_URL")
    if not model:
        for setting in ("BASE_URL", "API_KEY"):
            if found := variables.get(f"MEMORY_LLM_{setting}"):
                what = f"the name of a chat model, because {found.name} is set"
                raise SettingError("MEMORY_LLM_MODEL", "", what)
        return None
    if api_key is None and url is None:
        raise SettingError("MEMORY_LLM_API_KEY", "", f"a key for {_OPENAI}")
    return LanguageSettings(v.parse_endpoint(url, _OPENAI, private=api_key is None), model, api_key)


def _value(variables: Variables, setting: str) -> str:
    return variables[setting].value if setting in variables else ""


def _require_order(merging: MergePolicy, variables: Variables) -> None:
    """Refuse thresholds in the wrong order; the error names the one that was set."""
    levels = (
        ("FALLBACK_LOW", merging.fallback_low),
        ("CHECK_LOW", merging.check_low),
        ("AUTO_UPDATE", merging.auto_update),
    )
    for (low, least), (high, most) in pairwise(levels):
        if least > most:
            lower, upper = f"MEMORY_MERGE_{low}", f"MEMORY_MERGE_{high}"
            if lower in variables:
                raise variables[lower].error(f"at most {upper} ({most:g})")
            raise variables[upper].error(f"at least {lower} ({least:g})")


def read_client_variables(environment: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """The variables that say where clients keep their configuration."""
    variables = os.environ if environment is None else environment
    return {name: variables[name] for name in CLIENT_VARIABLES if variables.get(name)}


def find_home_folder(settings: Settings) -> Path:
    """The folder of what belongs to the user rather than to a project."""
    return settings.home or user_data_path("memory-mcp", appauthor=False)


def find_machine_home(settings: Settings) -> str:
    """The folder of what only this machine may write about projects."""
    return find_state_home(os.environ, str(settings.home or ""))


def add_toolsets(settings: Settings, names: str) -> Settings:
    """The settings with these toolsets (separated by commas) added.

    Raises:
        SettingError: a toolset that does not exist.
    """
    more = v.parse_choices(*TOOLSETS)(EnvironmentVariable("--toolsets", names))
    return replace(settings, toolsets=tuple(dict.fromkeys((*settings.toolsets, *more))))


def _find_login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no login name in a container or service
        return "default"
