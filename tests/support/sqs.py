"""A server that speaks SQS, from PyPI (moto), in a process of its own; and queues there.

python sqs.py        serves on a free port of this machine, and prints it
"""

import subprocess
import sys
from collections.abc import Callable, Generator
from functools import cache
from importlib import import_module
from itertools import count
from typing import Any, Final

import pytest

from memory_mcp.domain import limits

__all__ = ["Queues", "client_of", "sqs", "sqs_server"]

ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_CONFIG_FILE": "none",
    "AWS_SHARED_CREDENTIALS_FILE": "none",
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""Amazon's own example of a key; nothing of this machine's set-up is read."""

_NUMBERS: Final = count(1)

Queues = Callable[..., str]
"""Makes a queue (`fifo=True`: a FIFO one) and tells its URL."""


def client_of(url: str) -> Any:
    """The vendor's client, as a program has it that leaves nudges."""
    return import_module("boto3.session").Session().client("sqs", endpoint_url=url)


@cache
def _shared_loader(path: str | None) -> Any:
    """Read the vendor's description of the service once, and not for each client."""
    return import_module("botocore.loaders").create_loader(path)


@pytest.fixture(scope="session")
def sqs_server() -> Generator[str]:
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.kill()
    process.wait()


@pytest.fixture
def sqs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Queues:
    """Queues on a server of our own, which is started when the first one is made.

    On a busy machine it may take longer than a session waits for it.
    """
    for limit in ("NUDGE_SECONDS_MAX", "NUDGE_TAKE_SECONDS_MAX"):
        monkeypatch.setattr(limits, limit, 60.0)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("botocore.session.create_loader", _shared_loader)

    def made(*, fifo: bool = False) -> str:
        client = client_of(request.getfixturevalue("sqs_server"))
        name = f"nudges-{next(_NUMBERS)}" + (".fifo" if fifo else "")
        url = client.create_queue(QueueName=name, Attributes={"FifoQueue": "true"} if fifo else {})[
            "QueueUrl"
        ]
        client.close()
        return url

    return made


def _serve() -> None:
    app = import_module("moto.moto_server.werkzeug_app")
    served = app.DomainDispatcherApplication(app.create_backend_app)
    server = import_module("werkzeug.serving").make_server("127.0.0.1", 0, served, threaded=True)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    _serve()
