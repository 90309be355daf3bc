"""Hosts of this machine and of its private network, and databases by their addresses."""

from contextlib import suppress
from ipaddress import IPv4Network, ip_address
from typing import Final
from urllib.parse import urlsplit

_PRIVATE: Final = tuple(
    IPv4Network(net) for net in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)


def is_loopback(host: str) -> bool:
    """Whether the name or address is this machine's."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_private(host: str) -> bool:
    """Whether the name or address belongs to a home's or an office's network."""
    if host.endswith(".local"):
        return True
    try:
        return any(ip_address(host) in network for network in _PRIVATE)
    except ValueError:
        return False


_POSTGRES_PORT: Final = 5432


def name_database(url: str) -> str:
    """The database of a URL as messages name it: without user, password and options."""
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    with suppress(ValueError):  # several hosts with a port each
        return f"postgresql://{host}:{parts.port or _POSTGRES_PORT}{parts.path}"
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"
