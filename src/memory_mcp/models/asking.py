"""Asks a model's server over HTTP, and turns every failure into a sentence.

An answer is there in time or there is none. httpx is imported with the first question. The cloud
has a client of its own (`storage.supermemory.http`), which knows the errors of that service.
"""

import asyncio
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from memory_mcp.deadlines import patience
from memory_mcp.domain.hosts import is_loopback
from memory_mcp.domain.limits import (
    EMBED_PAUSE_SECONDS_MAX,
    EMBED_PAUSE_SECONDS_MIN,
    REMOTE_CONNECT_SECONDS_MAX,
)
from memory_mcp.errors import ModelUnavailableError

if TYPE_CHECKING:
    import httpx

_SAID_CHARS_MAX: Final = 200
"""How much of the server's own words an error repeats."""

_RETRY_AFTER: Final = b"retry-after"


@dataclass(frozen=True)
class Errand:
    """What a server is asked for, and the names of its settings, for error messages."""

    gives: str
    url: str
    model: str
    key: str
    answer_bytes_max: int

    def remedy(self, status: int) -> str:
        """What to look at, if the answer says."""
        match status:
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                return f" Check {self.key}."
            case HTTPStatus.NOT_FOUND:
                return f" Check {self.url} and {self.model}."
            case _:
                return ""


class Asking:
    """A server that answers JSON with JSON. Redirects are not followed: the key stays here."""

    def __init__(
        self, url: str, key: SecretStr | None, retry_seconds: float, errand: Errand
    ) -> None:
        self._url = url
        self._errand = errand
        self._name = urlsplit(url).netloc
        self._key = key.get_secret_value() if key else ""
        self._retry_seconds = retry_seconds
        self._client: httpx.AsyncClient | None = None
        self._pause = EMBED_PAUSE_SECONDS_MIN
        self._alone_until = float("-inf")

    async def ask(self, path: str, body: dict[str, Any], seconds: float) -> object:
        """The answer to a POST. A busy or broken server is asked once more, if there is time.

        One that did not answer at all is left alone for a while, which grows until its answers
        `served`; one that names a time, for so long.

        Raises:
            ModelUnavailableError: there is no answer in time, or it is a refusal, or no JSON.
        """
        import httpx  # noqa: PLC0415  # see the module's docstring

        if (left := self._alone_until - time.monotonic()) > 0:
            raise ModelUnavailableError(
                f"{self._name} gave no {self._errand.gives} and is left alone for another "
                f"{left:.0f} s."
            )
        try:
            async with patience(f"the model ({self._name})", seconds):
                response = await self._posted(path, body)
                if _passing(response.status_code) and (pause := _pause_of(response)) < seconds:
                    await asyncio.sleep(max(self._retry_seconds, pause))
                    response = await self._posted(path, body)
        except (TimeoutError, httpx.TimeoutException) as error:
            self.leave_alone()
            raise ModelUnavailableError(
                f"{self._name} gave no {self._errand.gives} within {seconds:.2g} s."
            ) from error
        except httpx.HTTPError as error:
            self.leave_alone()
            raise ModelUnavailableError(
                f"{self._name} cannot be reached ({type(error).__name__}). Check "
                f"{self._errand.url}, and that the server runs."
            ) from error
        if pause := _pause_of(response):
            self.leave_alone(pause)
        return self._understood(response)

    def served(self) -> None:
        """An answer was of use: the next pause is a short one again."""
        self._pause = EMBED_PAUSE_SECONDS_MIN

    def leave_alone(self, seconds: float = 0.0) -> None:
        """Ask nothing for a while: so many seconds, or more if that goes on failing."""
        if self._alone_until <= (now := time.monotonic()):  # several may fail at once
            self._alone_until = now + max(self._pause, seconds)
            self._pause = min(2 * self._pause, EMBED_PAUSE_SECONDS_MAX)

    async def _posted(self, path: str, body: dict[str, Any]) -> "httpx.Response":
        """The answer, read as far as one of ours can be long."""
        import httpx  # noqa: PLC0415  # as above

        async with self._opened().stream("POST", path, json=body) as response:
            said = bytearray()
            async for part in response.aiter_bytes():
                said += part
                if len(said) > self._errand.answer_bytes_max:
                    raise ModelUnavailableError(
                        f"{self._name} answered with more than {self._errand.answer_bytes_max:,} "
                        f"bytes. Check {self._errand.url}."
                    )
        headers = [field for field in response.headers.raw if field[0].lower() == _RETRY_AFTER]
        return httpx.Response(response.status_code, headers=headers, content=bytes(said))

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _opened(self) -> "httpx.AsyncClient":
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
                    f"This machine's settings leave no way to {self._name} "
                    f"({type(error).__name__}): look at HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE."
                ) from error
        return self._client

    def _understood(self, response: "httpx.Response") -> object:
        try:
            said: object = response.json()
        except (ValueError, RecursionError):
            said = None
        if response.is_success and said is not None:
            return said
        if response.is_success:
            raise ModelUnavailableError(
                f"{self._name} answered with something that is no JSON. Check {self._errand.url}."
            )
        words = self._words(said)
        raise ModelUnavailableError(
            f"{self._name} answered {response.status_code}{f': {words}' if words else ''}."
            f"{self._errand.remedy(response.status_code)}",
            status=response.status_code,
        )

    def _words(self, said: object) -> str:
        """What the server says about it, if it says so; it may repeat the key, which we do not."""
        match said:
            case {"error": {"message": str(words)}} | {"error": str(words)}:
                words = "".join(char if char.isprintable() else " " for char in words)
                words = " ".join(words.split())
                words = words.replace(self._key, "***") if self._key else words
                return words[:_SAID_CHARS_MAX].rstrip(". ")
            case _:
                return ""


def _passing(status: int) -> bool:
    """Whether the same question may get an answer in a moment."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _pause_of(response: "httpx.Response") -> float:
    """The pause that a busy server asks for; 0 if none, or none of ours."""
    asked: str = response.headers.get(_RETRY_AFTER.decode(), "")
    known = _passing(response.status_code) and asked.isascii() and asked.isdigit()
    return min(float(asked), EMBED_PAUSE_SECONDS_MAX) if known else 0.0
