"""What every text of a caller goes through before it is written."""

from dataclasses import replace

import pytest
from fakes import fake_workspace

from memory_mcp.domain.outcomes import Redaction
from memory_mcp.domain.record import Draft
from memory_mcp.engine.redaction import redact_draft, redact_text, redact_with_note
from memory_mcp.engine.workspace import Policy
from memory_mcp.errors import InvalidRequestError
from memory_mcp.text.secrets import RedactedText

SECRET = "hunter" + "2"
TEXT = f"It\u2019s password={SECRET}"


def test_a_secret_is_removed_and_the_receipt_says_which_and_where() -> None:
    """The user must learn that what was stored is not what was said."""
    redacted = redact_text(TEXT, "redact")

    assert redacted == RedactedText(
        "It's password=[redacted:password]", (Redaction("password", 14),)
    )


def test_every_field_of_a_draft_is_cleaned_and_named() -> None:
    """A title is as readable as a text."""
    draft, found = redact_draft(
        fake_workspace(),
        Draft(content="Fine\u2026 \u201cso\u201d", title=TEXT, tags=("a\x00b", TEXT)),
    )

    clean_text = "It's password=[redacted:password]"
    assert draft == Draft(content='Fine\u2026 "so"', title=clean_text, tags=("ab", clean_text))
    assert found == (Redaction("password", 14, "title"), Redaction("password", 14, "tags"))


def test_a_refusal_names_the_rule_and_never_the_secret() -> None:
    """The message goes into a transcript and into logs."""
    with pytest.raises(InvalidRequestError, match="password at 14") as refused:
        redact_draft(fake_workspace(policy=Policy(secrets="refuse")), Draft(content=TEXT))

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("field", ["content", "title", "category", "tags"])
def test_a_refusal_names_the_field(field: str) -> None:
    """Who reads "at 14" looks in the text, and finds nothing there if it was a tag."""
    held = {field: (TEXT,) if field == "tags" else TEXT}
    draft = replace(Draft(content="fine"), **held)
    with pytest.raises(InvalidRequestError, match=f"field '{field}' .*password at 14"):
        redact_draft(fake_workspace(policy=Policy(secrets="refuse")), draft)


def test_a_refusal_of_a_single_text_names_no_field() -> None:
    """A summary or a reason is all there is."""
    with pytest.raises(InvalidRequestError, match=r"^The text holds .*password at 14"):
        redact_text(TEXT, "refuse")


def test_a_text_without_secrets_is_only_normalised() -> None:
    """Refusing secrets must not refuse anything else."""
    assert redact_text("It\u2019s fine", "refuse") == RedactedText("It's fine")
    assert redact_with_note(fake_workspace(), "It\u2019s fine") == ("It's fine", ())


def test_a_user_who_allows_secrets_keeps_the_text() -> None:
    """It is their machine; the spelling is still unified."""
    assert redact_text(TEXT, "allow") == RedactedText(f"It's password={SECRET}")


def test_a_long_list_of_removals_stays_a_sentence() -> None:
    """A whole .env file handed in is one note, not a page."""
    text = "\n".join(f"PASSWORD_{at}={SECRET}{at}" for at in range(40))
    _, (note,) = redact_with_note(fake_workspace(), text)

    assert note.startswith("Taken out before anything was written: password at ")
    assert note.endswith(", 28 more.")
