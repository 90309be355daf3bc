"""A server on a socket of this machine that chats, or misbehaves in any way it is told to.

It answers by the rules of `fake_language`, and takes only what OpenAI's interface knows.
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from embedding_server import EmbeddingServer, Heard, Json, Said, embedding_server
from fake_language import composed_of, judged, short_of, sort_of, sum_of

__all__ = ["EmbeddingServer", "Heard", "Said", "chat_server", "given", "said", "saying", "well"]

_FIELDS: Final = {"model", "messages", "temperature", "response_format"}


def given(heard: Heard) -> Json:
    """The texts that the model was given to read."""
    return json.loads(heard.body["messages"][1]["content"])


def saying(content: object) -> Said:
    """An answer whose message is this."""
    message = {"role": "assistant", "content": content, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return Said({"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]})


def said(**fields: Any) -> Said:
    """An answer of this form."""
    return saying(json.dumps(fields))


def well(heard: Heard) -> Said:
    """What a good server with a good model answers."""
    roles = [message["role"] for message in heard.body["messages"]]
    if not heard.path.endswith("/chat/completions") or set(heard.body) - _FIELDS:
        return Said({"error": {"message": "Unknown request."}}, 400)
    if roles != ["system", "user"] or heard.body["model"] != "talker":
        return Said({"error": {"message": "Unknown model."}}, 404)
    texts = given(heard)
    asked_for: str = heard.body["messages"][0]["content"]
    match texts:
        case {"older": str(old), "newer": str(new)}:
            judging = '{"verdict"' in asked_for
            return said(verdict=judged(old, new)) if judging else said(text=composed_of(old, new))
        case {"statement": str(text)}:
            return said(sort=sort_of(text))
        case {"about": str(), "text": str(text)}:
            return said(text=short_of(text))
        case _:
            return said(summary=sum_of(texts["turns"]))


@contextmanager
def chat_server() -> Generator[EmbeddingServer]:
    """It runs until it is no longer needed."""
    with embedding_server(well) as server:
        yield server
