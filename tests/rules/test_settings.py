"""Every setting is read once, and one that means nothing is refused with the choices."""

import getpass
import re
import sys
import traceback
from ipaddress import ip_network
from pathlib import Path

import pytest

from memory_mcp.config.settings import (
    SETTINGS,
    EmbedderSettings,
    HttpSettings,
    LanguageSettings,
    Settings,
    add_toolsets,
    parse_settings,
    read_settings,
)
from memory_mcp.domain.deduplication import MergePolicy
from memory_mcp.domain.search import RerankWeights
from memory_mcp.domain.secret import Secret
from memory_mcp.domain.sessions import ContextSettings, EpisodeSettings
from memory_mcp.errors import SettingError

_EVERY = {
    "MEMORY_ENABLED": "On",
    "MEMORY_MODE": "META",
    "MEMORY_PHASE": " 7 ",
    "ATOMIC_PHASE": "8",
    "MEMORY_APPROVAL": "Auto",
    "MEMORY_BRANCH": "try",
    "MEMORY_DIR": "~/memories",
    "MEMORY_HOME": "relative",
    "MEMORY_USER": "ada",
    "MEMORY_TEAM": "acme",
    "MEMORY_TOOLSETS": "branches, branches,",
    "MEMORY_LOG_LEVEL": "debug",
    "CLAUDE_CODE_SESSION_ID": "s-1",
    "MEMORY_PROVIDER": "Supermemory",
    "MEMORY_POSTGRES_URL": "postgresql://ada:zebra@db.example/shop",
    "MEMORY_POSTGRES_AWAY": "wait",
    "SUPERMEMORY_API_KEY": " sm_zebra ",
    "SUPERMEMORY_BASE_URL": "https://Memory.Example:8443/",
    "SUPERMEMORY_TIMEOUT": "0.5",
    "SUPERMEMORY_CONTAINER_TAG": "repo_Shop:1-a",
    "SUPERMEMORY_EXTRACTION": "ON",
    "MEMORY_RERANK_WEIGHTS": "recency=2, Pinned=0",
    "MEMORY_BOOTSTRAP_TOKENS": "900",
    "MEMORY_CONTEXT_TOPK": "30",
    "MEMORY_CONTEXT_TOPN": "6",
    "MEMORY_RECALL_WINDOW": "7",
    "MEMORY_CHECKPOINT_INTERVAL": "0",
    "MEMORY_EMBEDDER": "OpenAI",
    "MEMORY_EMBEDDER_URL": "https://Models.Example/V1/",
    "MEMORY_EMBEDDER_MODEL": "bge-m3",
    "MEMORY_EMBEDDER_API_KEY": "sk-zebra",
    "MEMORY_SECRETS": "Refuse",
    "MEMORY_CAPTURE": "Auto",
    "MEMORY_MERGE_TOPK": "7",
    "MEMORY_MERGE_AUTO_UPDATE": "0.9",
    "MEMORY_MERGE_CHECK_LOW": ".7",
    "MEMORY_MERGE_FALLBACK_ENABLED": "no",
    "MEMORY_MERGE_FALLBACK_LOW": "0.2",
    "MEMORY_MERGE_FALLBACK_TOPK": "0",
    "MEMORY_MERGE_FALLBACK_RECENCY_DAYS": "30",
    "MEMORY_MERGE_FALLBACK_CATEGORIES": "Personal, Work,",
    "MEMORY_MERGE_MODE": "UPDATE",
    "MEMORY_SEMANTIC_MIN_IMPORTANCE": "2",
    "MEMORY_LLM_BASE_URL": "http://localhost:11434/v1/",
    "MEMORY_LLM_MODEL": "qwen3",
    "MEMORY_LLM_API_KEY": "sk-yak",
    "EPISODIC_WINDOW_N": "8",
    "EPISODIC_COOLDOWN_TURNS": "3",
    "EPISODIC_COOLDOWN_MINUTES": "0",
    "EPISODIC_MAX_PER_DAY": "5",
    "EPISODIC_MERGE_WINDOW_HOURS": "1.5",
    "EPISODIC_NOVELTY_MIN": "1",
    "MEMORY_GIT": "Follow",
    "MEMORY_NUDGE_QUEUE": "https://SQS.eu-west-1.amazonaws.com/123456789012/Nudges.fifo",
    "MEMORY_HTTP_URL": "https://Memory.example.com/mcp",
    "MEMORY_HTTP_ISSUER": "https://login.example.com/",
    "MEMORY_HTTP_AUDIENCE": "memory",
    "MEMORY_HTTP_PROXIES": "127.0.0.1, 10.0.0.0/8",
    "MEMORY_HTTP_PAGES": "https://page.example.com",
    "MEMORY_HTTP_RATE": "60",
    "MEMORY_HTTP_DRAIN_SECONDS": "2.5",
    "MEMORY_LOG_FORMAT": "json",
}


def test_without_any_setting_everything_has_a_sensible_value() -> None:
    """A newcomer sets nothing."""
    assert read_settings({}) == Settings(user=getpass.getuser())


_HTTP = HttpSettings(
    url="https://memory.example.com/mcp",
    issuer="https://login.example.com/",
    audience="memory",
    proxies=(ip_network("127.0.0.1"), ip_network("10.0.0.0/8")),
    pages=("https://page.example.com",),
    per_minute=60,
    drain_seconds=2.5,
    log_format="json",
)
"""What `_EVERY` says of HTTP."""


def test_every_setting_that_is_named_is_read(tmp_path: Path) -> None:
    """`SETTINGS` is what the README lists."""
    (tmp_path / "p").mkdir()
    given = _EVERY | {
        "MEMORY_PROJECT_DIR": str(tmp_path / "p"),
        "CLAUDE_PROJECT_DIR": str(tmp_path / "claude"),
        "MEMORY_STATE_DIR": str(tmp_path / "s"),
    }

    assert set(given) == set(SETTINGS)
    assert read_settings(given) == Settings(
        meta=True,
        phase=7,
        approval="auto",
        branch="try",
        project_dir=tmp_path / "p",
        state_dir=tmp_path / "s",
        memory_dir=Path.home() / "memories",
        home=tmp_path / "claude" / "relative",
        user="ada",
        team="acme",
        toolsets=("branches",),
        log_level="DEBUG",
        session="s-1",
        provider="supermemory",
        postgres_url=Secret("postgresql://ada:zebra@db.example/shop"),
        postgres_away="wait",
        api_key=Secret("sm_zebra"),
        weights=RerankWeights(recency=2, pinned=0),
        opening=ContextSettings(bootstrap_tokens=900, topk=30, topn=6, interval=0),
        http=_HTTP,
        base_url="https://memory.example:8443",
        container_tag="repo_Shop:1-a",
        remote_timeout=0.5,
        extraction=True,
        embedder=EmbedderSettings(
            "openai", "https://models.example/V1", "bge-m3", Secret("sk-zebra")
        ),
        secrets="refuse",
        capture="auto",
        merging=MergePolicy(
            topk=7,
            auto_update=0.9,
            check_low=0.7,
            fallback_enabled=False,
            fallback_low=0.2,
            fallback_topk=0,
            fallback_recency_days=30,
            fallback_categories=("Personal", "Work"),
            mode="update",
            min_importance=2,
        ),
        language=LanguageSettings("http://localhost:11434/v1", "qwen3", Secret("sk-yak")),
        episode_settings=EpisodeSettings(
            window=8,
            cooldown_turns=3,
            cooldown_minutes=0,
            per_day=5,
            merge_hours=1.5,
            novelty_min=1.0,
        ),
        nudge_queue="https://sqs.eu-west-1.amazonaws.com/123456789012/Nudges.fifo",
        recall_window=7,
        git="follow",
    )


def test_blank_is_the_same_as_not_set() -> None:
    """Clients pass `${VAR:-}` on as an empty text."""
    assert read_settings(dict.fromkeys(SETTINGS, "  ")) == read_settings({})


def test_aliases_yield_to_our_own_names() -> None:
    """Whoever set MEMORY_… meant us."""
    assert read_settings({"ATOMIC_PHASE": "8"}).phase == 8
    assert read_settings({"MEMORY_PHASE": "0", "ATOMIC_PHASE": "8"}).phase == 0
    assert read_settings({"CLAUDE_PROJECT_DIR": "/x"}).project_dir == Path("/x").absolute()


@pytest.mark.parametrize("value", ["2", "phase 2", "phase2", "Phase-2", "phase_2", "0002"])
@pytest.mark.parametrize("name", ["MEMORY_PHASE", "ATOMIC_PHASE"])
def test_a_phase_is_a_number_however_it_is_written(name: str, value: str) -> None:
    """`backtrack` takes the same."""
    assert read_settings({name: value}).phase == 2


@pytest.mark.parametrize("value", ["false", "NO", "off", "0"])
def test_a_memory_that_is_off_is_not_broken_by_any_other_setting(value: str) -> None:
    """Whoever switched it off does not want to hear of it again."""
    wrong = dict.fromkeys(SETTINGS, "~no-such-user/nonsense")
    assert read_settings({**wrong, "MEMORY_ENABLED": value}) == Settings(enabled=False)


def test_the_project_s_folder_must_exist(tmp_path: Path) -> None:
    """A typing error would begin an empty memory elsewhere; the option --project says so too."""
    wrong = str(tmp_path / "typo" / "deep")
    with pytest.raises(SettingError, match=r"MEMORY_PROJECT_DIR .* must be a folder that exists"):
        parse_settings({"MEMORY_PROJECT_DIR": wrong})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["true", "YES", "on", "1"])
def test_memory_can_be_on_in_so_many_words(value: str) -> None:
    """A flag is a word people write from memory."""
    assert read_settings({"MEMORY_ENABLED": value}).enabled is True


@pytest.mark.parametrize(
    ("name", "value", "choices"),
    [
        ("MEMORY_ENABLED", "maybe", "true or false"),
        ("MEMORY_MODE", "readonly", "one of normal, meta"),
        ("MEMORY_APPROVAL", "never", "one of ask, auto, review"),
        ("MEMORY_PHASE", "two", "a whole number from 0 to 9999"),
        ("MEMORY_PHASE", "implementation", "a whole number from 0 to 9999"),
        ("MEMORY_PHASE", "phase", "a whole number from 0 to 9999"),
        ("MEMORY_PHASE", "-1", "a whole number from 0 to 9999"),
        ("MEMORY_PHASE", "10000", "a whole number from 0 to 9999"),
        ("ATOMIC_PHASE", "²", "a whole number from 0 to 9999"),
        ("MEMORY_LOG_LEVEL", "loud", "one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
        ("ATOMIC_MEMORY_MODE", "readonly", "one of normal, meta"),
        ("ATOMIC_MEMORY_ENABLED", "maybe", "true or false"),
        ("ATOMIC_MEMORY_PHASE", "two", "a whole number from 0 to 9999"),
        ("ATOMIC_MEMORY_PROJECT_DIR", "/no/such/folder", "a folder that exists"),
        ("ATOMIC_MEMORY_HOME", "~no-such-user/x", "a folder; nobody here has that home"),
        ("ATOMIC_MEMORY_PROVIDER", "cloud", "one of auto, local, supermemory, postgres"),
        ("MEMORY_PROVIDER", "cloud", "one of auto, local, supermemory, postgres"),
        ("MEMORY_TOOLSETS", "nope", "some of branches, session, layers, hooks"),
        ("ATOMIC_MEMORY_TOOLSETS", "nope", "some of branches, session, layers, hooks"),
        ("SUPERMEMORY_EXTRACTION", "maybe", "on or off"),
        *(
            ("SUPERMEMORY_TIMEOUT", seconds, "seconds, more than 0 and at most 20")
            for seconds in ("0", "-1", "60.1", "nan", "inf", "4s")
        ),
    ],
    ids=ascii,
)
def test_a_value_that_means_nothing_is_refused(name: str, value: str, choices: str) -> None:
    """Carrying on with a default would do what nobody asked for."""
    shown = value if value.lstrip("-").replace(".", "").isdecimal() else repr(value)
    said = f"{name} is {shown}; it must be {choices}. Correct it and start again."
    with pytest.raises(SettingError, match=f"^{re.escape(said)}$"):
        parse_settings({name: value})


def test_toolsets_add_up() -> None:
    """The option of the command and the setting are both wishes."""
    both = add_toolsets(read_settings({"MEMORY_TOOLSETS": "branches"}), "branches")
    assert both.toolsets == ("branches",)
    with pytest.raises(SettingError, match=r"^--toolsets is 'nope'; it must be some of branches"):
        add_toolsets(both, "nope")


def test_a_machine_without_logins_has_a_user_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers run as a number without a name."""

    def nobody(uid: int) -> str:
        raise KeyError(f"uid not found: {uid}")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    if sys.platform != "win32":
        monkeypatch.setattr("pwd.getpwuid", nobody)
    assert read_settings({}).user == "default"


KEY = "sm_zebra42"


def test_a_key_is_shown_nowhere() -> None:
    """Settings are printed and logged when something else is wrong."""
    settings = read_settings({"SUPERMEMORY_API_KEY": KEY})

    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == KEY
    assert KEY not in f"{settings!r} {settings} {settings.api_key}"


@pytest.mark.parametrize(
    "value", [f"{KEY} x", f"{KEY}\nx", f"{KEY}\x00", f"{KEY}é", f"{KEY}\udcff", KEY * 200],
    ids=["space", "newline", "nul", "accent", "no UTF-8", "long"],
)  # fmt: skip
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(value: str) -> None:
    """An HTTP client would refuse it too, and print it."""
    with pytest.raises(SettingError) as caught:
        parse_settings({"SUPERMEMORY_API_KEY": value})
    said = "".join(traceback.format_exception(caught.value))
    assert "SUPERMEMORY_API_KEY cannot be used (not shown here); it must be ASCII letters" in said
    assert "zebra" not in said


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("https://api.supermemory.ai/", "https://api.supermemory.ai"),
        ("HTTPS://Memory.Example:0443", "https://memory.example:443"),
        ("http://localhost:6767", "http://localhost:6767"),
        ("http://127.8.9.10/", "http://127.8.9.10"),
        ("http://[::1]:8787", "http://[::1]:8787"),
    ],
)
def test_a_base_url_has_one_spelling(value: str, url: str) -> None:
    """Keys are kept under it."""
    assert read_settings({"SUPERMEMORY_BASE_URL": value}).base_url == url


@pytest.mark.parametrize(
    "value",
    [
        "api.supermemory.ai", "ftp://api.supermemory.ai", "https://", "https:///", "https://[::2]",
        "https://host:0", "https://host:65536", "https://host:port", "https://host/v3",
        "https://host//", "https://host\\@other", "https://h\u00f6st", "https://ho st",
        "https://host?key=sm_zebra42", "https://host#sm_zebra42", "https://host/?",
        "https://ada:sm_zebra42@host", "sm_zebra42",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_base_url_is_scheme_host_and_port(value: str) -> None:
    """Our routes replace whatever follows; what people paste there may be a secret."""
    with pytest.raises(SettingError) as caught:
        parse_settings({"SUPERMEMORY_BASE_URL": value})
    said = str(caught.value)
    assert said.startswith("SUPERMEMORY_BASE_URL cannot be used (not shown here); it must be https")
    assert "zebra" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("host", ["api.supermemory.ai", "localhost.example.com", "128.0.0.1",
                                  "127.0.0.1.example.com", "192.168.1.2", "127.1"])  # fmt: skip
def test_no_key_goes_over_the_network_unencrypted(host: str) -> None:
    """Of this machine, the network sees nothing; names that only look like it are others."""
    with pytest.raises(SettingError, match=rf"'http://{re.escape(host)}'; it must be https, bec"):
        parse_settings({"SUPERMEMORY_BASE_URL": f"http://{host}"})


@pytest.mark.parametrize("seconds", ["20", "0.001", "2e1"])
def test_a_search_may_wait_as_long_as_its_call(seconds: str) -> None:
    """Both ends of what is allowed."""
    assert read_settings({"SUPERMEMORY_TIMEOUT": seconds}).remote_timeout == float(seconds)


@pytest.mark.parametrize("tag", ["a.b", "a b", "../x", "a/b", "é", "x" * 101, "x\ny"])
def test_a_container_is_a_name_that_the_service_takes(tag: str) -> None:
    """It stands in the path of every request."""
    with pytest.raises(SettingError, match="SUPERMEMORY_CONTAINER_TAG"):
        parse_settings({"SUPERMEMORY_CONTAINER_TAG": f"x{tag}"})


@pytest.mark.parametrize(
    ("name", "value", "holds"),
    [
        ("MEMORY_ENABLED", "flase", {"enabled": False}),
        ("MEMORY_MODE", "mata", {"meta": True}),
        ("MEMORY_SECRETS", "refuze", {"secrets": "refuse"}),
        ("MEMORY_APPROVAL", "aouto", {"approval": "ask"}),
        ("MEMORY_PROJECT_DIR", "/nowhere/at/all", {"meta": True, "project_missing": True}),
        ("MEMORY_BRANCH", "x\ty", {"meta": True, "branch": "main"}),
        ("MEMORY_HOME", "~nobody-of-that-name/x", {"enabled": False, "home": None}),
        ("MEMORY_PROVIDER", "locla", {"cloud_off": "MEMORY_PROVIDER"}),
        ("SUPERMEMORY_BASE_URL", "http://example.com", {"cloud_off": "SUPERMEMORY_BASE_URL"}),
        ("SUPERMEMORY_API_KEY", "x y", {"cloud_off": "SUPERMEMORY_API_KEY", "api_key": None}),
        ("SUPERMEMORY_CONTAINER_TAG", "my.box!", {"cloud_off": "SUPERMEMORY_CONTAINER_TAG"}),
        ("SUPERMEMORY_EXTRACTION", "offf", {"cloud_off": "SUPERMEMORY_EXTRACTION"}),
        ("MEMORY_PHASE", "two", {"phase": None}),
        ("MEMORY_MERGE_TOPK", "many", {"merging": MergePolicy()}),
        ("MEMORY_EMBEDDER", "opnai", {"embedder": EmbedderSettings()}),
        ("ATOMIC_MEMORY_LOG_LEVEL", "loud", {"log_level": "WARNING"}),
    ],
)
def test_a_wrong_value_costs_itself_and_falls_to_the_safe_side(
    name: str, value: str, holds: dict[str, object]
) -> None:
    """What would be stored, sent or done against the user's will cannot be taken back."""
    found = read_settings({name: value, "MEMORY_USER": "ada", "SUPERMEMORY_TIMEOUT": "7"})

    assert {field: getattr(found, field) for field in holds} == holds
    assert (found.user, found.remote_timeout) == ("ada", 7.0), "the others hold"
    (warning,) = found.warnings
    assert warning.startswith(name)
    assert "Correct it and start again. Until then " in warning


def test_settings_that_belong_together_fall_together() -> None:
    """Half of them would send texts to a place, or with a key, that nobody meant."""
    llm = {"MEMORY_LLM_BASE_URL": "https://models.example", "MEMORY_LLM_API_KEY": "sk-yak"}
    found = read_settings({**llm, "MEMORY_EMBEDDER": "openai", "MEMORY_EMBEDDER_MODEL": "m"})

    assert (found.language, found.embedder) == (None, EmbedderSettings())
    assert [warning.split()[0] for warning in found.warnings] == [
        "MEMORY_EMBEDDER_API_KEY",
        "MEMORY_LLM_MODEL",
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("MEMORY_PROJECTDIR", "MEMORY_PROJECT_DIR"),
        ("ATOMIC_MEMORY_PHAES", "ATOMIC_MEMORY_PHASE"),
        ("EPISODIC_MAX_PERDAY", "EPISODIC_MAX_PER_DAY"),
        ("SUPERMEMORY_APIKEY", "SUPERMEMORY_API_KEY"),
    ],
)
def test_a_variable_that_is_almost_a_setting_gets_a_hint(name: str, meant: str) -> None:
    """It does nothing, and nobody would know."""
    (warning,) = read_settings({name: "x", "MEMORY_LIMIT_OF_SOMETHING_ELSE": "1"}).warnings

    assert warning == f"{name} is no setting. Did you mean {meant}? It is ignored."


@pytest.mark.parametrize(
    "name", ["SUPERMEMORY_CONTAINER_TGA", "SUPERMEMORY_URL", "ATOMIC_MEMORY_PROVIDR"]
)
def test_what_may_be_meant_to_lead_elsewhere_keeps_everything_here(name: str) -> None:
    """Memories that went to the wrong place cannot be called back."""
    found = read_settings({name: "x", "SUPERMEMORY_API_KEY": KEY})

    assert found.cloud_off == name
    (warning,) = found.warnings
    assert warning.startswith(f"{name} is no setting. Did you mean ")
    assert warning.endswith("Until then nothing is sent to the cloud: the memory works on this "
                            "machine alone.")  # fmt: skip


def test_a_variable_of_somebody_else_changes_nothing() -> None:
    """Others have a memory, too; and what is set right beside a slip of the pen is meant."""
    others = {"MEMORY_FOO": "1", "MEMORY_FILE_PATH": "x", "MEMORY_SIZE": "2", "MEMORY_DRI": " "}
    found = read_settings({**others, "SUPERMEMORY_BASE_URL": "http://localhost:1",
                           "SUPERMEMORY_BASE_ULR": "x"})  # fmt: skip

    assert found.cloud_off == ""
    assert found.warnings == (
        "SUPERMEMORY_BASE_ULR is no setting. Did you mean SUPERMEMORY_BASE_URL? It is ignored.",
    )


@pytest.mark.parametrize(
    "url", ["5", "http://ada:zebra@db/shop", "postgresql://ada:zebra@db", "postgresql://d b/shop"]
)
def test_an_address_that_leads_to_no_database_turns_memory_off(url: str) -> None:
    """Memories must not land in files that nobody else sees; the address may hold a password."""
    found = read_settings({"MEMORY_PROVIDER": "postgres", "MEMORY_POSTGRES_URL": url})

    assert not found.enabled
    assert found.off == (
        "MEMORY_POSTGRES_URL cannot be used (not shown here); it must be "
        "postgresql://user@host:port/database. Correct it and start again. Until then memory is "
        "off, so that nothing lands elsewhere."
    )
    assert "zebra" not in f"{found.off}{found.warnings}"


def test_weights_have_short_names_too() -> None:
    """As the formula of others writes them."""
    short = read_settings({"MEMORY_RERANK_WEIGHTS": "sim=2,imp=0.5,rec=0,pin=1"})

    assert short.weights == RerankWeights(similarity=2, importance=0.5, recency=0, pinned=1)
    assert short.warnings == ()


# Settings that belong together, and the other names of them all.


@pytest.mark.parametrize("name", [name for name in SETTINGS if name.startswith("MEMORY_")])
def test_every_setting_of_ours_has_an_alias(name: str, tmp_path: Path) -> None:
    """Pipelines that set ATOMIC_… for all of their tools set ours too; ours comes first."""
    one, other = {
        "MEMORY_ENABLED": ("true", "false"),
        "MEMORY_MODE": ("meta", "normal"),
        "MEMORY_PHASE": ("7", "8"),
        "MEMORY_APPROVAL": ("auto", "ask"),
        "MEMORY_PROJECT_DIR": (str(tmp_path), str(Path.home())),
        "MEMORY_TOOLSETS": ("branches", ","),
        "MEMORY_LOG_LEVEL": ("INFO", "ERROR"),
        "MEMORY_PROVIDER": ("local", "supermemory"),
        "MEMORY_POSTGRES_URL": ("postgresql://a/b", "postgresql://a/c"),
        "MEMORY_POSTGRES_AWAY": ("wait", "refuse"),
        "MEMORY_RERANK_WEIGHTS": ("pinned=1", "pinned=2"),
        "MEMORY_BOOTSTRAP_TOKENS": ("60", "8000"),
        "MEMORY_EMBEDDER": ("none", "minilm"),
        "MEMORY_EMBEDDER_URL": ("https://a.example", "https://b.example/v1"),
        "MEMORY_SECRETS": ("allow", "refuse"),
        "MEMORY_CAPTURE": ("off", "auto"),
        "MEMORY_MERGE_FALLBACK_ENABLED": ("no", "yes"),
        "MEMORY_MERGE_FALLBACK_CATEGORIES": ("a", "b"),
        "MEMORY_MERGE_MODE": ("update", "recreate"),
        "MEMORY_MERGE_AUTO_UPDATE": ("0.9", "0.8"),
        "MEMORY_MERGE_CHECK_LOW": ("0.5", "0.7"),
        "MEMORY_MERGE_FALLBACK_LOW": ("0.1", "0.2"),
        "MEMORY_LLM_BASE_URL": ("https://a.example", "https://b.example/v1"),
        "MEMORY_LLM_MODEL": ("a", "b"),
        "MEMORY_GIT": ("off", "follow"),
        "MEMORY_NUDGE_QUEUE": ("https://a.example/q", "https://b.example/1/q"),
        "MEMORY_LLM_API_KEY": ("a", "b"),
        "MEMORY_HTTP_URL": ("https://a.example/mcp", "https://b.example/mcp"),
        "MEMORY_HTTP_ISSUER": ("https://a.example", "https://a.example/"),
        "MEMORY_HTTP_PROXIES": ("127.0.0.1", "10.0.0.0/8"),
        "MEMORY_HTTP_PAGES": ("https://a.example", "https://b.example"),
        "MEMORY_LOG_FORMAT": ("json", "text"),
    }.get(name, ("4", "5"))
    given: dict[str, str] = {}
    if name.startswith("MEMORY_EMBEDDER_"):
        given = {"MEMORY_EMBEDDER": "ollama", "MEMORY_EMBEDDER_MODEL": "m"}
    if name.startswith("MEMORY_LLM_"):
        given = {"MEMORY_LLM_MODEL": "m", "MEMORY_LLM_BASE_URL": "http://localhost:1"}
    given = {setting: value for setting, value in given.items() if setting != name}
    meant = read_settings({**given, name: one})

    assert meant != read_settings({**given, name: other})
    assert read_settings({**given, f"ATOMIC_{name}": one}) == meant
    assert read_settings({**given, f"ATOMIC_{name}": other, name: one}) == meant
    assert read_settings({**given, f"ATOMIC_{name}": one, name: " "} | given) == meant


def test_the_alias_of_a_setting_comes_before_that_of_another_tool() -> None:
    """ATOMIC_MEMORY_PHASE was written for us, ATOMIC_PHASE and CLAUDE_… for everybody."""
    assert read_settings({"ATOMIC_MEMORY_PHASE": "7", "ATOMIC_PHASE": "8"}).phase == 7
    assert read_settings({"ATOMIC_SUPERMEMORY_API_KEY": "sm_zebra"}).api_key is None


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            {"MEMORY_NUDGE_QUEUE": "https://sqs.eu-west-1.amazonaws.com"},
            r"MEMORY_NUDGE_QUEUE .* the URL of a queue, like https://sqs\.",
        ),
        ({"MEMORY_NUDGE_QUEUE": "http://sqs.example/1/q"}, "MEMORY_NUDGE_QUEUE .* https, because"),
        ({"MEMORY_NUDGE_QUEUE": "nudges"}, "MEMORY_NUDGE_QUEUE cannot be used"),
        ({"MEMORY_MERGE_AUTO_UPDATE": "85"}, "MEMORY_MERGE_AUTO_UPDATE is 85; .* from 0 to 1"),
        ({"MEMORY_MERGE_CHECK_LOW": "nan"}, "MEMORY_MERGE_CHECK_LOW is 'nan'"),
        (
            {"MEMORY_MERGE_CHECK_LOW": "0.9"},
            "CHECK_LOW is 0.9; .* at most MEMORY_MERGE_AUTO_UPDATE .0.85.",
        ),
        (
            {"MEMORY_MERGE_FALLBACK_LOW": "0.7"},
            "FALLBACK_LOW is 0.7; .* at most MEMORY_MERGE_CHECK_LOW .0.6.",
        ),
        ({"MEMORY_MERGE_TOPK": "2.5"}, "a whole number from 0 to 10"),
        ({"MEMORY_CHECKPOINT_INTERVAL": "1e3"}, "a whole number from 0 to 1000"),
        ({"MEMORY_MERGE_MODE": "merge"}, "one of recreate, update"),
        ({"MEMORY_SEMANTIC_MIN_IMPORTANCE": "0"}, "from 1 to 5"),
        ({"MEMORY_SECRETS": "keep"}, "one of redact, refuse, allow"),
        ({"MEMORY_LLM_API_KEY": "sk-yak"}, "MEMORY_LLM_MODEL .* because MEMORY_LLM_API_KEY is set"),
        ({"MEMORY_LLM_MODEL": "gpt"}, "MEMORY_LLM_API_KEY .* a key for https://api.openai.com/v1"),
        ({"EPISODIC_MAX_PER_DAY": "-1"}, "from 0 to 1000"),
        ({"EPISODIC_NOVELTY_MIN": "much"}, "from 0 to 1"),
    ],
)
def test_knobs_out_of_their_range_are_refused(given: dict[str, str], complaint: str) -> None:
    """A band upside down would merge what is not the same."""
    with pytest.raises(SettingError, match=complaint):
        parse_settings(given)


@pytest.mark.parametrize(
    "value", ["1,2,3,4", "recency", "speed=1", "pinned=-1", "pinned=nan", "pinned=11", "="]
)
def test_weights_that_mean_nothing_are_refused(value: str) -> None:
    """The message names the four, the bounds and an example."""
    with pytest.raises(SettingError, match="similarity, importance, recency, pinned"):
        parse_settings({"MEMORY_RERANK_WEIGHTS": value})
