"""Labelled samples from `tests/data`: secrets, and what people say of themselves.

A secret stands there in pieces, so that no scanner takes the file for a leak.
"""

import json
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from paths import DATA

__all__ = ["Sample", "Secrets", "Statements", "read_json", "read_secrets", "read_statements"]


@dataclass(frozen=True)
class Sample:
    """A text and what of it is secret; nothing, if it only looks like it."""

    text: str
    secret: str = ""


class Secrets(NamedTuple):
    """Texts that hold a secret, and texts that only look like it."""

    secrets: tuple[Sample, ...]
    harmless: tuple[Sample, ...]


class Statements(NamedTuple):
    """Texts with what they say of the user, and texts that say nothing of the user.

    `city=Berlin; !name=Ada` reads: the city is Berlin, the name is not Ada.
    """

    said: dict[str, str]
    harmless: tuple[str, ...]


def read_json(name: str) -> Any:
    """Read a file of samples; the name is its path below `tests/data`."""
    return json.loads((DATA / name).read_text("utf-8"))


def read_secrets(name: str) -> Secrets:
    """Read one set of `tests/data/secrets`; `{}` of a text is the place of its secret."""
    found = read_json(f"secrets/{name}.json")
    return Secrets(
        tuple(
            Sample(entry["text"].replace("{}", secret), secret)
            for entry in chain.from_iterable(found["secrets"].values())
            for secret in ["".join(entry["pieces"])]
        ),
        tuple(map(Sample, chain.from_iterable(found["harmless"].values()))),
    )


def read_statements(name: str) -> Statements:
    """Read one set of `tests/data/statements`."""
    found = read_json(f"statements/{name}.json")
    return Statements(found["said"], tuple(found["harmless"]))
