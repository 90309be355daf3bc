"""Nudges in a queue of Amazon SQS, which programs on any machine fill. Needs the extra `sqs`.

A message is a JSON object: `text`, and optionally `user`, `priority`, `expires_at`, `by`. A message
that names another user is left for that one; one that names nobody is for whoever asks first; one
that is no nudge is left. Key, region and endpoint are those of the AWS environment.

To take is to receive all there is, to delete the best one, then the rest of the user's, and to make
the others' visible again. What that promises:

- Sessions on one machine queue up at a lock: one of them gets the nudge, as with files.
- Between machines a message that one of them has received is hidden from the others for
  `_HIDDEN_SECONDS`, and it is deleted before it is shown. So no nudge is shown twice, but two
  sessions that start at the same moment may each show a different one, and other users' messages
  are hidden for that moment. A queue for each user has neither problem.
- A standard queue is asked with a short wait, and may still keep a message back until the next
  session. It delivers *at least* once: very rarely a copy comes after the deletion. A FIFO queue
  (its name ends in `.fifo`) does not.
- Each look counts as a delivery of every message: a queue that several users share should have no
  dead-letter queue, or one with a high limit.
- Nothing is deleted once the session has stopped waiting; once the deletion has begun, the session
  waits for it. A process that is killed after it deleted the nudge loses it; killed before that,
  all come back. So does a nudge whose deletion is never confirmed, unless it went through.
- If a session has no time to pass the messages that are no nudges, they stay hidden for
  `_JUNK_HIDDEN_SECONDS`, so that the next sessions pass them. A group of a FIFO queue comes in its
  order: there, ten such messages at its head keep the rest of the group back until `clear` with
  `everything`.

The client's library is imported when a client is made. It blocks, so it is used in a thread; that
is a daemon, so that a name server that does not answer keeps no process from ending.
"""

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

from memory_mcp.disk import Disk
from memory_mcp.domain import limits
from memory_mcp.domain.nudges import (
    Nudge,
    NudgeHandover,
    NudgeRemoval,
    WaitingNudges,
    derive_nudge_id,
    describe_unknown_keys,
    explain_invalid_nudge,
    parse_nudge,
    rank_nudges,
)
from memory_mcp.errors import RemoteBlockedError, RemoteError, RemoteUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.storage.files.nudges import lock_nudges
from memory_mcp.storage.threads import run_in_daemon_thread

_CONNECT_SECONDS_MAX: Final = 2.0
_ANSWER_SECONDS_MAX: Final = 3.0

_AMAZON: Final = compile_later(r"https://sqs\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/")
"""Any other host is an endpoint of its own: a VPC's, or another server with the same API."""
_NOT_CONFIGURED: Final = frozenset(
    {"NoCredentialsError", "PartialCredentialsError", "NoRegionError"}
)

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
    """Make a client for the AWS environment. Its errors become ours."""
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
            endpoint_url=None if amazon else "/".join(url.split("/", 3)[:3]),
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
    """Raise the client's errors as ours."""
    errors = import_module("botocore.exceptions")
    try:
        yield
    except errors.ClientError as error:
        raise _refused(url, error.response) from error
    except errors.BotoCoreError as error:
        raise _failed(url, type(error).__name__) from error


def _refused(url: str, response: Json) -> RemoteError:
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = response.get("Error", {}).get("Code", "no reason given")
    if 400 <= status < 500 and status != 429 and "Throttl" not in code:  # noqa: PLR2004  # of HTTP
        return RemoteBlockedError(
            f"{url} refused ({code}). Check MEMORY_NUDGE_QUEUE and the AWS credentials."
        )
    return RemoteUnavailableError(f"{url} could not do it now ({code}). Try again later.")


def _failed(url: str, name: str) -> RemoteError:
    """The error of a request without an answer. The library's own message may hold a key."""
    if name in _NOT_CONFIGURED:
        return RemoteBlockedError(
            f"{url} was not asked ({name}). Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
            "AWS_DEFAULT_REGION, or AWS_PROFILE."
        )
    return RemoteUnavailableError(f"{url} did not answer ({name}). Try again later.")


_BATCH: Final = 10
"""Messages in one request: SQS takes no more."""
_HIDDEN_SECONDS: Final = 30
"""How long a received message is hidden from others, if this process dies with it."""
_JUNK_HIDDEN_SECONDS: Final = 60
"""How long messages that are no nudges are hidden after a session had no time to pass them."""
_WAIT_SECONDS: Final = 1
"""How long the first request waits for messages: only then all servers of SQS are asked."""
_QUEUED_SECONDS_MIN: Final = 0.1
"""A session that waited longer than this for the lock comes after another session."""
_LOOK_SECONDS_MAX: Final = 10.0
"""How long `nudge list` and `nudge clear` receive: they are to show all."""


@frozen
class _QueuedMessage:
    """A received message: a nudge, no nudge (and `why`), or another user's."""

    id: str
    receipt: str
    nudge: Nudge | None = None
    why: str = ""
    strange: str = ""


class SqsNudges:
    """Implements `ports.NudgeQueue` over a queue of Amazon SQS."""

    def __init__(
        self,
        url: str,
        folder_of: Callable[[str], Path],
        disk: Disk,
        *,
        wait_seconds: int = _WAIT_SECONDS,
        seconds_max: float | None = None,
    ) -> None:
        self._url = url
        self._folder_of = folder_of
        self._disk = disk
        self._wait_seconds = wait_seconds
        self._seconds_max = seconds_max or limits.NUDGE_TAKE_SECONDS_MAX

    def place(self, user: str) -> str:
        del user  # named in the message
        return self._url

    async def add(self, nudge: Nudge) -> None:
        await run_in_daemon_thread(lambda: self._add(nudge))

    async def waiting(self, user: str, now: datetime) -> WaitingNudges:
        return await run_in_daemon_thread(lambda: self._list(user, now))

    async def take(
        self, user: str, now: datetime, taking: NudgeHandover | None = None
    ) -> Nudge | None:
        return await run_in_daemon_thread(lambda: self._take(user, now, taking or NudgeHandover()))

    async def clear(self, user: str, *, everything: bool = False) -> NudgeRemoval:
        return await run_in_daemon_thread(lambda: self._clear(user, everything=everything))

    def _add(self, nudge: Nudge) -> None:
        request = {"QueueUrl": self._url, "MessageBody": nudge.model_dump_json(exclude_none=True)}
        if self._url.endswith(".fifo"):  # a group of its own: none waits for another
            request |= {"MessageGroupId": nudge.id, "MessageDeduplicationId": nudge.id}
        with sqs_client(self._url) as client:
            client.send_message(**request)

    def _list(self, user: str, now: datetime) -> WaitingNudges:
        with self._locked(user) as wait, sqs_client(self._url) as client:
            until = time.monotonic() + _LOOK_SECONDS_MAX
            found = self._receive(client, user, until, wait)
            self._release(client, found)
        return WaitingNudges(
            rank_nudges((m.nudge for m in found if m.nudge), now),
            tuple(f"Message {m.id} is no nudge: {m.why}." for m in found if m.why),
            tuple(f"Message {m.id} {m.strange}." for m in found if m.strange),
        )

    def _take(self, user: str, now: datetime, taking: NudgeHandover) -> Nudge | None:
        started = time.monotonic()
        until = started + self._seconds_max
        with self._locked(user) as wait, sqs_client(self._url) as client:
            found = self._receive(client, user, started + self._seconds_max / 2, wait)
            junk = [message for message in found if message.why]
            late = time.monotonic() > started + self._seconds_max / 2
            crowded = late and len(junk) >= _BATCH
            gone: list[_QueuedMessage] = []
            try:
                best = next(iter(rank_nudges((m.nudge for m in found if m.nudge), now)), None)
                if best is None and crowded:
                    raise RemoteUnavailableError(
                        f"{len(junk)} messages in {self._url} are no nudges, and there was no time "
                        "to look past them. `memory-mcp nudge clear --all` removes them."
                    )
                if (best and time.monotonic() > until) or not taking.removes():
                    raise RemoteUnavailableError(f"{self._url} answered too slowly.")
                for message in found:
                    if best and message.nudge and message.nudge.id == best.id:  # or a copy of it
                        self._remove(client, message)
                        gone.append(message)
                rest = [m for m in found if m.nudge and m not in gone]
                gone += self._delete(client, rest, until)
            finally:
                self._release(client, [m for m in found if m not in gone and not m.why])
                aside = crowded and not self._url.endswith(".fifo")
                self._release(client, junk, _JUNK_HIDDEN_SECONDS if aside else 0)
        return best

    def _remove(self, client: SqsClient, message: _QueuedMessage) -> None:
        """Delete the message that is to be shown; deleting it twice does no harm.

        Raises:
            RemoteUnavailableError: it may still be there: it must not be shown.
        """
        request = {"QueueUrl": self._url, "ReceiptHandle": message.receipt}
        try:
            with sqs_errors(self._url):
                client.delete_message(**request)
        except RemoteUnavailableError:
            try:
                with sqs_errors(self._url):
                    client.delete_message(**request)
            except RemoteError as error:
                raise RemoteUnavailableError(
                    f"{self._url} did not confirm that a nudge was removed, so it was not shown, "
                    "lest it be shown twice. It comes later if it is still there."
                ) from error

    def _clear(self, user: str, *, everything: bool) -> NudgeRemoval:
        until = time.monotonic() + _LOOK_SECONDS_MAX
        with self._locked(user) as wait, sqs_client(self._url) as client:
            found = self._receive(client, user, until, wait)
            mine = [m for m in found if m.nudge or m.why]
            gone = self._delete(client, [m for m in mine if everything or m.nudge], until)
            self._release(client, [message for message in found if message not in gone])
        return NudgeRemoval(len(gone), len(mine) - len(gone))

    def _receive(
        self, client: SqsClient, user: str, until: float, wait_seconds: int
    ) -> list[_QueuedMessage]:
        """Receive messages until then; at least one request is made."""
        found: dict[str, _QueuedMessage] = {}
        while True:
            answer = client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=_BATCH,
                VisibilityTimeout=_HIDDEN_SECONDS,
                WaitTimeSeconds=0 if found else wait_seconds,
                MessageSystemAttributeNames=["SentTimestamp"],
            )
            messages = answer.get("Messages", ())
            found |= {each["MessageId"]: _parse_message(each, user) for each in messages}
            known = sum(1 for message in found.values() if not message.why)
            enough = known >= limits.NUDGES_MAX or time.monotonic() > until
            if enough or not messages:
                return list(found.values())

    def _delete(
        self, client: SqsClient, messages: Sequence[_QueuedMessage], until: float
    ) -> list[_QueuedMessage]:
        """Delete messages and return those that are gone. The others wait for another session."""
        gone: list[_QueuedMessage] = []
        for batch in _split_batches(messages):
            if time.monotonic() > until:
                break
            with suppress(Exception):
                entries = [{"Id": str(n), "ReceiptHandle": m.receipt} for n, m in enumerate(batch)]
                answer = client.delete_message_batch(QueueUrl=self._url, Entries=entries)
                gone += [batch[int(done["Id"])] for done in answer.get("Successful", ())]
        return gone

    def _release(
        self, client: SqsClient, messages: Sequence[_QueuedMessage], seconds: int = 0
    ) -> None:
        """Let others see the messages again then; if that fails, they do in `_HIDDEN_SECONDS`."""
        for batch in _split_batches(messages):
            entries = [
                {"Id": str(n), "ReceiptHandle": message.receipt, "VisibilityTimeout": seconds}
                for n, message in enumerate(batch)
            ]
            with suppress(Exception):
                client.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)

    @contextmanager
    def _locked(self, user: str) -> Generator[int]:
        """Hold the lock of this machine; yield how long the first request may wait.

        A session that had to queue up comes after one that has just emptied the queue.
        """
        started = time.monotonic()
        with lock_nudges(self._folder_of(user), self._disk, self._seconds_max):
            at_once = time.monotonic() - started < _QUEUED_SECONDS_MIN
            yield self._wait_seconds if at_once else 0


def _parse_message(message: Json, user: str) -> _QueuedMessage:
    at = datetime.fromtimestamp(int(message["Attributes"]["SentTimestamp"]) / 1000, UTC)
    ids = (message["MessageId"], message["ReceiptHandle"])
    try:
        if len(message["Body"]) > limits.NUDGE_BYTES_MAX:
            return _QueuedMessage(
                *ids, why=f"it is longer than {limits.NUDGE_BYTES_MAX:,} characters"
            )
        fields: Any = json.loads(message["Body"])
        if (fields.get("user") or user) != user:
            return _QueuedMessage(*ids)
        usual = {"id": derive_nudge_id(at, message["MessageId"]), "created_at": at, "user": user}
        return _QueuedMessage(
            *ids, nudge=parse_nudge(fields, usual), strange=describe_unknown_keys(fields)
        )
    except (ValueError, RecursionError, AttributeError) as error:
        return _QueuedMessage(*ids, why=explain_invalid_nudge(error))


def _split_batches(messages: Sequence[_QueuedMessage]) -> list[Sequence[_QueuedMessage]]:
    return [messages[start : start + _BATCH] for start in range(0, len(messages), _BATCH)]
