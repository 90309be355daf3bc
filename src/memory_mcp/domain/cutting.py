"""A text that is too long for its place ends in a sign that says so."""

__all__ = ["cut"]


def cut(text: str, chars_max: int) -> str:
    """The text itself, or its beginning and `…`, together so many characters at most."""
    return text if len(text) <= chars_max else f"{text[: chars_max - 1].rstrip()}…"
