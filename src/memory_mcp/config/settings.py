"""Every setting: the only module that reads the environment.

`SETTINGS` names them all; the README's table is checked against it.
"""

import getpass
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, cast

from platformdirs import user_data_path
from pydantic import SecretStr

from memory_mcp.config import groups, values
from memory_mcp.config.groups import EmbedderSettings, LanguageSettings
from memory_mcp.config.values import Given, Variable
from memory_mcp.domain.episodes import Pace
from memory_mcp.domain.limits import REMOTE_SEARCH_SECONDS_DEFAULT, REMOTE_SEARCH_SECONDS_MAX
from memory_mcp.domain.merging import Merging, Secrets
from memory_mcp.domain.opening import OpeningSettings
from memory_mcp.domain.search import RerankWeights
from memory_mcp.errors import SettingError
from memory_mcp.locations import state_home

SETTINGS: Final[Mapping[str, str]] = {
    "MEMORY_ENABLED": "false: every tool answers that memory is off",
    "MEMORY_MODE": "normal, or meta: reads work, writes are skipped and say so",
    "MEMORY_PHASE": "the pipeline phase this session works on, a number",
    "ATOMIC_PHASE": "alias of MEMORY_PHASE",
    "MEMORY_APPROVAL": "ask: checkpoint and backtrack ask the user; auto: they do not",
    "MEMORY_BRANCH": "the branch this session starts on",
    "MEMORY_PROJECT_DIR": "the project's folder",
    "CLAUDE_PROJECT_DIR": "the project's folder, as Claude Code tells it",
    "MEMORY_STATE_DIR": "where head, history and index are",
    "MEMORY_DIR": "where the project's records are",
    "MEMORY_HOME": "where the user's own memories are, and those of clients without a project",
    "MEMORY_USER": "whose memories they are",
    "MEMORY_TOOLSETS": "further toolsets to offer, separated by commas",
    "MEMORY_LOG_LEVEL": "what is logged to stderr",
    "CLAUDE_CODE_SESSION_ID": "the session noted in each record",
    "MEMORY_PROVIDER": "local, supermemory, or auto: supermemory if there is a key for it",
    "SUPERMEMORY_API_KEY": "the key; it comes before one that `memory-mcp login` stored",
    "SUPERMEMORY_BASE_URL": "where Supermemory is",
    "SUPERMEMORY_CONTAINER_TAG": "the container that the project's memories are kept in",
    "SUPERMEMORY_TIMEOUT": "seconds that a search waits for the cloud",
    "SUPERMEMORY_EXTRACTION": "on: the cloud draws facts from what it is sent",
    "MEMORY_RERANK_WEIGHTS": "what counts for the order of what is found",
    "MEMORY_BOOTSTRAP_TOKENS": "tokens of the block that opens a session",
    "MEMORY_CONTEXT_TOPK": "how many candidates are ranked for a task",
    "MEMORY_CONTEXT_TOPN": "how many of them are shown at most",
    "MEMORY_CHECKPOINT_INTERVAL": "turns (without the plugin: writing calls) between two "
    "reminders to sum up; 0: none",
    "MEMORY_EMBEDDER": "what recalls by meaning: none, minilm, openai, ollama, or auto: minilm if "
    "it was added",
    "MEMORY_EMBEDDER_URL": "where an OpenAI-compatible server or Ollama is",
    "MEMORY_EMBEDDER_MODEL": "the model to ask for there",
    "MEMORY_EMBEDDER_API_KEY": "the key for it",
    "MEMORY_SECRETS": "what becomes of a secret in a text: redact, refuse, or allow",
    "MEMORY_MERGE_TOPK": "how many like memories are compared with a new one; 0: none",
    "MEMORY_MERGE_AUTO_UPDATE": "from this likeness up it is the same fact",
    "MEMORY_MERGE_CHECK_LOW": "from this likeness up the judge decides",
    "MEMORY_MERGE_FALLBACK_ENABLED": "false: below that, nothing is compared",
    "MEMORY_MERGE_FALLBACK_LOW": "from this likeness up the judge decides about recent ones",
    "MEMORY_MERGE_FALLBACK_TOPK": "how many of those are compared",
    "MEMORY_MERGE_FALLBACK_RECENCY_DAYS": "for how many days a memory is recent",
    "MEMORY_MERGE_FALLBACK_CATEGORIES": "of which categories they must be",
    "MEMORY_MERGE_MODE": "recreate: compose one memory of both; update: keep the new text",
    "MEMORY_SEMANTIC_MIN_IMPORTANCE": "less important than this nothing new is stored",
    "MEMORY_LLM_BASE_URL": "where an OpenAI-compatible chat endpoint is",
    "MEMORY_LLM_MODEL": "the model that judges, composes and sums up; none: rules do",
    "MEMORY_LLM_API_KEY": "the key for it",
    "EPISODIC_WINDOW_N": "of how many turns an episode is made",
    "EPISODIC_COOLDOWN_TURNS": "turns between two episodes",
    "EPISODIC_COOLDOWN_MINUTES": "minutes between two episodes",
    "EPISODIC_MAX_PER_DAY": "episodes of a session in a day",
    "EPISODIC_MERGE_WINDOW_HOURS": "until when an episode is merged into the last one",
    "EPISODIC_NOVELTY_MIN": "how new it must be not to be merged",
    "MEMORY_NUDGE_QUEUE": "the Amazon SQS queue that nudges come from; none: a folder",
}
"""Each `MEMORY_X` is read from `ATOMIC_MEMORY_X` where it is not set itself."""

CLIENT_VARIABLES: Final = ("CLAUDE_CONFIG_DIR", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME")
"""No settings of ours: they say where clients keep theirs."""

TOOLSETS: Final = ("branches", "session", "hooks")

_ALIKE_MIN: Final = 0.75
"""How like one of our settings a variable is called that is one misspelt: others have theirs."""
_OWN_ALIKE_MIN: Final = 0.54
"""The same of what follows `MEMORY_` and its like, which many variables of others begin with."""

_LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Provider = Literal["auto", "local", "supermemory"]


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
    embedder: EmbedderSettings = EmbedderSettings()  # noqa: RUF009
    secrets: Secrets = "redact"
    merging: Merging = Merging()  # noqa: RUF009
    language: LanguageSettings | None = None
    pace: Pace = Pace()  # noqa: RUF009
    nudge_queue: str = ""
    opening: OpeningSettings = OpeningSettings()  # noqa: RUF009
    warnings: tuple[str, ...] = ()


READ_ONLY: Final = "Until then nothing is written, so that nothing lands in the wrong place."
_LOCAL: Final = "Until then nothing is sent to the cloud: the memory works on this machine alone."

_OF_THE_CLOUD: Final = (
    "MEMORY_PROVIDER", "SUPERMEMORY_API_KEY", "SUPERMEMORY_BASE_URL", "SUPERMEMORY_CONTAINER_TAG",
    "SUPERMEMORY_TIMEOUT", "SUPERMEMORY_EXTRACTION",
)  # fmt: skip
_LEAD_ELSEWHERE: Final = ("MEMORY_PROVIDER", "SUPERMEMORY_BASE_URL", "SUPERMEMORY_CONTAINER_TAG")
"""Misspelt, they would leave memories where they were not meant to go."""

_ASTRAY: Final = {"meta": True, "lost": True, "astray": True, "project_dir": None}
_MEANWHILE: Final[Mapping[str, tuple[Mapping[str, Any], str]]] = {
    "MEMORY_ENABLED": ({"enabled": False}, "Until then memory is off, because it may be meant so."),
    "MEMORY_MODE": ({"meta": True}, "Until then nothing is written (meta), as it may be meant so."),
    "MEMORY_SECRETS": ({"secrets": "refuse"}, "Until then a text with a secret is refused."),
    "MEMORY_APPROVAL": ({"approval": "ask"}, "Until then the user is asked."),
    "MEMORY_BRANCH": ({"meta": True, "lost": True}, READ_ONLY),
    "MEMORY_PROJECT_DIR": (_ASTRAY, READ_ONLY),
    "CLAUDE_PROJECT_DIR": (_ASTRAY, READ_ONLY),
    "MEMORY_STATE_DIR": ({"meta": True, "lost": True}, READ_ONLY),
    "MEMORY_DIR": ({"meta": True, "lost": True}, READ_ONLY),
    "MEMORY_HOME": ({"meta": True, "lost": True}, READ_ONLY),
    **{name: ({"cloud_off": name}, _LOCAL) for name in _OF_THE_CLOUD},
}
"""What holds where a value means nothing, if the usual one could hurt: what would be stored, sent
or done against the user's will cannot be taken back."""

_USUAL: Final[tuple[Mapping[str, Any], str]] = ({}, "Until then it counts as not set.")

_TOGETHER: Final = ("MEMORY_EMBEDDER", "MEMORY_LLM")
"""Settings that mean something together only: one of them that is wrong makes all of them so."""

_PREFIXES: Final = ("MEMORY_", "ATOMIC_MEMORY_", "EPISODIC_", "SUPERMEMORY_")


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process. One that means nothing costs itself and nothing else.

    What holds in its place is the usual value, or the safer one where that could do harm; the
    `warnings` say so.
    """
    environment = os.environ if environment is None else environment
    given = dict(_given(environment))
    warnings: list[str] = []
    instead: dict[str, Any] = {}
    while True:
        try:
            settings = _read(given)
        except SettingError as error:
            wrong = _wrong(error, given)
            safer, meanwhile = _MEANWHILE.get(wrong[0], _USUAL)
            warnings.append(f"{error} {meanwhile}")
            instead |= safer
            given = {name: variable for name, variable in given.items() if name not in wrong}
        else:
            break
    settings = replace(settings, **instead)
    if settings.enabled or warnings:
        for name, guess in _misspelt(environment):
            hint = f"{name} is no setting. Did you mean {guess}?"
            meant = guess.removeprefix("ATOMIC_")
            if meant in _LEAD_ELSEWHERE and meant not in given:
                settings = replace(settings, cloud_off=settings.cloud_off or name)
                warnings.append(f"{hint} Correct or remove it and start again. {_LOCAL}")
            else:
                warnings.append(f"{hint} It is ignored.")
    return replace(settings, warnings=tuple(warnings))


def checked_settings(environment: Mapping[str, str]) -> Settings:
    """The settings that these variables say, each of them as it must be.

    Raises:
        SettingError: a value that means nothing; the message names the setting and the choices.
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
            for guess in get_close_matches(name, ours, n=1, cutoff=_ALIKE_MIN):
                own = SequenceMatcher(None, _own_part(name), _own_part(guess))
                if own.ratio() >= _OWN_ALIKE_MIN:
                    yield name, guess


def _own_part(name: str) -> str:
    """What a variable is called beside what all of its kind begin with."""
    return name.removeprefix("ATOMIC_").partition("_")[2]


def _read(given: Given) -> Settings:
    if not values.flag(given, "MEMORY_ENABLED", "true or false", default=True):
        return Settings(enabled=False)
    level = values.choice(given, "MEMORY_LOG_LEVEL", _LOG_LEVELS, "WARNING")
    approval = values.choice(given, "MEMORY_APPROVAL", ("ask", "auto"), "ask")
    provider = values.choice(given, "MEMORY_PROVIDER", ("auto", "local", "supermemory"), "auto")
    secrets = values.choice(given, "MEMORY_SECRETS", ("redact", "refuse", "allow"), "redact")
    return Settings(
        meta=values.choice(given, "MEMORY_MODE", ("normal", "meta"), "normal") == "meta",
        phase=values.phase(given.get("MEMORY_PHASE") or given.get("ATOMIC_PHASE")),
        approval=cast("Literal['ask', 'auto']", approval),
        branch=values.branch(given, "MEMORY_BRANCH", "main"),
        project_dir=values.present_folder(given, "MEMORY_PROJECT_DIR")
        or values.folder(given, "CLAUDE_PROJECT_DIR"),
        state_dir=values.own_folder(given, "MEMORY_STATE_DIR"),
        memory_dir=values.own_folder(given, "MEMORY_DIR"),
        home=values.own_folder(given, "MEMORY_HOME"),
        user=values.plain(values.text(given, "MEMORY_USER") or _login()),
        toolsets=_toolsets(given.get("MEMORY_TOOLSETS")),
        log_level=cast("LogLevel", level),
        session=values.plain(values.text(given, "CLAUDE_CODE_SESSION_ID")),
        provider=cast("Provider", provider),
        api_key=values.key_in("SUPERMEMORY_API_KEY", values.text(given, "SUPERMEMORY_API_KEY")),
        base_url=values.origin(given.get("SUPERMEMORY_BASE_URL"), Settings.base_url),
        container_tag=values.container(given.get("SUPERMEMORY_CONTAINER_TAG")),
        remote_timeout=values.seconds(
            given.get("SUPERMEMORY_TIMEOUT"), Settings.remote_timeout, REMOTE_SEARCH_SECONDS_MAX
        ),
        extraction=values.flag(given, "SUPERMEMORY_EXTRACTION", "on or off", default=False),
        weights=values.weights(given.get("MEMORY_RERANK_WEIGHTS")),
        embedder=groups.embedder(given),
        secrets=cast("Secrets", secrets),
        merging=groups.merging(given),
        language=groups.language(given),
        pace=groups.pace(given),
        nudge_queue=groups.nudge_queue(given),
        opening=groups.opening(given),
    )


def client_variables(environment: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """What the environment says of where clients keep their configuration."""
    given = os.environ if environment is None else environment
    return {name: given[name] for name in CLIENT_VARIABLES if given.get(name)}


def _given(environment: Mapping[str, str]) -> Given:
    given: dict[str, Variable] = {}
    for setting in SETTINGS:
        names = [setting, f"ATOMIC_{setting}"] if setting.startswith("MEMORY_") else [setting]
        for name in reversed(names):  # the setting's own name has the last word
            if value := environment.get(name, "").strip():
                given[setting] = Variable(name, value)
    return given


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
    more = _toolsets(Variable("--toolsets", names))
    return replace(settings, toolsets=tuple(dict.fromkeys((*settings.toolsets, *more))))


def _toolsets(given: Variable | None) -> tuple[str, ...]:
    if given is None:
        return ()
    names = [name.strip() for name in given.value.split(",") if name.strip()]
    for name in names:
        if name not in TOOLSETS:
            raise SettingError(given.name, name, f"some of {', '.join(TOOLSETS)}")
    return tuple(dict.fromkeys(names))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no login name in a container or service
        return "default"
