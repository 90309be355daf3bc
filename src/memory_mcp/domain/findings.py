"""What the doctor finds."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """Something that is not as it must (`must`: memories are at stake) or should be.

    `remedy` is the next step for a person; `repaired` says that it was carried out just now.
    """

    code: str
    severity: Literal["must", "should"]
    what: str
    remedy: str
    repaired: bool = False
