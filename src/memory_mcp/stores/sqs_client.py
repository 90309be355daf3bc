"""Amazon's client, as the AWS environment says, and its errors in our words. Needs the extra `sqs`.

The library is imported when a client is made, and by nobody else. It waits for an answer, so it is
used in a thread; that is a daemon, so that a name server that does not answer keeps no process from
ending.
"""

import asyncio
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from threading import Thread
from typing import Any, Final, Protocol, TypeVar

from memory_mcp.errors import RemoteBlockedError, RemoteError, RemoteUnavailableError

__all__ = ["Json", "SqsClient", "in_thread", "sqs_client", "sqs_errors"]

T = TypeVar("T")

_CONNECT_SECONDS_MAX: Final = 2.0
_ANSWER_SECONDS_MAX: Final = 3.0

_AMAZON: Final = re.compile(r"https://sqs\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/")
"""Any other host is an endpoint of its own: a VPC's, or a server that speaks the same language."""
_UNARMED: Final = frozenset({"NoCredentialsError", "PartialCredentialsError", "NoRegionError"})

Json = Mapping[str, Any]


class SqsClient(Protocol):
    """What we use of boto3's client, which has no types."""

    def send_message(self, **request: Any) -> Json: ...

    def receive_message(self, **request: Any) -> Json: ...

    def delete_message(self, **request: Any) -> Json: ...

    def delete_message_batch(self, **request: Any) -> Json: ...

    def change_message_visibility_batch(self, **request: Any) -> Json: ...

    def close(self) -> None: ...


@contextmanager
def sqs_client(url: str) -> Generator[SqsClient]:
    """A client as the AWS environment says. What it raises is said in our words."""
    try:
        config = import_module("botocore.config")
        session = import_module("boto3.session")
    except ImportError as error:
        raise RemoteBlockedError(
            "MEMORY_NUDGE_QUEUE needs a library that is not installed: "
            "pip install 'backtrack-memory[sqs]'."
        ) from error
    amazon = _AMAZON.match(url)
    with ExitStack() as opened:
        opened.enter_context(sqs_errors(url))
        client: SqsClient = session.Session().client(
            "sqs",
            region_name=amazon.group(1) if amazon else None,
            endpoint_url=None if amazon else _origin(url),
            config=config.Config(
                connect_timeout=_CONNECT_SECONDS_MAX,
                read_timeout=_ANSWER_SECONDS_MAX,
                retries={"total_max_attempts": 1},
            ),
        )
        opened.callback(client.close)
        yield client


@contextmanager
def sqs_errors(url: str) -> Generator[None]:
    """What the client raises, said in our words."""
    errors = import_module("botocore.exceptions")
    try:
        yield
    except errors.ClientError as error:
        raise _refused(url, error.response) from error
    except errors.BotoCoreError as error:
        raise _failed(url, type(error).__name__) from error


def _origin(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


def _refused(url: str, response: Json) -> RemoteError:
    """It answered, and not with what was asked for."""
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = response.get("Error", {}).get("Code", "no reason given")
    if 400 <= status < 500 and status != 429 and "Throttl" not in code:  # noqa: PLR2004  # of HTTP
        return RemoteBlockedError(
            f"{url} refused ({code}). Check MEMORY_NUDGE_QUEUE and the AWS credentials."
        )
    return RemoteUnavailableError(f"{url} could not do it now ({code}). Try again later.")


def _failed(url: str, name: str) -> RemoteError:
    """It did not answer, or was not even asked. The library's own words may hold a key."""
    if name in _UNARMED:
        return RemoteBlockedError(
            f"{url} was not asked ({name}). Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
            "AWS_DEFAULT_REGION, or AWS_PROFILE."
        )
    return RemoteUnavailableError(f"{url} did not answer ({name}). Try again later.")


async def in_thread(work: Callable[[], T]) -> T:
    """The work, done in a thread that keeps no process from ending."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if answer.cancelled():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # pyright: ignore[reportArgumentType]  # None is a T here

    def run() -> None:
        result, raised = None, None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # it is raised where it is awaited
            raised = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, raised)

    Thread(target=run, name="nudges", daemon=True).start()
    return await answer
