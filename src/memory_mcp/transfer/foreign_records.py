"""From what another program kept to what may be stored here: cleaned, cut to size, and counted."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.deduplication import Secrets
from memory_mcp.domain.ids import RecordId, made_id
from memory_mcp.domain.record import Draft, Reach
from memory_mcp.domain.transfer import ForeignMemory, LeftOut
from memory_mcp.engine.cleaning import clean
from memory_mcp.errors import InvalidRequestError
from memory_mcp.fence import OPEN
from memory_mcp.text.drafts import check_draft
from memory_mcp.text.recalled import drop_headings, find_recalled_ids, separate_recalled
from memory_mcp.text.secrets import Redacted
from memory_mcp.text.sentences import number_title, split_pieces

_UNDATED: Final = datetime.fromisoformat("2000-01-01T00:00:00Z")
"""In the ids of what has no time of its own: a file's time would change when it is copied."""


@dataclass(frozen=True)
class Adopted:
    """An item as it may be stored: a draft for each piece of it, with its id."""

    item: str
    pieces: tuple[tuple[RecordId, Draft], ...]
    at: datetime


@dataclass
class Adopting:
    """Takes item after item, and counts what was taken out of them."""

    source: str
    secrets: Secrets
    reach: Reach | None
    known: Collection[RecordId]
    now: datetime
    redactions: Counter[str] = field(default_factory=Counter[str])
    labels_lost: int = 0
    split: int = 0
    ahead: int = 0

    def take(self, item: ForeignMemory) -> Adopted | LeftOut:
        """The item as it may be stored, or why it may not."""
        if len(item.content) > limits.ITEM_CHARS_MAX:
            return LeftOut(
                item.item,
                f"has {len(item.content):,} characters; up to {limits.ITEM_CHARS_MAX:,} are split "
                "into memories, more is a document",
            )
        found: Counter[str] = Counter()
        try:
            draft = self._draft(item, found)
            reason = self._refused(item, draft)
            pieces = () if reason else self._pieces(item, draft)
            for _, piece in pieces:
                check_draft(piece, self.now)
        except _SecretError:
            return LeftOut(_place(item), "holds what looks like a secret (MEMORY_SECRETS=refuse)")
        except InvalidRequestError as error:
            return LeftOut(_place(item), str(error))
        label = _place(item) if found else item.item
        if reason:
            return LeftOut(label, reason)
        self.redactions += found
        self.split += len(pieces) > 1
        self.ahead += self._is_ahead(item)
        at = item.at or item.around or self.now
        return Adopted(label, pieces, min(at, self.now))

    def _is_ahead(self, item: ForeignMemory) -> bool:
        """Whether it says that it is of a time to come: then it has none that counts."""
        return item.at is not None and item.at > self.now

    def _draft(self, item: ForeignMemory, found: Counter[str]) -> Draft:
        def plain(text: str) -> str:
            try:
                said = clean(text, self.secrets)
            except InvalidRequestError as error:
                raise _SecretError from error
            found.update(redaction.rule for redaction in said.redactions)
            return said.text

        title = " ".join(plain(item.title).split())
        content = self._own(plain(item.content))
        if len(title) > limits.TITLE_CHARS_MAX:  # the whole of it is not to be lost
            content = content if title in content else f"{title}\n\n{content}"
            title = f"{title[: limits.TITLE_CHARS_MAX - 1].rstrip()}\u2026"
        tags = [plain(tag).strip() for tag in item.tags]
        return Draft(
            content=content.strip(),
            kind=item.kind,
            title=title,
            category=next(iter(self._short([plain(item.category)], 1)), ""),
            tags=tuple(self._short(tags, limits.TAGS_MAX)),
            expires_at=item.expires_at,
            reach=self.reach or item.reach,
        )

    def _own(self, content: str) -> str:
        """Without what came out of our own recall: known by our fence, or an id that is here."""
        if OPEN in content:
            return separate_recalled(content).own
        if any(id_ in self.known for id_ in find_recalled_ids(content)):
            return drop_headings(separate_recalled(content).own)
        return content

    def _refused(self, item: ForeignMemory, draft: Draft) -> str:
        if Redacted(draft.content).nothing_left:
            return "is nothing but a secret, which is not kept"
        if not draft.content and item.content.strip():
            return "came out of this memory's own recall"
        if draft.expires_at is not None and draft.expires_at <= self.now:
            return f"expired on {draft.expires_at:%Y-%m-%d}"
        return ""

    def _pieces(self, item: ForeignMemory, draft: Draft) -> tuple[tuple[RecordId, Draft], ...]:
        parts = split_pieces(draft.content, limits.CONTENT_CHARS_MAX) or [draft.content]
        whose = "" if draft.reach == "project" else f"{draft.reach}\n"
        at = _UNDATED if item.at is None or self._is_ahead(item) else item.at
        made: list[tuple[RecordId, Draft]] = []
        for number, part in enumerate(parts, 1):
            which = f"\n{number}" if len(parts) > 1 else ""
            title = number_title(draft.title, number, len(parts), limits.TITLE_CHARS_MAX)
            name = f"{whose}{self.source}\n{item.identity}{which}"
            piece = replace(draft, content=part, title=title)
            made.append((made_id(at, name), piece))
        return tuple(made)

    def _short(self, labels: list[str], most: int) -> list[str]:
        """The labels that fit; the others are counted."""
        wanted = list(dict.fromkeys(label for label in labels if label))
        kept = [label for label in wanted if len(label) <= limits.TAG_CHARS_MAX][:most]
        self.labels_lost += len(wanted) - len(kept)
        return kept


class _SecretError(Exception):
    """A text holds a secret, and those are to be refused."""


def _place(item: ForeignMemory) -> str:
    """Where an item stands, without its first words: they may be the secret."""
    return item.item.partition(": ")[0]
