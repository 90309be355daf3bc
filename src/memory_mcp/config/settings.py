"""Every setting: one table, and the only module that reads the environment.

A row of the table names the variable, what it is for (the README's table is checked against the
names), the field of `Settings` that it fills, how its text is read, and what holds while the text
is wrong. The defaults are those of `Settings` and of the values in it.
"""

import getpass
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from platformdirs import user_data_path
from pydantic import SecretStr

from memory_mcp.config import values as v
from memory_mcp.config.values import Parser, Variable
from memory_mcp.domain.deduplication import MergeMode, Merging, Secrets
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
from memory_mcp.domain.sessions import OpeningSettings, Pace
from memory_mcp.errors import SettingError
from memory_mcp.locations import state_home

CLIENT_VARIABLES: Final = ("CLAUDE_CONFIG_DIR", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME")
"""No settings of ours: they say where clients keep theirs."""

TOOLSETS: Final = ("branches", "session", "hooks")

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Provider = Literal["auto", "local", "supermemory"]
EmbedderName = Literal["auto", "none", "minilm", "openai", "ollama"]
Given = Mapping[str, Variable]
"""The settings that were set, each by its own name."""

_OPENAI: Final = "https://api.openai.com/v1"
_OLLAMA: Final = "http://127.0.0.1:11434"
_DAYS_MAX: Final = 36_500
_TURNS_MAX: Final = 1_000
_MINUTES_MAX: Final = 10_080
_HOURS_MAX: Final = 168
"""A week: what lies further back is no longer the same matter."""

_SIMILARITY_MIN: Final = 0.75
"""How similar a variable's name is to that of a setting if it is a misspelt one."""
_OWN_SIMILARITY_MIN: Final = 0.54
"""The same for the part behind `MEMORY_` and its like: many variables of others begin so."""


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


@dataclass(frozen=True)
class Settings:
    """How this process was set up. Folders that are None follow from the project or the system.

    `lost`: a wrong setting leaves open where the memory is, so that it is only read.
    `astray`: the project was named, and is not to be found: no other one takes its place.
    `cloud_off` names a setting that is wrong and keeps everything away from the cloud.
    `warnings` say what is wrong with single settings, what holds instead, and what to do.
    """

    enabled: bool = True
    meta: bool = False
    lost: bool = False
    phase: int | None = None
    approval: Literal["ask", "auto"] = "ask"
    branch: str = "main"
    project_dir: Path | None = None
    astray: bool = False
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
    weights: RerankWeights = RerankWeights()  # noqa: RUF009  # frozen
    embedder: EmbedderSettings = EmbedderSettings()
    secrets: Secrets = "redact"
    merging: Merging = Merging()  # noqa: RUF009
    language: LanguageSettings | None = None
    pace: Pace = Pace()  # noqa: RUF009
    nudge_queue: str = ""
    opening: OpeningSettings = OpeningSettings()  # noqa: RUF009
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fallback:
    """What holds while a value is wrong, and the sentence that says so.

    Where the usual value could hurt, something safer holds: what would be stored, sent or done
    against the user's will cannot be taken back.
    """

    words: str
    fields: Mapping[str, Any] | None = None
    cloud_off: bool = False


READ_ONLY: Final = "Until then nothing is written, so that nothing lands in the wrong place."

_USUAL: Final = Fallback("Until then it counts as not set.")
_OFF: Final = Fallback("Until then memory is off, because it may be meant so.", {"enabled": False})
_META: Final = Fallback(
    "Until then nothing is written (meta), as it may be meant so.", {"meta": True}
)
_ASK: Final = Fallback("Until then the user is asked.", {"approval": "ask"})
_REFUSE: Final = Fallback("Until then a text with a secret is refused.", {"secrets": "refuse"})
_LOST: Final = Fallback(READ_ONLY, {"meta": True, "lost": True})
_ASTRAY: Final = Fallback(
    READ_ONLY, {"meta": True, "lost": True, "astray": True, "project_dir": None}
)
_LOCAL: Final = Fallback(
    "Until then nothing is sent to the cloud: the memory works on this machine alone.",
    cloud_off=True,
)


@dataclass(frozen=True)
class Setting:
    """One row of the table.

    `field` is the field of `Settings` that it fills, `group.field` in a group of it. A setting that
    means something only together with others has no parser: a function reads them together. Of two
    rows for one field the first that is set counts. `leads_elsewhere`: misspelt, it would leave
    memories where they were not meant to go.
    """

    name: str
    field: str
    parse: Parser | None
    about: str
    wrong: Fallback = _USUAL
    leads_elsewhere: bool = False


def _is_meta(given: Variable) -> bool:
    return v.choice("normal", "meta")(given) == "meta"


def _key(given: Variable) -> SecretStr | None:
    return v.key_in("SUPERMEMORY_API_KEY", given.value)


_TABLE: Final = (
    Setting("MEMORY_ENABLED", "enabled", v.flag("true or false"),
            "false: every tool answers that memory is off", _OFF),
    Setting("MEMORY_MODE", "meta", _is_meta,
            "normal, or meta: reads work, writes are skipped and say so", _META),
    Setting("MEMORY_PHASE", "phase", v.phase, "the pipeline phase this session works on, a number"),
    Setting("ATOMIC_PHASE", "phase", v.phase, "alias of MEMORY_PHASE"),
    Setting("MEMORY_APPROVAL", "approval", v.choice("ask", "auto"),
            "ask: checkpoint and backtrack ask the user; auto: they do not", _ASK),
    Setting("MEMORY_BRANCH", "branch", v.branch, "the branch this session starts on", _LOST),
    Setting("MEMORY_PROJECT_DIR", "project_dir", v.present_folder, "the project's folder", _ASTRAY),
    Setting("CLAUDE_PROJECT_DIR", "project_dir", v.folder,
            "the project's folder, as Claude Code tells it", _ASTRAY),
    Setting("MEMORY_STATE_DIR", "state_dir", v.own_folder,
            "where head, history and index are", _LOST),
    Setting("MEMORY_DIR", "memory_dir", v.own_folder, "where the project's records are", _LOST),
    Setting("MEMORY_HOME", "home", v.own_folder,
            "where the user's own memories are, and those of clients without a project", _LOST),
    Setting("MEMORY_USER", "user", v.text, "whose memories they are"),
    Setting("MEMORY_TOOLSETS", "toolsets", v.some_of(*TOOLSETS),
            "further toolsets to offer, separated by commas"),
    Setting("MEMORY_LOG_LEVEL", "log_level", v.choice(*get_args(LogLevel)),
            "what is logged to stderr"),
    Setting("CLAUDE_CODE_SESSION_ID", "session", v.text, "the session noted in each record"),
    Setting("MEMORY_PROVIDER", "provider", v.choice(*get_args(Provider)),
            "local, supermemory, or auto: supermemory if there is a key for "
            "it", _LOCAL, leads_elsewhere=True),
    Setting("SUPERMEMORY_API_KEY", "api_key", _key,
            "the key; it comes before one that `memory-mcp login` stored", _LOCAL),
    Setting("SUPERMEMORY_BASE_URL", "base_url", v.origin,
            "where Supermemory is", _LOCAL, leads_elsewhere=True),
    Setting("SUPERMEMORY_CONTAINER_TAG", "container_tag", v.container,
            "the container that the project's memories are kept in", _LOCAL, leads_elsewhere=True),
    Setting("SUPERMEMORY_TIMEOUT", "remote_timeout", v.seconds(REMOTE_SEARCH_SECONDS_MAX),
            "seconds that a search waits for the cloud", _LOCAL),
    Setting("SUPERMEMORY_EXTRACTION", "extraction", v.flag("on or off"),
            "on: the cloud draws facts from what it is sent", _LOCAL),
    Setting("MEMORY_RERANK_WEIGHTS", "weights", v.weights,
            "what counts for the order of what is found"),
    Setting("MEMORY_BOOTSTRAP_TOKENS", "opening.bootstrap_tokens",
            v.whole(CONTEXT_TOKENS_MIN, CONTEXT_TOKENS_MAX),
            "tokens of the block that opens a session"),
    Setting("MEMORY_CONTEXT_TOPK", "opening.topk", v.whole(1, CANDIDATES_MAX),
            "how many candidates are ranked for a task"),
    Setting("MEMORY_CONTEXT_TOPN", "opening.topn", v.whole(1, CANDIDATES_MAX),
            "how many of them are shown at most"),
    Setting("MEMORY_CHECKPOINT_INTERVAL", "opening.interval", v.whole(0, _TURNS_MAX),
            "turns (without the plugin: writing calls) between two reminders to sum up; 0: none"),
    Setting("MEMORY_EMBEDDER", "embedder", None,
            "what recalls by meaning: none, minilm, openai, ollama, or auto: "
            "minilm if it was added"),
    Setting("MEMORY_EMBEDDER_URL", "embedder", None,
            "where an OpenAI-compatible server or Ollama is"),
    Setting("MEMORY_EMBEDDER_MODEL", "embedder", None, "the model to ask for there"),
    Setting("MEMORY_EMBEDDER_API_KEY", "embedder", None, "the key for it"),
    Setting("MEMORY_SECRETS", "secrets", v.choice(*get_args(Secrets)),
            "what becomes of a secret in a text: redact, refuse, or allow", _REFUSE),
    Setting("MEMORY_MERGE_TOPK", "merging.topk", v.whole(0, RESULTS_MAX),
            "how many like memories are compared with a new one; 0: none"),
    Setting("MEMORY_MERGE_AUTO_UPDATE", "merging.auto_update", v.number(0, 1),
            "from this likeness up it is the same fact"),
    Setting("MEMORY_MERGE_CHECK_LOW", "merging.check_low", v.number(0, 1),
            "from this likeness up the judge decides"),
    Setting("MEMORY_MERGE_FALLBACK_ENABLED", "merging.fallback_enabled", v.flag("true or false"),
            "false: below that, nothing is compared"),
    Setting("MEMORY_MERGE_FALLBACK_LOW", "merging.fallback_low", v.number(0, 1),
            "from this likeness up the judge decides about recent ones"),
    Setting("MEMORY_MERGE_FALLBACK_TOPK", "merging.fallback_topk", v.whole(0, RESULTS_MAX),
            "how many of those are compared"),
    Setting("MEMORY_MERGE_FALLBACK_RECENCY_DAYS", "merging.fallback_recency_days",
            v.whole(0, _DAYS_MAX),
            "for how many days a memory is recent"),
    Setting("MEMORY_MERGE_FALLBACK_CATEGORIES", "merging.fallback_categories", v.names,
            "of which categories they must be"),
    Setting("MEMORY_MERGE_MODE", "merging.mode", v.choice(*get_args(MergeMode)),
            "recreate: compose one memory of both; update: keep the new text"),
    Setting("MEMORY_SEMANTIC_MIN_IMPORTANCE", "merging.min_importance",
            v.whole(IMPORTANCE_MIN, IMPORTANCE_MAX),
            "less important than this nothing new is stored"),
    Setting("MEMORY_LLM_BASE_URL", "language", None, "where an OpenAI-compatible chat endpoint is"),
    Setting("MEMORY_LLM_MODEL", "language", None,
            "the model that judges, composes and sums up; none: rules do"),
    Setting("MEMORY_LLM_API_KEY", "language", None, "the key for it"),
    Setting("EPISODIC_WINDOW_N", "pace.window", v.whole(1, _TURNS_MAX),
            "of how many turns an episode is made"),
    Setting("EPISODIC_COOLDOWN_TURNS", "pace.cooldown_turns", v.whole(0, _TURNS_MAX),
            "turns between two episodes"),
    Setting("EPISODIC_COOLDOWN_MINUTES", "pace.cooldown_minutes", v.whole(0, _MINUTES_MAX),
            "minutes between two episodes"),
    Setting("EPISODIC_MAX_PER_DAY", "pace.per_day", v.whole(0, _TURNS_MAX),
            "episodes of a session in a day"),
    Setting("EPISODIC_MERGE_WINDOW_HOURS", "pace.merge_hours", v.number(0, _HOURS_MAX),
            "until when an episode is merged into the last one"),
    Setting("EPISODIC_NOVELTY_MIN", "pace.novelty_min", v.number(0, 1),
            "how new it must be not to be merged"),
    Setting("MEMORY_NUDGE_QUEUE", "nudge_queue", v.queue,
            "the Amazon SQS queue that nudges come from; none: a folder"),
)  # fmt: skip

SETTINGS: Final[Mapping[str, Setting]] = {row.name: row for row in _TABLE}
"""Every setting by its name. Each `MEMORY_X` is also read from `ATOMIC_MEMORY_X`."""

_TOGETHER: Final = ("MEMORY_EMBEDDER", "MEMORY_LLM")
"""Settings that mean something together only: one of them that is wrong makes all of them so."""

_PREFIXES: Final = ("MEMORY_", "ATOMIC_MEMORY_", "EPISODIC_", "SUPERMEMORY_")


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process. A wrong one costs itself and nothing else.

    In its place holds the usual value, or the safer one where that could do harm; the `warnings`
    say so.
    """
    environment = os.environ if environment is None else environment
    warnings: list[str] = []
    instead: dict[str, Any] = {}
    skip: set[str] = set()
    while True:
        given = _given(environment, skip)
        try:
            settings = _read(given)
        except SettingError as error:
            wrong = _wrong(error, given)
            fallback = SETTINGS[wrong[0]].wrong
            warnings.append(f"{error} {fallback.words}")
            instead |= fallback.fields or {}
            if fallback.cloud_off:
                instead["cloud_off"] = wrong[0]
            skip.update(wrong)
        else:
            break
    settings = replace(settings, **instead)
    if settings.enabled or warnings:
        for name, guess in _misspelt(environment):
            hint = f"{name} is no setting. Did you mean {guess}?"
            meant = guess.removeprefix("ATOMIC_")
            if meant in SETTINGS and SETTINGS[meant].leads_elsewhere and meant not in given:
                settings = replace(settings, cloud_off=settings.cloud_off or name)
                warnings.append(f"{hint} Correct or remove it and start again. {_LOCAL.words}")
            else:
                warnings.append(f"{hint} It is ignored.")
    return replace(settings, warnings=tuple(warnings))


def checked_settings(environment: Mapping[str, str]) -> Settings:
    """The settings that these variables say.

    Raises:
        SettingError: a value is wrong; the message names the setting and the choices.
    """
    return _read(_given(environment))


def _wrong(error: SettingError, given: Given) -> list[str]:
    """The settings that an error is about, of those that were given; the one it names is first."""
    named = [name for name, variable in given.items() if error.name in (name, variable.name)]
    for prefix in _TOGETHER:
        if error.name.removeprefix("ATOMIC_").startswith(prefix):
            named += [name for name in given if name.startswith(prefix)]
    if not named:
        raise error
    return named


def _misspelt(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each variable that is almost one of our settings, with that one: it does nothing as it is."""
    ours = [*SETTINGS, *(f"ATOMIC_{name}" for name in SETTINGS if name.startswith("MEMORY_"))]
    for name in sorted(environment):
        if name.startswith(_PREFIXES) and name not in ours and environment[name].strip():
            for guess in get_close_matches(name, ours, n=1, cutoff=_SIMILARITY_MIN):
                own = SequenceMatcher(None, _own_part(name), _own_part(guess))
                if own.ratio() >= _OWN_SIMILARITY_MIN:
                    yield name, guess


def _own_part(name: str) -> str:
    """What a variable is called beside what all of its kind begin with."""
    return name.removeprefix("ATOMIC_").partition("_")[2]


def _given(environment: Mapping[str, str], skip: Collection[str] = ()) -> Given:
    """The settings that are set, without those to skip."""
    given: dict[str, Variable] = {}
    project = ""
    if "CLAUDE_PROJECT_DIR" not in skip:
        project = environment.get("CLAUDE_PROJECT_DIR", "").strip()
    for setting in SETTINGS:
        own = "" if setting == "CLAUDE_PROJECT_DIR" else project
        names = [setting, f"ATOMIC_{setting}"] if setting.startswith("MEMORY_") else [setting]
        for name in reversed(names):  # the setting's own name has the last word
            value = environment.get(name, "").strip()
            if value and setting not in skip:
                given[setting] = Variable(name, value, own)
    return given


def _read(given: Given) -> Settings:
    """The settings that were given, and the usual value of every other one.

    Raises:
        SettingError: a value is wrong.
    """
    fields: dict[str, object] = {}
    for row in _TABLE:
        if row.parse and row.name in given and row.field not in fields:
            fields[row.field] = row.parse(given[row.name])
            if fields == {"enabled": False}:
                return Settings(enabled=False)
    own: dict[str, Any] = {"user": _login()}
    groups: dict[str, dict[str, Any]] = {}
    for path, value in fields.items():
        group, _, field = path.rpartition(".")
        if value != ():  # a list of nothing is not set
            (groups.setdefault(group, {}) if group else own)[field] = value
    for group, changed in groups.items():
        own[group] = replace(getattr(Settings, group), **changed)
    found = Settings(embedder=_embedder(given), language=_language(given), **own)
    _require_order(found.merging, given)
    return found


def _embedder(given: Given) -> EmbedderSettings:
    """What recalls by meaning."""
    chosen = given.get("MEMORY_EMBEDDER", Variable("MEMORY_EMBEDDER", "auto"))
    name = cast("EmbedderName", v.choice(*get_args(EmbedderName))(chosen))
    model, key = _value(given, "MEMORY_EMBEDDER_MODEL"), _value(given, "MEMORY_EMBEDDER_API_KEY")
    api_key = v.key_in("MEMORY_EMBEDDER_API_KEY", key)
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
            if api_key is None and url is None:
                raise SettingError("MEMORY_EMBEDDER_API_KEY", "", f"a key for {_OPENAI}")
            where = v.endpoint(url, _OPENAI)
            return EmbedderSettings(name, where, model or "text-embedding-3-small", api_key)
        case "ollama":
            if not model:
                what = "the name of an embedding model that your Ollama has (`ollama list`)"
                raise SettingError("MEMORY_EMBEDDER_MODEL", "", what)
            where = v.endpoint(url, _OLLAMA, private=api_key is None)
            return EmbedderSettings(name, where, model, api_key)


def _language(given: Given) -> LanguageSettings | None:
    """The language model, if one was chosen. Its name is all that must be set."""
    model, key = _value(given, "MEMORY_LLM_MODEL"), _value(given, "MEMORY_LLM_API_KEY")
    api_key = v.key_in("MEMORY_LLM_API_KEY", key)
    url = given.get("MEMORY_LLM_BASE_URL")
    if not model:
        for setting in ("BASE_URL", "API_KEY"):
            if found := given.get(f"MEMORY_LLM_{setting}"):
                what = f"the name of a chat model, because {found.name} is set"
                raise SettingError("MEMORY_LLM_MODEL", "", what)
        return None
    if api_key is None and url is None:
        raise SettingError("MEMORY_LLM_API_KEY", "", f"a key for {_OPENAI}")
    return LanguageSettings(v.endpoint(url, _OPENAI, private=api_key is None), model, api_key)


def _value(given: Given, setting: str) -> str:
    return given[setting].value if setting in given else ""


def _require_order(merging: Merging, given: Given) -> None:
    """A band must not stand upside down; the error names the setting that was given."""
    levels = (
        ("FALLBACK_LOW", merging.fallback_low),
        ("CHECK_LOW", merging.check_low),
        ("AUTO_UPDATE", merging.auto_update),
    )
    for (low, least), (high, most) in pairwise(levels):
        if least > most:
            lower, upper = f"MEMORY_MERGE_{low}", f"MEMORY_MERGE_{high}"
            if lower in given:
                raise given[lower].wrong(f"at most {upper} ({most:g})")
            raise given[upper].wrong(f"at least {lower} ({least:g})")


def client_variables(environment: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """What the environment says of where clients keep their configuration."""
    given = os.environ if environment is None else environment
    return {name: given[name] for name in CLIENT_VARIABLES if given.get(name)}


def home_folder(settings: Settings) -> Path:
    """Where what belongs to the user is, rather than to a project."""
    return settings.home or user_data_path("memory-mcp", appauthor=False)


def machine_home(settings: Settings) -> str:
    """Where this machine keeps what only it may write about projects."""
    return state_home(os.environ, str(settings.home or ""))


def with_toolsets(settings: Settings, names: str) -> Settings:
    """The settings with these toolsets (separated by commas) besides those already on.

    Raises:
        SettingError: a toolset that does not exist.
    """
    more = v.some_of(*TOOLSETS)(Variable("--toolsets", names))
    return replace(settings, toolsets=tuple(dict.fromkeys((*settings.toolsets, *more))))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no login name in a container or service
        return "default"
