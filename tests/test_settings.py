"""Every setting is read once, and one that means nothing is refused with the choices."""

import getpass
import re
from pathlib import Path

import pytest

from memory_mcp.errors import SettingError
from memory_mcp.settings import SETTINGS, Settings, read_settings, with_toolsets


def test_without_any_setting_everything_has_a_sensible_value() -> None:
    """A newcomer sets nothing."""
    assert read_settings({}) == Settings(user=getpass.getuser())


def test_every_setting_that_is_named_is_read(tmp_path: Path) -> None:
    """`SETTINGS` is what the README lists."""
    (tmp_path / "p").mkdir()
    given = {
        "MEMORY_ENABLED": "On",
        "MEMORY_MODE": "META",
        "MEMORY_PHASE": " 7 ",
        "ATOMIC_PHASE": "8",
        "MEMORY_APPROVAL": "Auto",
        "MEMORY_BRANCH": "try",
        "MEMORY_PROJECT_DIR": str(tmp_path / "p"),
        "CLAUDE_PROJECT_DIR": str(tmp_path / "claude"),
        "MEMORY_STATE_DIR": str(tmp_path / "s"),
        "MEMORY_DIR": "~/memories",
        "MEMORY_HOME": "relative",
        "MEMORY_USER": "ada",
        "MEMORY_TOOLSETS": "branches, branches,",
        "MEMORY_LOG_LEVEL": "debug",
        "CLAUDE_CODE_SESSION_ID": "s-1",
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
        home=Path.cwd() / "relative",
        user="ada",
        toolsets=("branches",),
        log_level="DEBUG",
        session="s-1",
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
        read_settings({"MEMORY_PROJECT_DIR": wrong})
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
        ("MEMORY_APPROVAL", "never", "one of ask, auto"),
        ("MEMORY_PHASE", "two", "a whole number from 0 to 9999"),
        ("MEMORY_PHASE", "implementation", "a whole number from 0 to 9999"),
        ("MEMORY_PHASE", "phase", "a whole number from 0 to 9999"),
        ("MEMORY_PHASE", "-1", "a whole number from 0 to 9999"),
        ("MEMORY_PHASE", "10000", "a whole number from 0 to 9999"),
        ("ATOMIC_PHASE", "²", "a whole number from 0 to 9999"),
        ("MEMORY_LOG_LEVEL", "loud", "one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
    ],
    ids=ascii,
)
def test_a_value_that_means_nothing_is_refused(name: str, value: str, choices: str) -> None:
    """Carrying on with a default would do what nobody asked for."""
    said = f"{name} is {value!r}; it must be {choices}. Correct it and start again."
    with pytest.raises(SettingError, match=f"^{re.escape(said)}$"):
        read_settings({name: value})


def test_toolsets_add_up() -> None:
    """The option of the command and the setting are both wishes."""
    both = with_toolsets(read_settings({"MEMORY_TOOLSETS": "branches"}), "branches")
    assert both.toolsets == ("branches",)
    with pytest.raises(SettingError, match="'nope'; it must be some of branches"):
        with_toolsets(both, "nope")


def test_a_machine_without_logins_has_a_user_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers run as a number without a name."""

    def nobody() -> str:
        raise KeyError("uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert read_settings({}).user == "default"
