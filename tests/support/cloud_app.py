"""The fake cloud over HTTP: each request is noted, judged, and spoilt or carried out.

Knows which operation of the contract is which method of the fake. That the routes are those of the
contract is the contract's doing; whoever asks for another is told so, and it is noted.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

import cloud_reads as reads
from cloud import Cloud, Refusal, Request
from cloud_contract import Call, Json, Violation, contract
from cloud_faults import CARRIED_OUT, CUT
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Asked
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Cut = Callable[[tuple[str, int], bool], None]
"""Cuts the connection of a client, politely or with a reset."""

Answer = tuple[int, Json]
_Operation = Callable[[Cloud, Json, Any], Json | Answer]

OPERATIONS: Final[dict[str, _Operation]] = {
    "listNamespaces": lambda cloud, said, _: reads.list_namespaces(cloud, said),
    "deleteNamespace": lambda cloud, said, _: cloud.delete_namespace(
        said["namespace"], said["moveTo"]
    ),
    "addDocument": lambda cloud, said, body: cloud.add(said["namespace"], body),
    "addDocuments": lambda cloud, said, body: cloud.add_batch(said["namespace"], body),
    "deleteDocuments": lambda cloud, said, body: cloud.delete(said["namespace"], body),
    "getDocument": lambda cloud, said, _: reads.get(
        cloud, said["namespace"], said["id"], said["include"]
    ),
    "updateDocument": lambda cloud, said, body: cloud.update(said["namespace"], said["id"], body),
    "search": lambda cloud, said, body: reads.search(cloud, said["namespace"], body),
    "profile": lambda cloud, said, body: reads.profile(cloud, said["namespace"], body or {}),
    "listResources": lambda cloud, said, body: reads.list_rows(
        cloud, said["namespace"], said, body or {}
    ),
    "forgetMemories": lambda cloud, said, body: cloud.forget(said["namespace"], body),
}
"""What is done for each operation, by the contract's name: parameters and body in, JSON out."""


class CloudApp:
    """The service as an ASGI app. The contract does the routing."""

    def __init__(self, cloud: Cloud, cut: Cut) -> None:
        self._cloud = cloud
        self._cut = cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        cloud = self._cloud
        asked = Asked(scope, receive)
        try:
            body = await asked.body()
        except ClientDisconnect:
            return
        path, query = scope["raw_path"].decode("ascii"), scope["query_string"].decode("ascii")
        content_type = asked.headers.get("content-type", "")
        call = contract().request(asked.method, path, query, content_type, body)
        noted = Request(asked.method, path, query, call.parameters.get("namespace"), call.body)
        noted.fault = fault = cloud.faults.draw(asked.method, path)
        cloud.requests.append(noted)
        self._note("request", noted, call.problems)

        if fault == "hang" and not await self._patient(receive):
            return
        response: Response | None = None
        if fault in (None, "hang") or fault in CARRIED_OUT:
            response = self._carried_out(call, asked.headers.get("authorization", ""))
            sent, kind = bytes(response.body), response.headers["content-type"]
            self._note("answer", noted, contract().answer(call, response.status_code, kind, sent))
            if response.status_code == 500:
                self._note("answer", noted, [sent.decode()])
        if fault == "lost-hang" and not await self._patient(receive):
            return
        if fault in CUT:
            self._cut(scope["client"], fault == "reset")
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        if fault not in (None, "hang", "lost-hang"):
            response = cloud.faults.answer(fault)
        assert response is not None
        noted.status = response.status_code
        await response(scope, receive, send)

    def _note(
        self, of: Literal["request", "answer"], noted: Request, problems: Iterable[str]
    ) -> None:
        self._cloud.violations += [
            Violation(of, noted.method, noted.path, what) for what in problems
        ]

    async def _patient(self, receive: Receive) -> bool:
        """Whether the caller was still there when the hanging was over."""
        hanging = asyncio.ensure_future(self._cloud.faults.hang())
        leaving = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({hanging, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return not leaving.done()
        finally:
            for task in (hanging, leaving):
                task.cancel()
            await asyncio.gather(hanging, leaving, return_exceptions=True)

    def _carried_out(self, call: Call, authorization: str) -> Response:
        status, body = self._answer(call, authorization)
        headers = {"Allow": ", ".join(call.allowed)} if status == 405 else {}
        return Response(json.dumps(body), status, headers, "application/json")

    def _answer(self, call: Call, authorization: str) -> Answer:
        cloud = self._cloud
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() != "bearer" or key not in cloud.keys:
            return 401, {"error": "Unauthorized"}
        if call.problems and call.status == 400:
            issues = [{"message": problem} for problem in call.problems]
            return 400, {"success": False, "error": issues}
        if call.problems:
            return call.status, {"error": call.problems[0]}
        try:
            with cloud.lock:
                done = OPERATIONS[call.operation](cloud, call.parameters, call.body)
        except Refusal as refusal:
            return refusal.status, refusal.body
        except Exception as error:  # noqa: BLE001  # a bug of the fake must not pass as an outage
            return 500, {"error": f"The fake crashed: {error!r}"}
        return done if isinstance(done, tuple) else (200, done)
