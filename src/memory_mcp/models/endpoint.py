"""A model's server over HTTP: JSON in, JSON out, and every failure a sentence.

An answer comes in time or not at all. httpx is imported with the first request. The cloud has its
own client (`storage.supermemory.http`), which knows the errors of that service.
"""

import asyncio
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from memory_mcp.deadlines import time_limit
from memory_mcp.domain.hosts import is_loopback
from memory_mcp.domain.limits import (
    MODEL_PAUSE_SECONDS_MAX,
    MODEL_PAUSE_SECONDS_MIN,
    REMOTE_CONNECT_SECONDS_MAX,
)
from memory_mcp.domain.secret import Secret
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.frozen import frozen

if TYPE_CHECKING:
    import httpx

_SERVER_WORDS_MAX: Final = 200
"""Characters of the server's own message that an error repeats."""

_RETRY_AFTER: Final = b"retry-after"


@frozen
class EndpointPurpose:
    """What a server provides, and the names of its settings, for error messages."""

    provides: str
    url: str
    model: str
    key: str
    answer_bytes_max: int

    def remedy(self, status: int) -> str:
        """The setting to check, if the status points to one."""
        match status:
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                return f" Check {self.key}."
            case HTTPStatus.NOT_FOUND:
                return f" Check {self.url} and {self.model}."
            case _:
                return ""


class ModelEndpoint:
    """A server and a model on it. Redirects are not followed, so that the key goes nowhere else."""

    def __init__(
        self,
        url: str,
        model: str,
        key: Secret | None,
        retry_seconds: float,
        purpose: EndpointPurpose,
    ) -> None:
        self.name = urlsplit(url).netloc
        self.model = model
        self._url = url
        self._purpose = purpose
        self._key = key.get_secret_value() if key else ""
        self._retry_seconds = retry_seconds
        self._client: httpx.AsyncClient | None = None
        self._pause = MODEL_PAUSE_SECONDS_MIN
        self._paused_until = float("-inf")

    async def post(self, path: str, body: dict[str, Any], seconds: float) -> object:
        """The answer to a POST. A busy or broken server is asked once more, if there is time.

        A server that does not answer is paused, for longer each time until `note_success`; one that
        names a time, for that time.

        Raises:
            ModelUnavailableError: no answer in time, a refusal, or no JSON.
        """
        import httpx  # noqa: PLC0415  # see the module's docstring

        if (left := self._paused_until - time.monotonic()) > 0:
            raise ModelUnavailableError(
                f"{self.name} gave no {self._purpose.provides} and is left alone for another "
                f"{left:.0f} s."
            )
        try:
            async with time_limit(f"the model ({self.name})", seconds):
                response = await self._send(path, body)
                if (
                    _is_temporary(response.status_code)
                    and (pause := _read_pause(response)) < seconds
                ):
                    await asyncio.sleep(max(self._retry_seconds, pause))
                    response = await self._send(path, body)
        except (TimeoutError, httpx.TimeoutException) as error:
            self.pause()
            raise ModelUnavailableError(
                f"{self.name} gave no {self._purpose.provides} within {seconds:.2g} s."
            ) from error
        except httpx.HTTPError as error:
            self.pause()
            raise ModelUnavailableError(
                f"{self.name} cannot be reached ({type(error).__name__}). Check "
                f"{self._purpose.url}, and that the server runs."
            ) from error
        if pause := _read_pause(response):
            self.pause(pause)
        return self._parse(response)

    def note_success(self) -> None:
        """An answer was usable: the next pause is a short one again."""
        self._pause = MODEL_PAUSE_SECONDS_MIN

    def pause(self, seconds: float = 0.0) -> None:
        """Fail every request for so many seconds, or longer if it goes on failing."""
        if self._paused_until <= (now := time.monotonic()):  # several may fail at once
            self._paused_until = now + max(self._pause, seconds)
            self._pause = min(2 * self._pause, MODEL_PAUSE_SECONDS_MAX)

    async def _send(self, path: str, body: dict[str, Any]) -> "httpx.Response":
        """The answer, read up to the limit."""
        import httpx  # noqa: PLC0415  # as above

        async with self._open().stream("POST", path, json=body) as response:
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > self._purpose.answer_bytes_max:
                    raise ModelUnavailableError(
                        f"{self.name} answered with more than {self._purpose.answer_bytes_max:,} "
                        f"bytes. Check {self._purpose.url}."
                    )
        headers = [field for field in response.headers.raw if field[0].lower() == _RETRY_AFTER]
        return httpx.Response(response.status_code, headers=headers, content=bytes(content))

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _open(self) -> "httpx.AsyncClient":
        if self._client is None:
            import httpx  # noqa: PLC0415  # as above

            try:
                self._client = httpx.AsyncClient(
                    base_url=self._url,
                    headers={"Authorization": f"Bearer {self._key}"} if self._key else None,
                    timeout=httpx.Timeout(None, connect=REMOTE_CONNECT_SECONDS_MAX),
                    trust_env=not is_loopback(urlsplit(self._url).hostname or ""),
                )
            except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
                raise ModelUnavailableError(
                    f"This machine's settings leave no way to {self.name} "
                    f"({type(error).__name__}): look at HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE."
                ) from error
        return self._client

    def _parse(self, response: "httpx.Response") -> object:
        try:
            answer: object = response.json()
        except (ValueError, RecursionError):
            answer = None
        if response.is_success and answer is not None:
            return answer
        if response.is_success:
            raise ModelUnavailableError(
                f"{self.name} answered with something that is no JSON. Check {self._purpose.url}."
            )
        words = self._quote_error(answer)
        raise ModelUnavailableError(
            f"{self.name} answered {response.status_code}{f': {words}' if words else ''}."
            f"{self._purpose.remedy(response.status_code)}",
            status=response.status_code,
        )

    def _quote_error(self, answer: object) -> str:
        """The server's own message, if there is one, without the key."""
        match answer:
            case {"error": {"message": str(words)}} | {"error": str(words)}:
                words = "".join(char if char.isprintable() else " " for char in words)
                words = " ".join(words.split())
                words = words.replace(self._key, "***") if self._key else words
                return words[:_SERVER_WORDS_MAX].rstrip(". ")
            case _:
                return ""


def _is_temporary(status: int) -> bool:
    """Whether the same request may succeed in a moment."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _read_pause(response: "httpx.Response") -> float:
    """The pause in seconds that a busy server asks for; 0 if none."""
    pause: str = response.headers.get(_RETRY_AFTER.decode(), "")
    valid = _is_temporary(response.status_code) and pause.isascii() and pause.isdigit()
    return min(float(pause), MODEL_PAUSE_SECONDS_MAX) if valid else 0.0
