"""Quicker work beside the calls: imported before everything else, it shortens what is waited for.

The limits are constants that the other modules take over as they are imported, so this one must
be the first. Nothing in the package reads such a thing: only a test's own script can ask for it.
The proportions are kept: a lease outlasts the requests that are made under it.
"""

from typing import Final

from memory_mcp.domain import limits

__all__ = ["is_in_force"]

_SHORTENED: Final = {
    "REMOTE_PAUSE_SECONDS_MIN": 0.02,
    "REMOTE_PAUSE_SECONDS_MAX": 0.1,
    "REMOTE_DELIVERY_SECONDS_MAX": 0.5,
    "LEASE_SECONDS": 3.0,
    "CONFIRM_SECONDS": (0.05, 0.1, 0.2),
    "ENCODE_IDLE_SECONDS_MAX": 0.2,
}

for name, value in _SHORTENED.items():
    if not hasattr(limits, name):
        raise AssertionError(name)
    setattr(limits, name, value)


def is_in_force() -> None:
    """Whether it really came first, as far as the lease is concerned."""
    from memory_mcp.sync import push  # noqa: PLC0415  # after the limits were shortened

    if vars(push)["LEASE_SECONDS"] != _SHORTENED["LEASE_SECONDS"]:
        raise AssertionError("import haste before everything else")
