"""Who may enter over HTTP: tokens, issuers, what is open when a token is revoked, limits."""

import asyncio
import errno
import json
import logging
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from command_line import Run, as_json, complaint
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from doors import add, recalled
from hosted import HELLO, Hosted, hosting
from http_cases import shows
from jwt.algorithms import HMACAlgorithm, RSAAlgorithm
from jwt.utils import base64url_encode

from memory_mcp.cli.main import main
from memory_mcp.config.load import load_settings
from memory_mcp.config.settings import HttpSettings
from memory_mcp.server.admission import find_authenticator
from memory_mcp.server.http.authentication import find_client
from memory_mcp.server.http.gate import Names, refuse_foreign_request
from memory_mcp.server.http.issuer import Issuer
from memory_mcp.server.http.rates import Rates
from memory_mcp.server.logs import log_without_content

pytestmark = pytest.mark.anyio

WRONG = "mcpt_x"


@pytest.fixture
async def hosted(tmp_path: Path) -> AsyncGenerator[Hosted]:
    async with hosting(tmp_path / "home") as served:
        yield served


@shows("no-token", "wrong-token", "basic-scheme")
async def test_whatever_is_wrong_with_a_token_gets_the_same_answer(hosted: Hosted) -> None:
    """Nobody learns how near they were. The body is not even read."""
    token = hosted.add_token("ada", "alder")
    hosted.revoke("ada")
    good = hosted.add_token("bob", "alder")
    wrong = [token, good[:-1], f"{good}x", good.swapcase(), f"mcpt_{'0' * 12}_{'A' * 43}", "x",
             good.replace("mcpt", "MCPT"), f"{good} {good}", f"{good},{good}"]  # fmt: skip
    said = {(a.status_code, a.text) for each in wrong if (a := await hosted.ask(token=each))}
    for headers in (
        {},
        {"authorization": f"Basic {good}"},
        {"authorization": good},
        {"authorization": f"Token {good}"},
        {"cookie": f"token={good}; authorization=Bearer {good}"},
        {"x-api-key": good},
    ):
        refused = await hosted.ask(headers=headers)
        said.add((refused.status_code, refused.text))
    for params in ({"access_token": good}, {"token": good}, {"authorization": f"Bearer {good}"}):
        said.add(((r := await hosted.ask(params=params)).status_code, r.text))
    async with httpx2.AsyncClient() as web:
        both = [("authorization", f"Bearer {good}")] * 2
        twice = await web.post(hosted.url, headers=both, json=HELLO)
        said.add((twice.status_code, twice.text))

    assert said == {(401, "A token is needed: send `Authorization: Bearer TOKEN`.")}
    assert (await hosted.ask(token=good)).status_code == 200


@shows("revoked-token", "expired-token")
async def test_a_token_that_holds_no_longer_lets_nobody_into_its_open_session(
    hosted: Hosted,
) -> None:
    """Revoked or past its time: the next request is refused, whatever was opened before."""
    soon = datetime.now(UTC) + timedelta(hours=1)
    revoked = hosted.add_token("ada", "alder")
    expiring = hosted.add_token("bob", "alder", expires_at=soon)
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    for token, end in ((revoked, lambda: hosted.revoke("ada")), (expiring, lambda: expire(hosted))):
        session = {"mcp-session-id": (await hosted.ask(token=token)).headers["mcp-session-id"]}
        assert (await hosted.ask(token=token, body=body, headers=session)).status_code == 200
        end()
        assert (await hosted.ask(token=token, body=body, headers=session)).status_code == 401


def expire(hosted: Hosted) -> None:
    """Let the time of the tokens pass: their file says an earlier one."""
    path = hosted.settings.home
    assert path is not None
    file = path / "tokens.json"
    stored = json.loads(file.read_text("utf-8"))
    for token in stored["tokens"]:
        if "expires_at" in token["identity"]:
            token["identity"]["expires_at"] = "2026-01-01T00:00:00.000Z"
    file.write_text(json.dumps(stored), "utf-8")


@shows("revoked-stream")
@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_a_stream_ends_when_its_token_is_revoked(tmp_path: Path, transport: Any) -> None:
    """What happens later is not announced on it; the streams of others go on."""
    async with hosting(tmp_path / "home", transport) as hosted:
        ada, bob = hosted.add_token("ada", "alder"), hosted.add_token("bob", "alder")
        ended: list[str] = []
        async with asyncio.TaskGroup() as group, asyncio.timeout(60):
            opened = [asyncio.Event(), asyncio.Event()]
            streams = [
                group.create_task(follow(hosted, token, name, event, ended))
                for token, name, event in zip((ada, bob), ("ada", "bob"), opened, strict=True)
            ]
            for event in opened:
                await event.wait()
            hosted.revoke("ada")
            await asyncio.wait([streams[0]])
            assert ended == ["ada"]
            streams[1].cancel()


async def follow(
    hosted: Hosted, token: str, name: str, opened: asyncio.Event, ended: list[str]
) -> None:
    """Open a stream, and note when it ends by itself."""
    headers = {"authorization": f"Bearer {token}", "accept": "text/event-stream"}
    if hosted.transport != "sse":
        headers["mcp-session-id"] = (await hosted.ask(token=token)).headers["mcp-session-id"]
    async with (
        httpx2.AsyncClient(timeout=None) as web,
        web.stream("GET", hosted.url, headers=headers) as response,
    ):
        assert response.status_code == 200
        opened.set()
        async for _ in response.aiter_bytes():
            pass
    ended.append(name)


@shows("hashed", "shown-once")
def test_a_token_is_shown_once_and_rests_as_a_digest(run: Run, tmp_path: Path) -> None:
    """Neither the file nor a list lets anybody in."""
    added = as_json(run, "token", "add", "ada", "--team", "acme", "--project", "blog",
                    "--project", ".", "--read-only", "--expires", "90d")  # fmt: skip
    secret = added["token"][-43:]
    listed = run("token", "list")[1] + run("token", "list", "--json")[1] + run("token")[1]
    kept = [*(tmp_path / "home").rglob("*")]
    texts = [each.read_bytes() for each in kept if each.is_file()]

    assert f"\n   user ada of team acme, projects blog, {Path.cwd()}, may read\n" in listed
    assert added["token"] == f"mcpt_{added['tokenId']}_{secret}"
    assert added["projects"] == ["blog", str(Path.cwd())]
    assert (added["user"], added["team"], added["may"]) == ("ada", "acme", "read")
    assert secret not in listed
    assert texts
    assert all(secret.encode() not in text for text in texts)
    assert (tmp_path / "home" / "tokens.json").stat().st_mode & 0o077 == 0

    status, out, _ = run("token", "revoke", "ada")
    assert status == 0
    assert "ada lets nobody in any more" in out
    status, _, said = run("token", "revoke", "ada")
    assert status == 1
    assert "There is no token 'ada'. Those that hold: none." in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--project", "../none"), "'../none' is no folder. Name one that exists."),
        (("--project", "Shop"), "'Shop' is no name of a project. Use small letters"),
        (("--project", "a..b"), "'a..b' is no name of a project"),
        (("--project", ""), "'' is no name of a project"),
        (("--project", "a", "--project", "a"), "Two projects are called 'a'"),
        (("--user", "a\u202eb"), "--user 'a\\u202eb' is no name"),
        (("--expires", "2001-01-01"), "--expires is in the past"),
        (("--expires", "soon"), "'soon' is no time"),
    ],
)
def test_a_token_for_what_cannot_be_is_refused(
    run: Run, arguments: tuple[str, ...], why: str
) -> None:
    """With the sentence that says what would be right."""
    status, out, said = run("token", "add", "ada", *arguments)

    assert status in (1, 2)
    assert out == ""
    assert why in said


@pytest.mark.parametrize("arguments", [("add", "eve"), ("revoke", "ada")])
def test_a_lock_of_tokens_that_may_not_be_written_is_one_sentence(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, str]
) -> None:
    """As the lock of the head: it may belong to somebody else since a `sudo`."""
    assert run("token", "add", "ada")[0] == 0

    def refuse(path: Path, _: float) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("memory_mcp.server.tokens.hold_lock", refuse)
    said = complaint(run, "token", *arguments)  # with --json as well
    assert "tokens.lock: it may not be written. Make the folder writable" in said


def test_two_tokens_have_two_names(run: Run) -> None:
    """Else nobody knew which one is revoked."""
    assert run("token", "add", "ada")[0] == 0
    status, _, said = run("token", "add", "ada")
    assert status == 1
    assert "There is a token 'ada' already." in said
    assert run("token", "revoke", "ada")[0] == 0
    assert run("token", "add", "ada")[0] == 0


@shows("public-start")
@pytest.mark.parametrize(
    ("environment", "host", "why"),
    [
        ({}, "0.0.0.0", "is refused: it would be open to whoever reaches the port"),  # noqa: S104  # refused
        ({"MEMORY_HTTP_URL": "https://m.example/mcp"}, "127.0.0.1", "alone, take MEMORY_HTTP_URL"),
        ({"MEMORY_HTTP_ISSUER": "https://i.example"}, "127.0.0.1", "Set MEMORY_HTTP_URL"),
        ({"MEMORY_HTTP_ISSUER": "i.example"}, "127.0.0.1", "MEMORY_HTTP_ISSUER cannot be used"),
        ({"MEMORY_HTTP_URL": "http://m.example/mcp"}, "127.0.0.1", "https, because http shows"),
        ({"MEMORY_HTTP_URL": "https://m.example"}, "127.0.0.1", "the path is missing"),
        ({"MEMORY_HTTP_PROXIES": "all"}, "127.0.0.1", "addresses or networks"),
    ],
)
def test_a_server_that_anybody_could_enter_does_not_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str], host: str, why: str,
) -> None:  # fmt: skip
    """Nor one whose settings say something that is not in force."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    status = main(["serve", "--transport", "streamable-http", "--host", host, "--port", "0"])

    assert status == 1
    assert why in capsys.readouterr().err


@shows("public-start")
def test_once_there_was_a_token_nobody_enters_without_one(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """To revoke the last one does not open the door; the message names the ways that do."""
    run("token", "add", "ada")
    run("token", "revoke", "ada")
    status = main(["serve", "--transport", "streamable-http", "--port", "0"])

    assert status == 1
    said = capsys.readouterr().err
    assert "this server is refused: it asked for tokens until now, and none holds any more." in said
    assert "--host" not in said, "it is this machine already"
    (file,) = tmp_path.rglob("tokens.json")
    assert f"or, if every program of this machine may enter without one again, move {file}" in said
    file.rename(file.with_suffix(".old"))
    settings = load_settings().settings
    assert find_authenticator(settings, "127.0.0.1", "/mcp") is None


# An issuer.


class Keys:
    """An issuer with a key, whose documents are read as a web server would give them."""

    url = "https://login.example.com/realm"
    audience = "https://memory.example.com/mcp"

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.away = False
        self.fetched: list[str] = []

    def issuer(self) -> Issuer:
        return Issuer(self.url, self.audience, self.fetch)

    async def fetch(self, address: str) -> Any:
        self.fetched.append(address)
        if self.away:
            raise OSError("away")
        if address.endswith("/jwks"):
            jwk = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
            return {"keys": [{**jwk, "kid": "one", "alg": "RS256", "use": "sig"}]}
        return {"issuer": self.url, "jwks_uri": f"{self.url}/jwks"}

    def sign(
        self, key: Any = None, algorithm: str = "RS256", kid: str = "one", **claims: Any
    ) -> str:
        now = int(datetime.now(UTC).timestamp())
        usual = {"iss": self.url, "aud": self.audience, "sub": "ada", "exp": now + 600, "iat": now,
                 "memory_projects": ["alder"], "scope": "memory:read memory:write"}  # fmt: skip
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(given, key or self.key, algorithm, headers={"kid": kid})


@pytest.fixture
def keys() -> Keys:
    return Keys()


@shows("oauth-signature", "oauth-audience")
async def test_only_what_the_issuer_signed_for_this_server_lets_in(keys: Keys) -> None:
    issuer, now = keys.issuer(), int(datetime.now(UTC).timestamp())
    public = keys.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    good = keys.sign()
    head, body, signature = good.split(".")
    claims = jwt.decode(good, options={"verify_signature": False})
    forged = base64url_encode(json.dumps({**claims, "sub": "bob"}).encode()).decode()
    unsigned = jwt.encode(claims, "", "none", headers={"kid": "one"})
    # what the library refuses to make is made by hand: the public key as a shared secret
    shared = base64url_encode(b'{"alg":"HS256","kid":"one","typ":"JWT"}').decode()
    tag = HMACAlgorithm(HMACAlgorithm.SHA256).sign(f"{shared}.{body}".encode(), public)
    confused = f"{shared}.{body}.{base64url_encode(tag).decode()}"
    wrong = {
        "foreign signature": keys.sign(other), "none": unsigned, "shared secret": confused,
        "other claims": f"{head}.{forged}.{signature}", "no signature": f"{head}.{body}.",
        "another audience": keys.sign(aud="https://other.example/mcp"),
        "no audience": keys.sign(aud=None), "another issuer": keys.sign(iss="https://evil.example"),
        "a slash more": keys.sign(iss=f"{keys.url}/"), "past": keys.sign(exp=now - 1),
        "no end": keys.sign(exp=None), "not yet": keys.sign(nbf=now + 600),
        "from the future": keys.sign(iat=now + 600), "nobody": keys.sign(sub=None),
        "unknown key": keys.sign(kid="two"), "projects": keys.sign(memory_projects="alder"),
        "a path": keys.sign(memory_projects=["../alder"]), "team": keys.sign(memory_team=7),
        "long": "a" * 20_000, "rest": "a.b.c",
    }  # fmt: skip

    found = await issuer.find(good)
    assert found is not None
    assert found.user == "ada@login.example.com"
    assert [project.name for project in found.projects] == ["alder"]
    assert not found.read_only
    for what, token in wrong.items():
        assert await issuer.find(token) is None, what
    reader = await issuer.find(keys.sign(scope="memory:read"))
    assert reader is not None
    assert reader.read_only
    assert len([each for each in keys.fetched if each.endswith("/jwks")]) == 1


@shows("oauth-issuer-away")
async def test_an_issuer_that_is_away_lets_nobody_new_in(keys: Keys) -> None:
    """And what it said before holds: those who work go on."""
    issuer = keys.issuer()
    keys.away = True
    assert await issuer.find(keys.sign()) is None

    known = keys.issuer()
    keys.away = False
    assert await known.find(keys.sign()) is not None
    keys.away = True
    assert await known.find(keys.sign()) is not None
    assert await known.find(keys.sign(kid="two")) is None


async def test_a_client_without_a_token_learns_where_to_get_one(tmp_path: Path, keys: Keys) -> None:
    """The document that the header names is there, and names the issuer."""
    http = HttpSettings(url="http://127.0.0.1:1/mcp", issuer=keys.url)
    async with hosting(tmp_path / "home", issuer=keys.issuer(), http=http) as hosted:
        refused = await hosted.ask()
        assert refused.status_code == 401
        where = "http://127.0.0.1:1/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{where}"' in refused.headers["www-authenticate"]
        told = (await hosted.ask("GET", path="/.well-known/oauth-protected-resource/mcp")).json()
        assert told["resource"] == "http://127.0.0.1:1/mcp"
        assert told["authorization_servers"] == [keys.url]
        async with hosted.client(keys.sign()) as one, hosted.client(keys.sign(sub="bob")) as other:
            await add(one, "Orders live in PostgreSQL.")
            assert await recalled(one) == ["Orders live in PostgreSQL."]
            assert await recalled(other) == []


# Limits, and what passes through a proxy.


@shows("rate")
def test_a_bucket_empties_and_fills_for_each_by_itself() -> None:
    rates = Rates(per_minute=60, burst=3)

    assert [rates.take("ada", 0) for _ in range(3)] == [0, 0, 0]
    assert rates.take("ada", 0) == 1
    assert rates.take("bob", 0) == 0
    assert rates.take("ada", 1) == 0
    assert rates.take("ada", 1) == 1
    assert [rates.take("ada", 1_000) for _ in range(4)] == [0, 0, 0, 1]


@shows("rate")
async def test_who_calls_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    """Another user is not slowed by it."""
    async with hosting(tmp_path / "home", http=HttpSettings(per_minute=8)) as hosted:
        ada, bob = hosted.add_token("ada"), hosted.add_token("bob")
        answers = [await hosted.ask("GET", ada) for _ in range(4)]
        assert answers[-1].status_code == 429
        assert int(answers[-1].headers["retry-after"]) > 0
        assert (await hosted.ask(token=bob)).status_code == 200


@shows("rate")
async def test_who_tries_tokens_is_soon_not_listened_to(hosted: Hosted) -> None:
    """From one address; who has a token is let in from there all the same."""
    token = hosted.add_token("ada")
    answers = [(await hosted.ask(token=WRONG)).status_code for _ in range(40)]
    assert set(answers[:30]) == {401}
    assert answers[-1] == 429
    assert (await hosted.ask(token=token)).status_code == 200


@shows("forwarded")
def test_what_is_said_of_a_clients_address_counts_only_from_a_proxy_that_was_named() -> None:
    """Whoever writes the header could be anybody."""
    proxies = (ip_network("10.0.0.0/8"), ip_network("::1/128"))

    def client(peer: str, *said: str) -> str:
        headers = [(b"x-forwarded-for", each.encode()) for each in said]
        return find_client({"client": (peer, 1), "headers": headers}, proxies)

    assert client("192.0.2.1", "198.51.100.7") == "192.0.2.1"
    assert client("10.0.0.1") == "10.0.0.1"
    assert client("10.0.0.1", "198.51.100.7") == "198.51.100.7"
    assert client("10.0.0.1", "198.51.100.7, 203.0.113.9") == "203.0.113.9"
    assert client("10.0.0.1", "198.51.100.7", "203.0.113.9, 10.1.1.1") == "203.0.113.9"
    assert client("::1", "2001:db8::7") == "2001:db8::7"
    assert client("10.0.0.1", "198.51.100.7, nonsense") == "10.0.0.1"
    assert client("10.0.0.1", "") == "10.0.0.1"
    assert find_client({"client": None, "headers": []}, proxies) == ""


@shows("host", "origin")
def test_behind_a_proxy_the_public_name_counts_and_no_other() -> None:
    names = Names("127.0.0.1", "https://Memory.example.com/mcp", ("https://page.example",))

    def status(host: str, origin: str = "") -> int:
        headers = [(b"host", host.encode()), *([(b"origin", origin.encode())] if origin else [])]
        refused = refuse_foreign_request(headers, names)
        return refused[0] if refused else 200

    own = "memory.example.com"
    for host in (own, "MEMORY.example.com", f"{own}:443", "localhost:8000"):
        assert status(host) == 200, host
    for host in ("evil.example", f"{own}:444", f"{own}.", f"x.{own}", f"{own}@evil", f"evil@{own}"):
        assert status(host) == 421, host
    for origin in (f"https://{own}", f"https://{own}:443", "https://page.example"):
        assert status(own, origin) == 200, origin
    for origin in (f"http://{own}", "https://page.example:1", "http://page.example", "null",
                   "http://localhost", "https://evil.example"):  # fmt: skip
        assert status(own, origin) == 403, origin


@shows("origin")
async def test_only_a_page_that_was_named_may_call(tmp_path: Path) -> None:
    """Only it gets the headers that let a browser pass on the answer."""
    http = HttpSettings(pages=("https://page.example",))
    async with hosting(tmp_path / "home", http=http) as hosted:
        token = hosted.add_token("ada")
        page = {"origin": "https://page.example"}
        asked = await hosted.ask("OPTIONS", headers=page)
        assert asked.status_code == 204
        assert asked.headers["access-control-allow-origin"] == "https://page.example"
        assert "authorization" in asked.headers["access-control-allow-headers"]
        for answer in (await hosted.ask(token=token, headers=page), await hosted.ask(headers=page)):
            assert answer.headers["access-control-allow-origin"] == "https://page.example"
        for origin in ({}, {"origin": "https://evil.example"}):
            for method in ("OPTIONS", "POST"):
                answer = await hosted.ask(method, token, headers=origin)
                assert not [each for each in answer.headers if each.startswith("access-control")]


@shows("health")
async def test_health_says_nothing_and_figures_ask_for_their_token(hosted: Hosted) -> None:
    token, figures = hosted.add_token("ada"), hosted.add_token("prometheus", figures=True)
    for path in ("/healthz", "/readyz"):
        answer = await hosted.ask("GET", path=path, headers={"host": "anything"})
        assert (answer.status_code, answer.text) == (200, "ok\n")
        assert (await hosted.ask("HEAD", path=path)).status_code == 200
    assert (await hosted.ask("GET", path="/metrics")).status_code == 401
    assert (await hosted.ask("GET", token, path="/metrics")).status_code == 404
    assert (await hosted.ask(token=figures)).status_code == 404
    async with hosted.client(token) as client:
        await add(client, "Zanzibar is where orders rest.")
        await client.call_tool("Zanzibar", {})
    told = (await hosted.ask("GET", figures, path="/metrics")).text
    assert 'memory_mcp_calls_total{name="add_memory",ending="ok"} 1' in told
    assert 'memory_mcp_calls_total{name="other",ending="failed"} 1' in told
    assert 'memory_mcp_http_answers_total{status="401"} 1' in told
    assert "Zanzibar" not in told
    for line in told.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ", "memory_mcp_")), line


@shows("logs")
async def test_no_line_of_the_log_holds_content_or_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the most talkative level, whatever a client sends."""
    for form in ("text", "json"):
        root = logging.getLogger()
        before, level = [*root.handlers], root.level
        for handler in before:
            root.removeHandler(handler)
        log_without_content("DEBUG", form)
        root.setLevel("DEBUG")
        try:
            async with hosting(tmp_path / form, "sse") as hosted:
                token = hosted.add_token("ada")
                async with hosted.client(token) as client:
                    await add(client, "Zanzibar is where orders rest.")
                    await recalled(client, "Zanzibar")
                    await client.call_tool("Zanzibar", {"Zanzibar": "Zanzibar"})
                await hosted.ask(
                    token=token, path="/messages/?session_id=Zanzibar", body="Zanzibar"
                )
                await hosted.ask(token=f"{token}Zanzibar", body='{"a": "Zanzibar"}')
        finally:
            for handler in [*root.handlers]:
                root.removeHandler(handler)
            for handler in before:
                root.addHandler(handler)
            root.setLevel(level)
        said = capsys.readouterr().err
        assert "add_memory: ok" in said
        assert "Zanzibar" not in said
        assert token not in said
        if form == "json":
            lines = [line for line in said.splitlines() if line.startswith("{")]
            assert all(json.loads(line)["level"] for line in lines)
            assert lines
