"""A compressed text is never longer than asked, whatever a model answers."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from fake_language import FakeLanguage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_mcp.build import build_workspace
from memory_mcp.config.settings import parse_settings
from memory_mcp.engine.workspace import ShortenedTexts, Workspace
from memory_mcp.layers import CompressionRequest, compress
from memory_mcp.text.sentences import shorten

TEXTS = st.text() | st.lists(
    st.sampled_from(["It ran.", "node 3", "71.2", "\n", "。", "naïve", " ", "ghp_", "x" * 30])
).map(" ".join)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    read = parse_settings({"MEMORY_HOME": str(tmp_path), "MEMORY_EMBEDDER": "none"})
    return build_workspace(read).workspace


@given(text=TEXTS, chars=st.integers(-2, 60))
def test_what_is_left_is_the_beginning(text: str, chars: int) -> None:
    """Nothing is added, and a text that fits stays as it is."""
    short = shorten(text, chars)

    assert len(short) <= max(chars, 0)
    assert text.startswith(short)
    assert short == text or len(text) > chars
    assert shorten(short, chars) == short


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    text=TEXTS,
    chars=st.integers(-2, 60),
    about=TEXTS,
    answers=st.lists(TEXTS, max_size=4),
)
def test_it_is_never_longer_and_never_fails(
    workspace: Workspace, text: str, chars: int, about: str, answers: list[str]
) -> None:
    """The same question has the same answer."""
    language = FakeLanguage()
    language.shortened = list(answers)
    asking = replace(workspace, language=language, shortened=ShortenedTexts())
    request = CompressionRequest(chars, about)

    short = asyncio.run(compress(asking, text, request))

    assert len(short) <= max(chars, 0)
    assert short == text or len(text) > chars
    if not answers:
        assert asyncio.run(compress(asking, text, request)) == short
