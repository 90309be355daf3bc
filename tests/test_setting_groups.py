"""Settings that belong together, and the other names of them all."""

from pathlib import Path

import pytest

from memory_mcp.config.settings import SETTINGS, checked_settings, read_settings
from memory_mcp.errors import SettingError


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
        "MEMORY_RERANK_WEIGHTS": ("pinned=1", "pinned=2"),
        "MEMORY_BOOTSTRAP_TOKENS": ("60", "8000"),
        "MEMORY_EMBEDDER": ("none", "minilm"),
        "MEMORY_EMBEDDER_URL": ("https://a.example", "https://b.example/v1"),
        "MEMORY_SECRETS": ("allow", "refuse"),
        "MEMORY_MERGE_FALLBACK_ENABLED": ("no", "yes"),
        "MEMORY_MERGE_FALLBACK_CATEGORIES": ("a", "b"),
        "MEMORY_MERGE_MODE": ("update", "recreate"),
        "MEMORY_MERGE_AUTO_UPDATE": ("0.9", "0.8"),
        "MEMORY_MERGE_CHECK_LOW": ("0.5", "0.7"),
        "MEMORY_MERGE_FALLBACK_LOW": ("0.1", "0.2"),
        "MEMORY_LLM_BASE_URL": ("https://a.example", "https://b.example/v1"),
        "MEMORY_LLM_MODEL": ("a", "b"),
        "MEMORY_NUDGE_QUEUE": ("https://a.example/q", "https://b.example/1/q"),
        "MEMORY_LLM_API_KEY": ("a", "b"),
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
        ({"MEMORY_MERGE_AUTO_UPDATE": "85"}, "MEMORY_MERGE_AUTO_UPDATE is '85'; .* from 0 to 1"),
        ({"MEMORY_MERGE_CHECK_LOW": "nan"}, "MEMORY_MERGE_CHECK_LOW is 'nan'"),
        (
            {"MEMORY_MERGE_CHECK_LOW": "0.9"},
            "CHECK_LOW is '0.9'; .* at most MEMORY_MERGE_AUTO_UPDATE .0.85.",
        ),
        (
            {"MEMORY_MERGE_FALLBACK_LOW": "0.7"},
            "FALLBACK_LOW is '0.7'; .* at most MEMORY_MERGE_CHECK_LOW .0.6.",
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
        checked_settings(given)


@pytest.mark.parametrize(
    "value", ["1,2,3,4", "recency", "speed=1", "pinned=-1", "pinned=nan", "pinned=11", "="]
)
def test_weights_that_mean_nothing_are_refused(value: str) -> None:
    """The message names the four, the bounds and an example."""
    with pytest.raises(SettingError, match="similarity, importance, recency, pinned"):
        checked_settings({"MEMORY_RERANK_WEIGHTS": value})
