"""A language model behind an address that speaks OpenAI's interface, as many servers do.

Neither the texts nor the answers are trusted. Texts go out as data (see `prompts`); an answer
counts once it is JSON of just the form that was asked for, and what it words holds nothing that is
not in the texts (see `domain.faithful`). A server's name may be shown, the key and texts never.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memory_mcp.domain.faithful import invented, unfaithful
from memory_mcp.domain.language import Classification, Judgement, Sort
from memory_mcp.domain.limits import (
    CONTENT_CHARS_MAX,
    EMBED_RETRY_SECONDS,
    LANGUAGE_ANSWER_BYTES_MAX,
    LANGUAGE_SECONDS_MAX,
    LANGUAGE_TURNS_CHARS_MAX,
)
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.inference import prompts
from memory_mcp.inference.asking import Asking, Errand

__all__ = ["ChatModel"]

_PATH: Final = "/chat/completions"
_ERRAND: Final = Errand(
    gives="answer",
    url="MEMORY_LLM_BASE_URL",
    model="MEMORY_LLM_MODEL",
    key="MEMORY_LLM_API_KEY",
    answer_bytes_max=LANGUAGE_ANSWER_BYTES_MAX,
)
_TEMPERATURE: Final = "temperature"
_WISHES: Final[Mapping[str, object]] = {
    _TEMPERATURE: 0,
    "response_format": {"type": "json_object"},
}
"""What an answer gains by, and what some servers and models refuse."""

_REFUSED: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


class _Form(BaseModel):
    """An answer as it was asked for: these fields, of these types, and no others."""

    model_config = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)


class _Compared(_Form):
    verdict: Judgement


class _Composed(_Form):
    text: str


class _Sorted(_Form):
    sort: Sort


class _Told(_Form):
    summary: str


class _Said(BaseModel):
    content: Annotated[str, Field(strict=True)]


class _Choice(BaseModel):
    message: _Said


class _Completion(BaseModel):
    """The envelope, of which servers fill more fields than we read."""

    model_config = ConfigDict(hide_input_in_errors=True)

    choices: Annotated[list[_Choice], Field(min_length=1)]


_Answer = TypeVar("_Answer", bound=_Form)


class ChatModel:
    """A `LanguageModel`; its URL ends where `/chat/completions` begins.

    `seconds` bounds each call with all its tries.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: SecretStr | None = None,
        *,
        seconds: float = LANGUAGE_SECONDS_MAX,
        retry_seconds: float = EMBED_RETRY_SECONDS,
    ) -> None:
        self._asking = Asking(url, key, retry_seconds, _ERRAND)
        self._place = urlsplit(url).netloc
        self._model = model
        self._seconds = seconds
        self._wishes = dict(_WISHES)

    async def same_fact(self, old: str, new: str) -> Judgement:
        said = await self._asked(prompts.SAME_FACT, _pair(old, new), _Compared)
        return said.verdict

    async def compose(self, old: str, new: str) -> str:
        said = await self._asked(prompts.COMPOSE, _pair(old, new), _Composed)
        return self._sound(said.text, unfaithful(said.text, old, new))

    async def classify(self, text: str) -> Classification:
        said = await self._asked(prompts.CLASSIFY, {"statement": _fitting(text)}, _Sorted)
        return Classification(said.sort)

    async def summarise(self, turns: Sequence[str]) -> str:
        last = list(_last(turns))[::-1]
        if not any(turn.strip() for turn in last):
            raise ModelUnavailableError("There is nothing to sum up.")
        said = await self._asked(prompts.SUMMARISE, {"turns": last}, _Told)
        return self._sound(" ".join(said.summary.split()), invented(said.summary, last))

    async def aclose(self) -> None:
        await self._asking.aclose()

    async def _asked(
        self, instructions: str, texts: Mapping[str, str | Sequence[str]], form: type[_Answer]
    ) -> _Answer:
        """The model's answer, if it has the form. A server that gives none is left alone."""
        body = {"model": self._model, "messages": prompts.messages(instructions, texts)}
        try:
            answer = self._formed(await self._said(body), form)
        except ModelUnavailableError:
            self._asking.leave_alone()
            raise
        self._asking.served()
        return answer

    async def _said(self, body: Mapping[str, Any]) -> object:
        """The server's answer; what it refuses is left out of the question, from then on too."""
        until = time.monotonic() + self._seconds
        wishes = self._wishes
        while True:
            left = max(0.0, until - time.monotonic())
            try:
                said = await self._asking.ask(_PATH, {**body, **wishes}, left)
            except ModelUnavailableError as error:
                if error.status not in _REFUSED or not wishes:
                    raise
                wishes = _fewer(wishes, str(error))
            else:
                self._wishes = wishes
                return said

    def _formed(self, said: object, form: type[_Answer]) -> _Answer:
        try:
            text = _Completion.model_validate(said).choices[0].message.content.strip()
            fenced = _FENCED.fullmatch(text)
            return form.model_validate_json(fenced.group(1) if fenced else text)
        except (ValueError, RecursionError):
            raise ModelUnavailableError(  # its cause would repeat what was said
                f"{self._place} answered, but the model {self._model!r} did not say what it was "
                "asked for, as JSON. Check MEMORY_LLM_MODEL and MEMORY_LLM_BASE_URL."
            ) from None

    def _sound(self, text: str, flaw: str) -> str:
        """The text, if there is nothing wrong with it; what is, says little about the next one."""
        if flaw:
            raise ModelUnavailableError(
                f"What the model {self._model!r} wrote is not used: {flaw}."
            )
        return text.strip()


def _fewer(wishes: Mapping[str, object], refusal: str) -> dict[str, object]:
    """The wishes without the one that was refused; servers name a temperature they do not take."""
    refused = next((w for w in wishes if w == _TEMPERATURE and w in refusal.lower()), None)
    if refused is None:
        refused = [*wishes][-1]
    return {name: wish for name, wish in wishes.items() if name != refused}


def _pair(old: str, new: str) -> dict[str, str]:
    return {"older": _fitting(old), "newer": _fitting(new)}


def _fitting(text: str) -> str:
    if len(text) > CONTENT_CHARS_MAX:
        raise ModelUnavailableError(
            f"A text of {len(text):,} characters is not judged; a memory has {CONTENT_CHARS_MAX:,}."
        )
    return text


def _last(turns: Sequence[str]) -> Iterator[str]:
    """The last of them that are not too much, the newest first."""
    left = LANGUAGE_TURNS_CHARS_MAX
    for turn in reversed(turns):
        if left <= 0:
            return
        yield turn[:left]
        left -= len(turn)
