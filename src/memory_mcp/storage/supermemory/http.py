"""HTTP to the cloud. Only this module imports httpx.

It is imported with the first request, because importing httpx takes longer than storing a memory.
Only JSON counts as an answer: a portal or proxy in between answers 200 and 404 too, and neither is
the service's word. Ids and status codes are logged, nothing else.

The other end may lie. An answer is read under one deadline and up to a size, as it comes and as it
unpacks (one layer of gzip; httpx would unpack any number of them). It is parsed in a thread, and
its words are cleaned before an error repeats them.
"""

import asyncio
import json
import logging
import math
import zlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlsplit

import httpx

from memory_mcp.deadlines import time_limit
from memory_mcp.domain.hosts import is_loopback
from memory_mcp.domain.limits import (
    REMOTE_ANSWER_BYTES_MAX,
    REMOTE_ANSWER_PARTS_MAX,
    REMOTE_CONNECT_SECONDS_MAX,
    REMOTE_ERROR_CHARS_MAX,
)
from memory_mcp.domain.normalise import cut, make_message_line
from memory_mcp.errors import (
    RemoteBlockedError,
    RemoteError,
    RemoteRejectedError,
    RemoteUnavailableError,
)
from memory_mcp.storage.supermemory.keys import KEY_CHARS_MAX

Json = dict[str, Any]

_LOG: Final = logging.getLogger("memory_mcp.cloud")
_GZIP: Final = 16 + zlib.MAX_WBITS
"""Tells zlib to expect the header of gzip."""

_CONNECTIONS_MAX: Final = 10

_BUSY_SECONDS: Final = 10.0
"""How long to wait after a conflict (409): the service is still at work on the document."""

_REMEDIES: Final[dict[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "Check the key: SUPERMEMORY_API_KEY, or `memory-mcp cloud login`.",
    HTTPStatus.PAYMENT_REQUIRED: "The account is out of credit.",
    HTTPStatus.FORBIDDEN: "The key or the plan does not allow it.",
}

_TEMPORARY: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})


class HttpClient:
    """Sends requests with a key. Answers are JSON, or a `RemoteError`. Follows no redirect.

    Raises:
        RemoteBlockedError: the proxies or certificates of the environment cannot be used.
    """

    def __init__(self, base_url: str, key: str) -> None:
        host = urlsplit(base_url).hostname or ""
        self._name = host
        self._key = key
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        try:
            self._client = httpx.AsyncClient(
                base_url=base_url,
                headers=headers,
                limits=httpx.Limits(max_connections=_CONNECTIONS_MAX),
                follow_redirects=False,
                trust_env=not is_loopback(host),  # a proxy has no way to this machine
            )
        except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
            raise RemoteBlockedError(
                f"This machine's settings leave no way to {host} ({type(error).__name__}): look at "
                "HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE. A SOCKS proxy needs `pip install "
                "'httpx[socks]'`."
            ) from error

    async def ask(
        self,
        method: str,
        path: str,
        *,
        seconds: float,
        body: Json | None = None,
        params: Mapping[str, str | int] | None = None,
        or_missing: bool = False,
    ) -> Json | None:
        """Send a request and return the answer; None for a 404 with `or_missing`."""
        try:
            async with time_limit(f"the cloud ({self._name})", seconds):
                request = self._client.stream(
                    method,
                    path,
                    json=body,
                    params=params,
                    timeout=httpx.Timeout(seconds, connect=REMOTE_CONNECT_SECONDS_MAX),
                )
                async with request as response:
                    data = await _read_body(response)
                answer = await asyncio.to_thread(_parse_answer, data, success=response.is_success)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise RemoteUnavailableError(
                f"{self._name} did not answer within {seconds:g} s."
            ) from error
        except _AnswerTooLongError as error:
            raise RemoteUnavailableError(
                f"{self._name} answered with more than {REMOTE_ANSWER_BYTES_MAX // 1_000_000} MB, "
                "which no answer of the service has."
            ) from error
        except httpx.HTTPError as error:
            raise RemoteUnavailableError(
                f"{self._name} cannot be reached ({type(error).__name__})."
            ) from error
        _LOG.debug("%s %s: %d", method, path, response.status_code)
        if answer is None:
            raise RemoteUnavailableError(
                f"{self._name} answered {response.status_code} with something that is no answer of "
                "the service."
            )
        if response.is_success:
            return answer
        if or_missing and response.status_code == HTTPStatus.NOT_FOUND:
            return None
        message = await asyncio.to_thread(_error_message, answer, hide=self._key)
        raise self._refusal(response, answer, message)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _refusal(self, response: httpx.Response, answer: Json, message: str) -> RemoteError:
        why = f"{self._name} answered {response.status_code}: {message}"
        match response.status_code:
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.PAYMENT_REQUIRED | HTTPStatus.FORBIDDEN:
                remedy = _REMEDIES[response.status_code]
                return RemoteBlockedError(f"{why.removesuffix('.')}. {remedy}")
            case HTTPStatus.TOO_MANY_REQUESTS:
                return RemoteUnavailableError(
                    why, retry_after=_retry_after(response, answer), refused=True
                )
            case HTTPStatus.CONFLICT:
                return RemoteUnavailableError(why, retry_after=_BUSY_SECONDS, refused=True)
            case status if status in _TEMPORARY or not response.is_client_error:
                return RemoteUnavailableError(why)
            case _:
                return RemoteRejectedError(why)


class _AnswerTooLongError(Exception):
    """The answer is longer than any answer of the service."""


async def _read_body(response: httpx.Response) -> bytes | None:
    """Read and unpack the body; None if it is packed in a way that we did not ask for."""
    match response.headers.get("Content-Encoding", "identity").strip().lower():
        case "identity" | "":
            unpack = None
        case "gzip" | "x-gzip":
            unpack = zlib.decompressobj(_GZIP)
        case _:
            return None
    received, data = 0, bytearray()
    async for part in response.aiter_raw():
        received += len(part)
        try:
            data += unpack.decompress(part, REMOTE_ANSWER_BYTES_MAX + 1) if unpack else part
        except zlib.error:
            return None
        if max(received, len(data)) > REMOTE_ANSWER_BYTES_MAX:
            raise _AnswerTooLongError
    return bytes(data) if unpack is None or unpack.eof else None


def _parse_answer(data: bytes | None, *, success: bool) -> Json | None:
    """The answer of the service, which is an object, and with `error` if it failed; else None."""
    if data is None or data.count(b"{") + data.count(b"[") > REMOTE_ANSWER_PARTS_MAX:
        return None
    try:
        parsed: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    answer = cast("Json", parsed)
    return answer if success or "error" in answer else None


def _error_message(answer: Json, *, hide: str) -> str:
    """The service's error, cleaned. It may repeat the key, which is hidden."""
    try:
        message = _format_error(answer)
    except RecursionError:  # lists within lists
        message = "an error that cannot be read"
    for _ in range(2):  # cleaning may reveal a key that invisible characters had split
        message = message.replace(hide, "***") if hide else message
        message = make_message_line(message, KEY_CHARS_MAX + REMOTE_ERROR_CHARS_MAX)
    return cut(message, REMOTE_ERROR_CHARS_MAX)


def _format_error(answer: Json) -> str:
    """`error` is a text, or a list of issues."""
    match answer.get("error"):
        case [{"message": str(message), "path": [_, *_] as path}, *_]:
            return f"{'.'.join(map(str, path))}: {message}"
        case [{"message": str(message)}, *_]:
            return message
        case error:
            return ", ".join(str(part) for part in (error, answer.get("details")) if part)


def _retry_after(response: httpx.Response, answer: Json) -> float | None:
    for value in (answer.get("retryAfterSeconds"), response.headers.get("Retry-After")):
        try:
            seconds = float(str(value))
        except ValueError:  # absent, or a date
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None
