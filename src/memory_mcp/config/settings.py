"""Every setting in one table. No other module reads the environment.

A row names the variable, the field of `Settings` that it fills, its parser, the fallback while its
value is wrong, and the files that may set it. The environment goes before a project's file, and
that before the user's. The defaults stand in `Settings` and the values in it.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from memory_mcp.config import values as v
from memory_mcp.config.values import GivenSetting, Network, Parser
from memory_mcp.config_files import name_key, name_setting
from memory_mcp.domain.captures import CaptureMode
from memory_mcp.domain.deduplication import MergeMode, MergePolicy, SecretPolicy
from memory_mcp.domain.git import GitMode
from memory_mcp.domain.ids import MODEL_NAME
from memory_mcp.domain.limits import (
    CANDIDATES_MAX,
    CONTEXT_TOKENS_MAX,
    CONTEXT_TOKENS_MIN,
    DATABASE_CONNECTIONS_MAX,
    EVENTS_MAX,
    HTTP_DRAIN_SECONDS_DEFAULT,
    HTTP_DRAIN_SECONDS_MAX,
    HTTP_RATE_PER_MINUTE_DEFAULT,
    HTTP_RATE_PER_MINUTE_MAX,
    IMPORTANCE_MAX,
    IMPORTANCE_MIN,
    RECALL_WINDOW_DEFAULT,
    REMOTE_SEARCH_SECONDS_DEFAULT,
    REMOTE_SEARCH_SECONDS_MAX,
    RESULTS_MAX,
)
from memory_mcp.domain.search import RerankWeights
from memory_mcp.domain.secret import Secret
from memory_mcp.domain.sessions import ContextSettings, EpisodeSettings
from memory_mcp.errors import InvalidRequestError, SettingError
from memory_mcp.frozen import frozen
from memory_mcp.locations import find_data_home, find_login, find_state_home

CLIENT_VARIABLES: Final = (
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME",
    "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME",
)  # fmt: skip
"""Variables that say where clients keep their configuration; they are no settings."""

TOOLSETS: Final = ("branches", "session", "layers", "hooks")

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Provider = Literal["auto", "local", "supermemory", "postgres"]
EmbedderName = Literal["auto", "none", "minilm", "local", "openai", "ollama"]
AllGiven = Mapping[str, GivenSetting]
"""What is set, each by the name of its setting."""
Whose = Literal["user", "project"]
"""Whose file of settings it is."""

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
    api_key: Secret | None = None


@frozen
class LanguageSettings:
    """The language model that judges and composes: a chat endpoint, a model there, a key for it."""

    url: str
    model: str
    api_key: Secret | None = None


@frozen
class HttpSettings:
    """How the server is reached over HTTP, and who may enter.

    - `url`: its address for clients, where that is not the one that it is bound to.
    - `issuer`: whose tokens let in beside the server's own; `audience`: whom they must name.
    - `proxies`: what these say of a client's address counts; `pages`: what else may call.
    """

    url: str = ""
    issuer: str = ""
    audience: str = ""
    proxies: tuple[Network, ...] = ()
    pages: tuple[str, ...] = ()
    per_minute: int = HTTP_RATE_PER_MINUTE_DEFAULT
    drain_seconds: float = HTTP_DRAIN_SECONDS_DEFAULT
    log_format: Literal["text", "json"] = "text"


@frozen
class RefusedSetting:
    """A setting whose value is not in force.

    `in_force` is what applies instead, as one would write it; '' is the default. `why` is a
    sentence.
    """

    name: str
    in_force: str
    why: str


@frozen
class Settings:
    """The settings of this process. Folders that are None follow from the project or the system.

    - `off`: why memory is off, if that was not asked for.
    - `lost`: a wrong setting leaves open where the memory is, so it is only read.
    - `project_missing`: the project was named and is not there; no other takes its place.
    - `team`: the team that the user belongs to; `hosted`: they are served over HTTP.
    - `project_name`: what it is called, if neither its remote nor its folder says so.
    - `untrusted`: keys of a project's settings file that the user does not trust as it is now.
    - `cloud_off`: the wrong setting because of which nothing is sent to the cloud.
    - `refused`: the settings whose value is wrong, and those that fall with it.
    - `warnings`: what is wrong with single settings, what applies instead, and what to do.
    """

    enabled: bool = True
    off: str = ""
    meta: bool = False
    lost: bool = False
    phase: int | None = None
    approval: Literal["ask", "auto", "review"] = "ask"
    branch: str = "main"
    project_dir: Path | None = None
    project_missing: bool = False
    project_name: str = ""
    state_dir: Path | None = None
    memory_dir: Path | None = None
    home: Path | None = None
    user: str = "default"
    team: str = ""
    hosted: bool = False
    toolsets: tuple[str, ...] = ()
    recall_window: int = RECALL_WINDOW_DEFAULT
    log_level: LogLevel = "WARNING"
    session: str = ""
    provider: Provider = "auto"
    cloud_off: str = ""
    postgres_url: Secret | None = None
    postgres_away: Literal["refuse", "wait"] = "refuse"
    postgres_connections: int = DATABASE_CONNECTIONS_MAX
    api_key: Secret | None = None
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
    capture: CaptureMode = "suggest"
    opening: ContextSettings = ContextSettings()
    http: HttpSettings = HttpSettings()
    git: GitMode | None = None
    untrusted: tuple[str, ...] = ()
    refused: tuple[RefusedSetting, ...] = ()
    warnings: tuple[str, ...] = ()


@frozen
class SettingFallback:
    """What applies while a value is wrong, and the sentence that says so.

    `in_force` is what one would write for it, if that is not the default.
    Where the default could do harm, something safer applies: what is stored, sent or done against
    the user's will cannot be taken back.
    """

    message: str
    fields: Mapping[str, Any] | None = None
    cloud_off: bool = False
    in_force: str = ""


READ_ONLY: Final = "Until then nothing is written, so that nothing lands in the wrong place."

_DEFAULT: Final = SettingFallback("Until then it counts as not set.")
_OFF: Final = SettingFallback(
    "Until then memory is off, because it may be meant so.", {"enabled": False}, in_force="false"
)
_NO_DATABASE: Final = SettingFallback(
    "Until then memory is off, so that nothing lands elsewhere.", {"enabled": False}
)
_NO_HOME: Final = SettingFallback(
    "Until then memory is off, so that no other home is read or written.", {"enabled": False}
)
_IGNORED: Final = SettingFallback("Until then it sets nothing.")
_META: Final = SettingFallback(
    "Until then nothing is written (meta), as it may be meant so.", {"meta": True}, in_force="meta"
)
_ASK: Final = SettingFallback("Until then the user is asked.", {"approval": "ask"}, in_force="ask")
_REFUSE: Final = SettingFallback(
    "Until then a text with a secret is refused.", {"secrets": "refuse"}, in_force="refuse"
)
_NO_CAPTURE: Final = SettingFallback("Until then nothing is captured.", {"capture": "off"})
_NO_GIT: Final = SettingFallback("Until then git changes nothing.", {"git": "off"}, in_force="off")
_LOST: Final = SettingFallback(READ_ONLY, {"meta": True, "lost": True})
_NO_PROJECT: Final = SettingFallback(
    READ_ONLY, {"meta": True, "lost": True, "project_missing": True, "project_dir": None}
)
_NOT_SERVED: Final = SettingFallback("Until then nothing is served over HTTP.")
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


@frozen
class ConfigFile:
    """A file of settings. `error` says why it could not be read."""

    path: str
    whose: Whose
    values: Mapping[str, str]
    error: str = ""


def _parse_meta(variable: GivenSetting) -> bool:
    return v.parse_choice("normal", "meta")(variable) == "meta"


def _parse_cloud_key(variable: GivenSetting) -> Secret | None:
    return v.parse_key(variable.name, variable.value)


_TABLE: Final = (
    Setting("MEMORY_ENABLED", "enabled", v.parse_flag("true or false"), _OFF),
    Setting("MEMORY_MODE", "meta", _parse_meta, _META),
    Setting("MEMORY_PHASE", "phase", v.parse_phase),
    Setting("ATOMIC_PHASE", "phase", v.parse_phase),
    Setting("MEMORY_APPROVAL", "approval", v.parse_choice("ask", "auto", "review"), _ASK),
    Setting("MEMORY_BRANCH", "branch", v.parse_branch, _LOST),
    Setting("MEMORY_PROJECT_DIR", "project_dir", v.parse_existing_folder, _NO_PROJECT),
    Setting("CLAUDE_PROJECT_DIR", "project_dir", v.parse_folder, _NO_PROJECT),
    Setting("MEMORY_STATE_DIR", "state_dir", v.parse_own_folder, _LOST),
    Setting("MEMORY_DIR", "memory_dir", v.parse_own_folder, _LOST),
    Setting("MEMORY_HOME", "home", v.parse_own_folder, _NO_HOME),
    Setting("MEMORY_USER", "user", v.parse_text),
    Setting("MEMORY_TEAM", "team", v.parse_text),
    Setting("MEMORY_TOOLSETS", "toolsets", v.parse_choices(*TOOLSETS)),
    Setting("MEMORY_LOG_LEVEL", "log_level", v.parse_choice(*get_args(LogLevel))),
    Setting("CLAUDE_CODE_SESSION_ID", "session", v.parse_text),
    Setting("MEMORY_PROVIDER", "provider",
            v.parse_choice(*get_args(Provider)), replace(_LOCAL, in_force="local"),
            leads_elsewhere=True),
    Setting("MEMORY_POSTGRES_URL", "postgres_url", v.parse_database, _NO_DATABASE),
    Setting("MEMORY_POSTGRES_AWAY", "postgres_away", v.parse_choice("refuse", "wait")),
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
    Setting("MEMORY_RECALL_WINDOW", "recall_window", v.parse_integer(1, EVENTS_MAX)),
    Setting("MEMORY_CONTEXT_TOPN", "opening.topn", v.parse_integer(1, CANDIDATES_MAX)),
    Setting("MEMORY_CHECKPOINT_INTERVAL", "opening.interval", v.parse_integer(0, _TURNS_MAX)),
    Setting("MEMORY_EMBEDDER", "embedder", None),
    Setting("MEMORY_EMBEDDER_URL", "embedder", None),
    Setting("MEMORY_EMBEDDER_MODEL", "embedder", None),
    Setting("MEMORY_EMBEDDER_API_KEY", "embedder", None),
    Setting("MEMORY_SECRETS", "secrets", v.parse_choice(*get_args(SecretPolicy)), _REFUSE),
    Setting("MEMORY_CAPTURE", "capture", v.parse_choice(*get_args(CaptureMode)), _NO_CAPTURE),
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
    Setting("MEMORY_HTTP_URL", "http.url", v.parse_public_url, _NOT_SERVED),
    Setting("MEMORY_HTTP_ISSUER", "http.issuer", v.parse_issuer, _NOT_SERVED),
    Setting("MEMORY_HTTP_AUDIENCE", "http.audience", v.parse_text, _NOT_SERVED),
    Setting("MEMORY_HTTP_PROXIES", "http.proxies", v.parse_networks, _NOT_SERVED),
    Setting("MEMORY_HTTP_PAGES", "http.pages", v.parse_pages, _NOT_SERVED),
    Setting("MEMORY_HTTP_RATE", "http.per_minute", v.parse_integer(1, HTTP_RATE_PER_MINUTE_MAX),
            _NOT_SERVED),
    Setting("MEMORY_HTTP_DRAIN_SECONDS", "http.drain_seconds",
            v.parse_seconds(HTTP_DRAIN_SECONDS_MAX), _NOT_SERVED),
    Setting("MEMORY_LOG_FORMAT", "http.log_format", v.parse_choice("text", "json")),
    Setting("MEMORY_GIT", "git", v.parse_choice(*get_args(GitMode)), _NO_GIT),
)  # fmt: skip

SETTINGS: Final[Mapping[str, Setting]] = {row.name: row for row in _TABLE}
"""Every setting by its name. Each `MEMORY_X` is also read from `ATOMIC_MEMORY_X`."""

_NOT_IN_FILES: Final = (
    "MEMORY_PHASE", "ATOMIC_PHASE", "MEMORY_BRANCH", "MEMORY_PROJECT_DIR", "CLAUDE_PROJECT_DIR",
    "MEMORY_STATE_DIR", "MEMORY_DIR", "MEMORY_HOME", "CLAUDE_CODE_SESSION_ID",
    "SUPERMEMORY_CONTAINER_TAG",
)  # fmt: skip
"""What belongs to one session or one project, and folders: files are looked for in them."""

_IN_PROJECT_FILES: Final = (
    "MEMORY_TOOLSETS", "MEMORY_RERANK_WEIGHTS", "MEMORY_BOOTSTRAP_TOKENS", "MEMORY_CONTEXT_",
    "MEMORY_RECALL_WINDOW", "MEMORY_MERGE_", "MEMORY_SEMANTIC_MIN_IMPORTANCE", "EPISODIC_",
)  # fmt: skip
"""What others who work on a project may set (names, or how they begin).

None of it moves, sends, reveals or erases anything, or takes a question from the user.
"""

_TOGETHER: Final = ("MEMORY_EMBEDDER", "MEMORY_LLM")
"""Prefixes of settings that are read together: a wrong one makes all of them wrong."""

_PREFIXES: Final = ("MEMORY_", "ATOMIC_MEMORY_", "EPISODIC_", "SUPERMEMORY_")


def may_stand_in(setting: str, whose: Whose) -> bool:
    """Whether a file of that kind may set it."""
    if whose == "project":
        return setting.startswith(_IN_PROJECT_FILES)
    return setting not in _NOT_IN_FILES


def read_settings(
    environment: Mapping[str, str] = os.environ, files: Sequence[ConfigFile] = ()
) -> Settings:
    """The settings of this process. A wrong one falls back by itself, and leaves a warning.

    `files` are the files of settings, the one that counts least first.
    """
    warnings: list[str] = []
    refused: list[RefusedSetting] = []
    fields: dict[str, Any] = {}
    skip: set[str] = set()
    while True:
        given = select_given(environment, files, skip)
        try:
            settings = _read_all(given)
        except SettingError as error:
            wrong = _find_wrong(error, given)
            fallback = SETTINGS[wrong[0]].fallback
            warnings.append(f"{error} {fallback.message}")
            fields |= fallback.fields or {}
            if fallback.cloud_off:
                fields["cloud_off"] = wrong[0]
            if fallback in (_OFF, _NO_DATABASE, _NO_HOME):
                fields["off"] = warnings[-1]
            refused += [RefusedSetting(name, fallback.in_force, warnings[-1]) for name in wrong]
            skip.update(wrong)
        else:
            break
    for file in files:
        if file.error:
            fallback = _OFF if file.whose == "user" else _IGNORED
            warnings.append(f"{file.path} cannot be read: {file.error}. {fallback.message}")
            fields |= fallback.fields or {}
            if fallback is _OFF:
                fields["off"] = warnings[-1]
                refused.append(RefusedSetting("MEMORY_ENABLED", fallback.in_force, warnings[-1]))
    settings = replace(settings, warnings=tuple(warnings), refused=tuple(refused), **fields)
    if not settings.enabled and not warnings:
        return settings
    return _warn_of_strange_names(settings, given, environment, files)


def _warn_of_strange_names(
    settings: Settings,
    given: AllGiven,
    environment: Mapping[str, str],
    files: Sequence[ConfigFile],
) -> Settings:
    """The settings with a warning for each name that does nothing where it stands."""
    warnings = [*settings.warnings]
    cloud_off = settings.cloud_off
    for name, guess in (*_find_misspelt(environment), *_find_unknown_keys(files)):
        hint = f"{name} is no setting.{_format_guess(name, guess)}"
        meant = guess.removeprefix("ATOMIC_") if guess.isupper() else name_setting(guess)
        if meant in SETTINGS and SETTINGS[meant].leads_elsewhere and meant not in given:
            cloud_off = cloud_off or name
            warnings.append(f"{hint} Correct or remove it and start again. {_LOCAL.message}")
        else:
            warnings.append(f"{hint} It is ignored.")
    warnings += _find_misplaced(files)
    return replace(settings, cloud_off=cloud_off, warnings=tuple(warnings))


def _format_guess(name: str, guess: str) -> str:
    """What is probably meant: certainly, where a key in a file has its variable's name."""
    if guess and _find_meant(name.partition(" in ")[0]) == name_setting(guess):
        return f" Write it as {guess}."
    return f" Did you mean {guess}?" if guess else ""


def parse_settings(environment: Mapping[str, str]) -> Settings:
    """The settings of these variables.

    Raises:
        SettingError: a value is wrong; the message names the setting and the choices.
    """
    return _read_all(select_given(environment))


def _find_wrong(error: SettingError, given: AllGiven) -> list[str]:
    """The settings that an error is about, the one it names first."""
    named = [name for name, setting in given.items() if error.name in (name, setting.name)]
    about = named[0] if named else error.name
    for prefix in _TOGETHER:
        if about.startswith(prefix):
            named += [name for name in given if name.startswith(prefix)]
    if not named:
        raise error
    return named


def _find_misspelt(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each variable that is almost a setting, with that setting: by itself it does nothing."""
    ours = [*SETTINGS, *(f"ATOMIC_{name}" for name in SETTINGS if name.startswith("MEMORY_"))]
    for name in sorted(environment):
        if name.startswith(_PREFIXES) and name not in ours and environment[name].strip():
            from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415  # seldom needed

            for guess in get_close_matches(name, ours, n=1, cutoff=_SIMILARITY_MIN):
                own = SequenceMatcher(None, _drop_prefix(name), _drop_prefix(guess))
                if own.ratio() >= _OWN_SIMILARITY_MIN:
                    yield name, guess


def _drop_prefix(name: str) -> str:
    """The name without its prefix."""
    return name.removeprefix("ATOMIC_").partition("_")[2]


def _find_unknown_keys(files: Sequence[ConfigFile]) -> Iterator[tuple[str, str]]:
    """Each key of a file that is no setting, and the one that may be meant, or ''."""
    for file in files:
        keys = [name_key(name) for name in SETTINGS if may_stand_in(name, file.whose)]
        for key in file.values:
            meant = _find_meant(key)
            if meant and (name_key(meant) == key or not may_stand_in(meant, file.whose)):
                continue
            if meant:
                yield _name_in_file(key, file), name_key(meant)
            else:
                from difflib import get_close_matches  # noqa: PLC0415  # seldom needed

                guess = get_close_matches(key.lower(), keys, n=1, cutoff=_SIMILARITY_MIN)
                yield _name_in_file(key, file), "".join(guess)


def _find_meant(key: str) -> str:
    """The setting of which a key has the name, also that of its variable or in capitals; or ''."""
    bare = key.lower().removeprefix("atomic_").removeprefix("memory_")
    return name if (name := name_setting(bare)) in SETTINGS else ""


def _find_misplaced(files: Sequence[ConfigFile]) -> Iterator[str]:
    """A sentence for each setting that may not stand in the file in which it stands."""
    for file in files:
        for key in file.values:
            name = _find_meant(key)
            if not name or may_stand_in(name, file.whose):
                continue
            where = "in the environment"
            if file.whose == "project" and may_stand_in(name, "user"):
                where = "in your own file (`memory-mcp config` names it) or the environment"
            yield f"{_name_in_file(key, file)} is ignored there. Set {name} {where}."


def _name_in_file(key: str, file: ConfigFile) -> str:
    return f"{v.escape_name(key)} in {file.path}"


def select_given(
    environment: Mapping[str, str], files: Sequence[ConfigFile] = (), skip: Collection[str] = ()
) -> AllGiven:
    """What is set, and where, without what is to be skipped."""
    given: dict[str, GivenSetting] = {}
    project = ""
    if "CLAUDE_PROJECT_DIR" not in skip:
        project = environment.get("CLAUDE_PROJECT_DIR", "").strip()
    for setting in SETTINGS:
        if setting in skip:
            continue
        for file in files:
            key = name_key(setting)
            value = file.values.get(key, "").strip()
            if value and may_stand_in(setting, file.whose):
                given[setting] = GivenSetting(_name_in_file(key, file), value)
        own = "" if setting == "CLAUDE_PROJECT_DIR" else project
        names = [setting, f"ATOMIC_{setting}"] if setting.startswith("MEMORY_") else [setting]
        for name in reversed(names):  # the setting's own name has the last word
            if value := environment.get(name, "").strip():
                given[setting] = GivenSetting(name, value, own)
    return given


def _read_all(given: AllGiven) -> Settings:
    """The settings of these variables, with the default of every other one.

    Raises:
        SettingError: a value is wrong.
    """
    fields: dict[str, object] = {}
    for row in _TABLE:
        if row.parse and row.name in given and row.field not in fields:
            fields[row.field] = row.parse(given[row.name])
            if fields == {"enabled": False}:
                return Settings(enabled=False)
    own: dict[str, Any] = {"user": find_login(os.environ)}
    groups: dict[str, dict[str, Any]] = {}
    for path, value in fields.items():
        group, _, field = path.rpartition(".")
        if value != ():  # a list of nothing is not set
            (groups.setdefault(group, {}) if group else own)[field] = value
    for group, changed in groups.items():
        own[group] = replace(getattr(Settings, group), **changed)
    found = Settings(embedder=_read_embedder(given), language=_read_language(given), **own)
    _require_order(found.merging, given)
    return found


def _read_embedder(given: AllGiven) -> EmbedderSettings:
    """The embedder that was chosen."""
    chosen = given.get("MEMORY_EMBEDDER", GivenSetting("MEMORY_EMBEDDER", "auto"))
    name = cast("EmbedderName", v.parse_choice(*get_args(EmbedderName))(chosen))
    model = _value(given, "MEMORY_EMBEDDER_MODEL")
    api_key = v.parse_key("MEMORY_EMBEDDER_API_KEY", _value(given, "MEMORY_EMBEDDER_API_KEY"))
    url = given.get("MEMORY_EMBEDDER_URL")
    match name:
        case "none":
            return EmbedderSettings(name)
        case "auto" | "minilm":
            _refuse_server_settings(name, given, "URL", "MODEL", "API_KEY")
            return EmbedderSettings(name)
        case "local":
            _refuse_server_settings(name, given, "URL", "API_KEY")
            if not MODEL_NAME.fullmatch(model):
                what = "the name of a model on this machine (`memory-mcp models`)"
                raise SettingError("MEMORY_EMBEDDER_MODEL", model, what)
            return EmbedderSettings(name, model=model)
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


def _refuse_server_settings(name: EmbedderName, given: AllGiven, *settings: str) -> None:
    for setting in settings:
        if found := given.get(f"MEMORY_EMBEDDER_{setting}"):
            why = f"openai or ollama, because {found.name} is set (or none)"
            raise SettingError("MEMORY_EMBEDDER", name, why)


def _read_language(given: AllGiven) -> LanguageSettings | None:
    """The language model, if one was chosen. Only its name must be set."""
    model = _value(given, "MEMORY_LLM_MODEL")
    api_key = v.parse_key("MEMORY_LLM_API_KEY", _value(given, "MEMORY_LLM_API_KEY"))
    url = given.get("MEMORY_LLM_BASE_URL")
    if not model:
        for setting in ("BASE_URL", "API_KEY"):
            if found := given.get(f"MEMORY_LLM_{setting}"):
                what = f"the name of a chat model, because {found.name} is set"
                raise SettingError("MEMORY_LLM_MODEL", "", what)
        return None
    if api_key is None and url is None:
        raise SettingError("MEMORY_LLM_API_KEY", "", f"a key for {_OPENAI}")
    return LanguageSettings(v.parse_endpoint(url, _OPENAI, private=api_key is None), model, api_key)


def _value(given: AllGiven, setting: str) -> str:
    return given[setting].value if setting in given else ""


def _require_order(merging: MergePolicy, given: AllGiven) -> None:
    """Refuse thresholds in the wrong order; the error names the one that was set."""
    levels = (
        ("FALLBACK_LOW", merging.fallback_low),
        ("CHECK_LOW", merging.check_low),
        ("AUTO_UPDATE", merging.auto_update),
    )
    for (low, least), (high, most) in pairwise(levels):
        if least > most:
            lower, upper = f"MEMORY_MERGE_{low}", f"MEMORY_MERGE_{high}"
            if lower in given:
                raise given[lower].error(f"at most {upper} ({most:g})")
            raise given[upper].error(f"at least {lower} ({least:g})")


def read_client_variables(environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """The variables that say where clients keep their configuration."""
    return {name: environment[name] for name in CLIENT_VARIABLES if environment.get(name)}


def require_home(settings: Settings) -> None:
    """Refuse to go on where MEMORY_HOME names no folder: the usual home is another one.

    Raises:
        InvalidRequestError: it names none.
    """
    for refused in settings.refused:
        if refused.name == "MEMORY_HOME":
            raise InvalidRequestError(refused.why)


def find_home_folder(settings: Settings) -> Path:
    """The folder of what belongs to the user rather than to a project."""
    return settings.home or Path(find_data_home(os.environ))


def find_machine_home(settings: Settings) -> str:
    """The folder of what only this machine may write about projects."""
    return find_state_home(os.environ, str(settings.home or ""))


def add_toolsets(settings: Settings, names: str) -> Settings:
    """The settings with these toolsets (separated by commas) added.

    Raises:
        SettingError: a toolset that does not exist.
    """
    more = v.parse_choices(*TOOLSETS)(GivenSetting("--toolsets", names))
    return replace(settings, toolsets=tuple(dict.fromkeys((*settings.toolsets, *more))))
