"""A text that is too long for its place, wherever one is shown."""

from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.domain.normalise import cut


@given(st.text(max_size=40), st.integers(1, 30))
def test_a_cut_text_is_never_longer_and_says_that_it_was_cut(text: str, chars_max: int) -> None:
    """Places count their characters; and whoever reads half a sentence must know it is half."""
    shown = cut(text, chars_max)
    assert len(shown) <= chars_max
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]))
    assert cut("One two three.", 5) == "One…"
