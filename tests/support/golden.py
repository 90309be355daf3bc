"""Texts that were looked at and found good: what is rendered must be the same, byte for byte.

When a text changes on purpose, `RENEW_GOLDEN=1 python -m pytest` writes the files in
tests/data/golden anew, of those tests that run. Read the difference (`git diff tests/data/golden`)
before it is committed: it is what users and models will see.
"""

import os
from typing import Final

from paths import DATA

__all__ = ["golden"]

_FOLDER: Final = DATA / "golden"


def golden(name: str, text: str) -> None:
    """The text is what stands in the file of that name."""
    path = _FOLDER / name
    data = text.encode()
    if os.environ.get("RENEW_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert path.read_bytes().decode() == data.decode(), f"{name}: see tests/support/golden.py"
