"""The stand-in of the Messages API is tested itself: its faults would show in no other test."""

import http.client
import json
from urllib.parse import urlsplit

from messages_api import Json, MessagesApi, Seen, messages_api

TOOLS: list[Json] = [{"name": "look", "input_schema": {"type": "object"}}]


def post(api: MessagesApi, path: str, body: Json | str) -> tuple[int, str]:
    """What the stand-in answers; a body in text is sent as it is."""
    wire = http.client.HTTPConnection(urlsplit(api.url).netloc, timeout=10)
    wire.request("POST", path, body if isinstance(body, str) else json.dumps(body))
    answer = wire.getresponse()
    said = answer.status, answer.read().decode()
    wire.close()
    return said


def asked(*messages: Json, **fields: object) -> Json:
    """A request as Claude Code makes it."""
    return {"model": "m", "max_tokens": 1, "tools": TOOLS, "messages": list(messages), **fields}


def user(content: str | list[Json]) -> Json:
    """A message of the user."""
    return {"role": "user", "content": content}


def done(answer: str = "ok") -> Json:
    """The message that brings the result of one call."""
    return user([{"type": "tool_result", "tool_use_id": "t", "content": answer}])


def test_calls_are_made_one_by_one_and_then_there_is_a_last_word() -> None:
    """A test writes its script into the prompt; a call too many or too few would mislead it."""
    script = user('Hello\nCALL look {"at": "{1}"}\nCALL look {"at": 2}\nThanks')
    with messages_api() as api:
        replies = [
            api.reply(Seen(asked(script, *[done()] * count)))
            for count in range(3)
        ]  # fmt: skip

    assert [reply.get("input") for reply in replies] == [{"at": "{1}"}, {"at": 2}, None]
    assert replies[2] == {"type": "text", "text": "DONE"}


def test_a_script_is_over_with_its_own_prompt() -> None:
    """The next prompt of the same conversation must not find the calls of the one before."""
    first = user('CALL look {"at": 1}')
    with messages_api() as api:
        later = api.reply(Seen(asked(first, done(), user("And now?"))))
        again = api.reply(Seen(asked(first, done(), user('CALL look {"at": 2}'))))
        reminded = user("<system-reminder>\nCALL look {}\n</system-reminder>\nHello")
        quoted = api.reply(Seen(asked(reminded)))

    assert later["text"] == quoted["text"] == "DONE"
    assert again["input"] == {"at": 2}


def test_answers_come_whole_or_in_pieces() -> None:
    """Claude Code streams; its small errands may not."""
    body = asked(user('CALL look {"at": "Zürich"}'))
    with messages_api() as api:
        status, whole = post(api, "/v1/messages?beta=true", body)
        streamed_status, streamed = post(api, "/v1/messages", {**body, "stream": True})
        assert len(api.requests) == 2

    events = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: ")]
    assert (status, streamed_status) == (200, 200)
    assert json.loads(whole)["content"][0]["input"] == {"at": "Zürich"}
    assert [event["type"] for event in events] == [
        "message_start", "content_block_start", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    assert json.loads(events[2]["delta"]["partial_json"]) == {"at": "Zürich"}
    assert events[4]["delta"]["stop_reason"] == "tool_use"


def test_a_compaction_gets_its_summary() -> None:
    """What is asked there has the old script in it, which must not run again."""
    script = user('CALL look {"at": 1}')
    ask = user("Your task is to create a detailed summary of the conversation so far.")
    with messages_api() as api:
        api.summary = "Orders moved."
        seen = Seen(asked(script, ask))
        reply = api.reply(seen)

    assert seen.compacts
    assert not seen.of_agent
    assert "<summary>\nOrders moved.\n</summary>" in reply["text"]


def test_what_the_model_saw_can_be_read() -> None:
    """Tests ask in words; each kind of block has to show."""
    block: Json = {"type": "tool_use", "id": "t", "name": "look", "input": {"at": "Zürich"}}
    messages = [user("Hi"), {"role": "assistant", "content": [block]}, done("found")]
    seen = Seen(asked(*messages, system=[{"type": "text", "text": "Be kind."}]))

    assert seen.system == "Be kind."
    assert seen.tools == ["look"]
    assert seen.text == 'Hi\n[calls look {"at": "Zürich"}]\nfound'
    assert "Zürich" in seen.everything


def test_other_paths_are_noted_and_tokens_counted() -> None:
    """A request nobody expected shows in `others`, and no test waits for it."""
    with messages_api() as api:
        counted = post(api, "/v1/messages/count_tokens", asked(user("x" * 400)))
        other = post(api, "/v1/elsewhere", {})

        assert json.loads(counted[1])["input_tokens"] > 100
        assert other == (200, "{}")
        assert (api.others, api.requests) == (["POST /v1/elsewhere"], [])


def test_what_cannot_be_answered_is_a_fault() -> None:
    """A stand-in that guesses would let a broken test pass."""
    with messages_api() as api:
        status, said = post(api, "/v1/messages", "no json")
        faults, api.faults = api.faults, []

    assert status == 400
    assert "invalid_request_error" in said
    assert len(faults) == 1
