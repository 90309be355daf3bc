"""Where the repository, the data of the tests and their helpers are."""

from pathlib import Path
from typing import Final

__all__ = ["DATA", "ROOT", "SUPPORT", "TESTS"]

SUPPORT: Final = Path(__file__).parent
TESTS: Final = SUPPORT.parent
ROOT: Final = TESTS.parent
DATA: Final = TESTS / "data"
