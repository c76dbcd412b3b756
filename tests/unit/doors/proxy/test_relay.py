"""Requests and answers on their way through: real sockets on both sides."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.service.service import Service
from interpose.core.config.proxy import ProxySettings
from interpose.doors.proxy import raw_events, relay
from tests.support.hosts.gating import watched
from tests.support.peers.model_site import EVENTS, CutOffError, ModelServer, ProxySite, Said, files_with, site
from tests.support.peers.model_streams import DIALECTS, datas, sent
from tests.support.servers.servers import JSON, service_in
from tests.support.timing.patience import PATIENCE

START = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
STOP = {"type": "content_block_stop", "index": 0}
TOOL_USE: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "go", "input": {}}
CALL = {"type": "content_block_start", "index": 1, "content_block": TOOL_USE}
POST = ("POST /model/v1/messages HTTP/1.1", "Content-Length: 2")


def events(*values: dict[str, Any]) -> list[bytes]:
    return [sent(DIALECTS["anthropic"], value) for value in values]


def arguments(text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": text}}


def ended(got: bytes) -> bool:
    return got.endswith(b"0\r\n\r\n")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, packs=()) as made:
        watched(made)
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxySite]:
    """One proxy for all tests that leave nothing behind."""
    with service_in(tmp_path_factory.mktemp("shared"), packs=()) as made:
        watched(made)
        with site(made) as there:
            yield there


@pytest.fixture
def there(shared: ProxySite) -> ProxySite:
    shared.model.forget()
    return shared


def test_headers_of_a_request_go_on_as_they_were_written(there: ProxySite) -> None:
    there.raw(
        "POST /model/v1/messages?beta=true&x[]=1&x[]=2 HTTP/1.1", "X-API-Key: sk-ant-secret",
        "authorization: Bearer abc", "Anthropic-Beta: one", "anthropic-beta: two", "User-Agent: agent/1.0 (x)",
        "Accept-Encoding: gzip, br", "Connection: keep-alive, X-Hop", "X-Hop: mine", "TE: trailers",
        "Proxy-Authorization: Basic x", "X-Interpose-Session: s", "Content-Type: application/json", "Content-Length: 2",
        body=b"{}", until=bool,
    )  # fmt: skip
    (asked,) = there.model.asked
    assert asked.target == "/v1/messages?beta=true&x[]=1&x[]=2"
    assert asked.fields == (
        ("Host", there.model.authority), ("X-API-Key", "sk-ant-secret"), ("authorization", "Bearer abc"),
        ("Anthropic-Beta", "one"), ("anthropic-beta", "two"), ("User-Agent", "agent/1.0 (x)"),
        ("Content-Type", "application/json"), ("Accept-Encoding", "identity"), ("Content-Length", "2"),
    )  # fmt: skip


def test_headers_of_an_answer_come_back_as_they_were_written(there: ProxySite) -> None:
    fields = (
        ("Content-Type", "application/json"), ("request-id", "req_1"), ("x-request-id", "r2"), ("Set-Cookie", "a=1; x"),
        ("set-cookie", "b=2"), ("anthropic-ratelimit-tokens-remaining", "9"), ("Alt-Svc", 'h3=":443"'),
        ("Keep-Alive", "timeout=5"), ("X-Empty", ""),
    )  # fmt: skip
    there.model.says = lambda _asked: Said(b'{"error": 1}', 529, fields)
    got = there.raw(*POST, "Connection: close", body=b"{}")
    start, *lines = got.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert start.startswith("HTTP/1.1 529 ")
    assert lines == [
        "Content-Type: application/json", "request-id: req_1", "x-request-id: r2", "Set-Cookie: a=1; x",
        "set-cookie: b=2", "anthropic-ratelimit-tokens-remaining: 9", "X-Empty: ", "Content-Length: 12",
        "Connection: close",
    ]  # fmt: skip
    assert b'{"error": 1}' in got


def test_text_is_there_before_the_model_has_ended(there: ProxySite) -> None:
    seen = threading.Event()

    def body() -> Iterator[bytes]:
        yield from events(START, DELTA)
        assert seen.wait(PATIENCE), "the text was held back"
        yield from events(STOP)

    def until(got: bytes) -> bool:
        if b"text_delta" in got:
            seen.set()
        return ended(got)

    there.model.says = lambda _asked: Said(body(), fields=EVENTS)
    assert b"content_block_stop" in there.raw(*POST, body=b"{}", until=until)


def test_a_call_is_held_from_its_first_fragment_until_it_is_judged(there: ProxySite) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def body() -> Iterator[bytes]:
        yield from events(START, DELTA, STOP, CALL, arguments('{"do": '))
        asked.set()
        assert go_on.wait(PATIENCE)
        yield from events(arguments('"deny"}'), {**STOP, "index": 1}, {"type": "message_stop"})

    def until(got: bytes) -> bool:
        if b"content_block_stop" in got and not go_on.is_set():
            assert asked.wait(PATIENCE)
            assert b"tool_use" not in got
            go_on.set()
        return ended(got)

    there.model.says = lambda _asked: Said(body(), fields=EVENTS)
    got = there.raw(*POST, body=b"{}", until=until)
    assert b"tool_use" not in got
    assert b"go was not called. Interpose refused this (no-this): Not this." in got


DENIED = '{"do": "deny"}'
ANSWERS: dict[str, tuple[str, Any]] = {
    "anthropic": ("/v1/messages", {"content": [{**TOOL_USE, "input": {"do": "deny"}}]}),
    "chat": (
        "/v1/chat/completions",
        {"choices": [{"message": {"tool_calls": [{"id": "t", "function": {"name": "go", "arguments": DENIED}}]}}]},
    ),
    "responses": (
        "/v1/responses",
        {"output": [{"type": "function_call", "call_id": "t", "name": "go", "arguments": DENIED}]},
    ),
    "gemini": (
        "/v1beta/models/x:generateContent",
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "go", "args": {"do": "deny"}}}]}}]},
    ),
}


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_each_dialect_at_its_path(there: ProxySite, name: str) -> None:
    path, answer = ANSWERS[name]
    there.answers(answer)
    got = there.post(path, {})
    assert got.status == 200
    assert "go was not called. Interpose refused this (no-this): Not this.\\nSafer: that" in got.body.decode()
    fine = json.dumps(answer).replace("deny", "fine")
    there.answers(json.loads(fine))
    assert there.post(path, {}).body == fine.encode(), "it was not passed byte for byte"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/nowhere/v1/messages", "not_found"),
        ("/", "not_found"),
        ("/model/v1//messages", "bad_request"),
        ("/model/v1/../v1/messages", "bad_request"),
        ("/model/v1/./messages", "bad_request"),
        ("/model/v1/%6dessages", "bad_request"),
        ("/model/v1%2fmessages", "bad_request"),
        ("/mode%6c/v1/messages", "bad_request"),
        ("/model/v1/messages;x", "bad_request"),
        ("/model/v1/messages%3F/models", "bad_request"),
        ("/model/v1/messages%23/models", "bad_request"),
    ],
)
def test_paths_that_lead_nowhere_or_in_two_ways(there: ProxySite, path: str, why: str) -> None:
    got = there.at("POST", path, b"{}", JSON)
    assert (got.status, got.json["error"]) == (404 if why == "not_found" else 400, why)
    assert there.model.asked == []


@pytest.mark.parametrize("path", ["/V1/Messages", "/v1/messages/", "/api/anything/messages"])
def test_other_spellings_of_a_judged_path_are_judged(there: ProxySite, path: str) -> None:
    there.answers(ANSWERS["anthropic"][1])
    assert b"was not called" in there.post(path, {}).body


def test_an_escape_that_hides_nothing_is_judged(there: ProxySite) -> None:
    there.answers(ANSWERS["gemini"][1])
    assert b"was not called" in there.post("/v1beta/models/x%3AgenerateContent", {}).body


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_pages_of_a_browser_get_nothing(there: ProxySite, headers: dict[str, str]) -> None:
    given = {name: text.format(port=there.port) for name, text in headers.items()}
    assert there.ask("/v1/messages", b"{}", headers=JSON | given).status == 403
    assert there.model.asked == []


def test_no_page_is_told_that_it_may_ask(there: ProxySite) -> None:
    got = there.ask("/v1/messages", method="OPTIONS", headers={"Access-Control-Request-Method": "POST"})
    assert not [name for name in got.headers if name.startswith("access-control")]
    assert there.model.asked == []


@pytest.mark.parametrize("first", ["GET http://example.com/ HTTP/1.1", "CONNECT example.com:443 HTTP/1.1"])
def test_it_is_no_proxy_for_other_places(there: ProxySite, first: str) -> None:
    assert there.raw(first, "Connection: close").startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 405 "))


def test_a_websocket_is_refused(there: ProxySite) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13"}
    got = there.ask("/v1/responses", method="GET", headers=upgrade)
    assert got.status == 426
    assert there.model.asked == []


@pytest.mark.parametrize(
    ("note", "body", "headers"),
    [
        ("compressed", gzip.compress(b"{}"), {"Content-Encoding": "gzip"}),
        ("a key twice", b'{"model": "a", "messages": [], "messages": []}', {}),
        ("another spelling", b'{"Messages": [], "messages": []}', {}),
        ("no JSON", b"{", {}),
        ("a list", b"[]", {}),
        ("too deep", b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", {}),
    ],
)
def test_requests_that_can_t_be_read_go_nowhere(
    there: ProxySite, note: str, body: bytes, headers: dict[str, str]
) -> None:
    got = there.ask("/v1/messages", body, headers=JSON | headers)
    assert (got.status, got.json["type"], got.json["error"]["type"]) == (400, "error", "invalid_request_error"), note
    assert there.model.asked == []


def of_kind(kind: str) -> tuple[tuple[str, str], ...]:
    return (("Content-Type", kind),) if kind else ()


ELSEWHERE = (("Location", "https://elsewhere.example/v1/messages"),)


@pytest.mark.parametrize(
    ("note", "said", "status"),
    [
        ("compressed, and nobody asked", Said(gzip.compress(b"{}"), fields=(("Content-Encoding", "gzip"),)), 502),
        ("a way past us", Said(b"", 307, ELSEWHERE), 502),
        ("a way past us, as some clients follow it", Said(b"", 301, (("Location", "/v1/other"),)), 502),
        ("events with the name of JSON", Said(events(CALL)[0]), 403),
        ("JSON that can be read in two ways", Said(b'{"content": [], "content": []}'), 403),
        ("other letters", Said(b'{"content": []}', fields=of_kind("application/json; charset=UTF-7")), 403),
        ("other letters in events", Said(b"", fields=of_kind('text/event-stream; x=1; charset="utf-16"')), 403),
        ("nothing that anybody knows", Said(b"\0\1", fields=of_kind("application/vnd.amazon.eventstream")), 403),
    ],
)
def test_answers_that_can_t_be_judged_are_errors_of_the_api(
    there: ProxySite, note: str, said: Said, status: int
) -> None:
    there.model.says = lambda _asked: said
    got = there.post("/v1/messages", {})
    assert (got.status, got.json["type"]) == (status, "error"), note
    assert "the model's server" in got.json["error"]["message"]


def test_json_with_the_name_of_events_ends_with_an_error(there: ProxySite) -> None:
    there.model.says = lambda _asked: Said(json.dumps({"content": [TOOL_USE]}).encode(), fields=EVENTS)
    got = there.post("/v1/messages", {}).body
    assert b"tool_use" not in got
    assert datas(got)[-1]["error"]["type"] == "api_error"


def test_errors_of_the_server_pass_as_they_are(there: ProxySite) -> None:
    body = b'{"type":"error","error":{"type":"rate_limit_error"}}'
    there.model.says = lambda _asked: Said(body, 429, (("retry-after", "7"), ("Content-Type", "application/json")))
    got = there.post("/v1/messages", {})
    assert (got.status, got.headers["retry-after"], got.body) == (429, "7", body)


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_error_has_no_call_in_it(there: ProxySite, name: str) -> None:
    """Some agents do not look at the status."""
    path, answer = ANSWERS[name]
    there.answers(answer, 400)
    got = there.post(path, {})
    assert (got.status, b'"go"' in got.body) == (403, False)


def test_a_server_that_is_not_there(service: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    with site(service, more={"gone": f"http://127.0.0.1:{port}"}) as there:
        got = there.at("POST", "/gone/v1/messages", b"{}", JSON)
    assert got.status == 502
    assert "could not reach" in got.json["error"]["message"]


def test_a_server_that_says_nothing_is_given_up(service: Service) -> None:
    over = threading.Event()
    with site(service, ProxySettings(wait=0, timeout=0.2)) as there:

        def never(_asked: Any) -> Said:
            over.wait(20)
            return Said()

        there.model.says = never
        got = there.post("/v1/messages", {})
        over.set()
    assert got.status == 502
    assert "did not answer" in got.json["error"]["message"]


def test_a_server_that_goes_in_the_middle_of_a_call(there: ProxySite) -> None:
    def body() -> Iterator[bytes]:
        yield from events(START, DELTA, STOP, CALL, arguments('{"do": "fine"}'))
        raise CutOffError

    there.model.says = lambda _asked: Said(body(), fields=EVENTS)
    got = there.raw(*POST, "Connection: close", body=b"{}")
    assert b"text_delta" in got
    assert b"tool_use" not in got
    assert not ended(got), "a part was taken for the whole"


def test_an_agent_that_goes_ends_the_answer_at_the_server(there: ProxySite) -> None:
    def body() -> Iterator[bytes]:
        yield from events(START)
        while not there.model.cut_off.is_set():
            yield from events(DELTA)

    there.model.says = lambda _asked: Said(body(), fields=EVENTS)
    there.raw(*POST, body=b"{}", until=lambda got: b"text_delta" in got)
    assert there.model.cut_off.wait(PATIENCE)


def test_an_event_without_an_end_is_not_held(there: ProxySite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_events.RawEvents.__init__, "__defaults__", (100_000,))

    def body() -> Iterator[bytes]:
        yield from events(START)
        while not there.model.cut_off.is_set():
            yield b"data: " + b"x" * 10_000

    there.model.says = lambda _asked: Said(body(), fields=EVENTS)
    assert datas(there.post("/v1/messages", {}).body)[-1]["type"] == "error"
    assert there.model.cut_off.wait(PATIENCE)


def test_an_answer_that_is_too_large_is_refused(there: ProxySite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "LARGEST_ANSWER", 10_000)
    there.answers({"content": [{"type": "text", "text": "x" * 20_000}]})
    got = there.post("/v1/messages", {})
    assert (got.status, got.json["error"]["type"]) == (403, "permission_error")


def test_more_calls_than_anybody_makes_are_refused(there: ProxySite) -> None:
    calls = [{**TOOL_USE, "id": str(at)} for at in range(200)]
    there.answers({"content": calls})
    assert there.post("/v1/messages", {}).status == 403
    blocks = [
        event
        for at in range(200)
        for event in ({"type": "content_block_start", "index": at, "content_block": calls[at]}, {**STOP, "index": at})
    ]
    there.says(*events(*blocks))
    found = datas(there.post("/v1/messages", {}).body)
    assert found[-1]["type"] == "error"
    assert sum(event.get("type") == "content_block_start" for event in found) == 128


FUNCTION = b'{"data": [{"tools": [{"type": "function", "function": {"name": "x", "parameters": {}}}]}]}'
STREAMED = b'data: {"choices": [{"text": "x"}]}\n\ndata: [DONE]\n\n'
CALLS = b'{"tool_calls": [{"name": "x", "arguments": "{}"}]}'
OTHER = [
    ("models", "GET", "/v1/models", b'{"data": [{"id": "m"}]}', "application/json"),
    ("one model, whatever it says", "GET", "/v1/models/m", CALLS, "application/json"),
    ("embeddings", "POST", "/v1/embeddings", b'{"data": [{"embedding": [0.1]}]}', "application/json"),
    ("a count of tokens", "POST", "/v1/messages/count_tokens", b'{"input_tokens": 3}', "application/json"),
    ("a file", "GET", "/v1/files/f/content", b"\x00\xff", "application/octet-stream"),
    ("speech", "POST", "/v1/audio/speech", b"ID3", "audio/mpeg"),
    ("a path that nobody knows", "POST", "/v1/anything", b'{"fine": true}', "application/json"),
    ("text that is no JSON", "GET", "/health", b"ok", "text/plain"),
    ("old completions", "POST", "/v1/completions", b'{"choices": [{"text": "x"}]}', "application/json"),
    ("a list of tools that there are", "GET", "/v1/assistants", FUNCTION, "application/json"),
    ("a stream that nobody knows", "POST", "/v1/completions", STREAMED, "text/event-stream"),
]


@pytest.mark.parametrize(("note", "method", "path", "body", "kind"), OTHER, ids=[row[0] for row in OTHER])
def test_other_paths_pass_as_they_are(
    there: ProxySite, note: str, method: str, path: str, body: bytes, kind: str
) -> None:
    there.model.says = lambda _asked: Said(body, fields=of_kind(kind))
    got = there.ask(path, b'{"a":1}' if method == "POST" else None, method=method)
    assert (got.status, got.body, got.headers["content-type"]) == (200, body, kind)


WAITING = b'{"required_action": {"submit_tool_outputs": {"tool_calls": [{"id": "t"}]}}}'
OLLAMA = b'{"message": {"tool_calls": [{"function": {"name": "x", "arguments": {}}}]}}\n'
ITEMS = b'{"data": [{"type": "function_call", "name": "x", "arguments": "{}"}]}'
BATCH = b'{"a": 1}\n{"message": {"content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]}}\n'
SMELLS = [
    ("a batch", "/v1/messages/batches/b/results", BATCH, "application/x-ndjson"),
    ("a batch under another name", "/v1/batches", BATCH, "application/jsonl"),
    ("a batch as text", "/v1/batches", BATCH, "text/plain"),
    ("an assistant", "/v1/threads/t/runs", WAITING, "application/json"),
    ("Ollama's own API", "/api/chat", OLLAMA, "application/x-ndjson"),
    ("a list of items", "/v1/conversations/c/items", ITEMS, "application/json"),
    ("no name for what it is", "/v1/anything", b'{"functionCall": {"name": "x"}}', ""),
    ("JSON that can be read in two ways", "/v1/anything", b'{"a": 1, "a": 2}', "application/json"),
    ("a batch as a file", "/v1/files/f/content", BATCH, "application/octet-stream"),
    ("events under another name", "/v1/anything", b"data: " + CALLS + b"\n\n", "text/plain"),
    ("letters that others read as other letters", "/v1/anything", b'{"a": 1}', "application/json; charset=utf-7"),
    ("a kind that nobody reads", "/x/invoke", b"\0", "application/vnd.amazon.eventstream"),
]


@pytest.mark.parametrize(("note", "path", "body", "kind"), SMELLS, ids=[row[0] for row in SMELLS])
def test_calls_at_other_paths_are_refused(there: ProxySite, note: str, path: str, body: bytes, kind: str) -> None:
    there.model.says = lambda _asked: Said(body, fields=of_kind(kind))
    assert there.ask(path, method="GET").status == 403


TOOL_MESSAGE = {"role": "tool", "tool_call_id": "c", "content": "x"}
BROUGHT: list[tuple[str, str, Any]] = [
    (
        "items of a conversation",
        "/v1/conversations/c/items",
        {"items": [{"type": "function_call_output", "output": "x"}]},
    ),
    ("a batch", "/v1/messages/batches", {"requests": [{"params": {"content": [{"type": "tool_result"}]}}]}),
    ("Ollama's own API", "/api/chat", {"messages": [TOOL_MESSAGE]}),
    ("Bedrock", "/model/m/converse", {"messages": [{"content": [{"toolResult": {"content": [{"text": "x"}]}}]}]}),
    ("an assistant", "/v1/threads/t/runs/r/submit_tool_outputs", {"tool_outputs": [{"output": "x"}]}),
    ("a batch of Gemini", "/v1beta/models/m:batchGenerateContent", {"batch": [{"functionResponse": {"name": "x"}}]}),
]


@pytest.mark.parametrize(("note", "path", "body"), BROUGHT, ids=[row[0] for row in BROUGHT])
def test_results_at_other_paths_go_nowhere(there: ProxySite, note: str, path: str, body: Any) -> None:
    got = there.post(path, body)
    assert (got.status, there.model.asked) == (400, [])
    assert "result of a tool" in got.json["error"]["message"]


def test_a_compressed_request_at_another_path_goes_nowhere(there: ProxySite) -> None:
    body = gzip.compress(json.dumps({"messages": [TOOL_MESSAGE]}).encode())
    got = there.ask("/api/chat", body, method="POST", headers=JSON | {"Content-Encoding": "gzip"})
    assert (got.status, there.model.asked) == (400, [])


def test_an_error_is_no_picture(there: ProxySite) -> None:
    body = json.dumps({"content": [TOOL_USE]}).encode()
    there.model.says = lambda _asked: Said(body, 400, of_kind("image/png"))
    assert b"tool_use" not in there.post("/v1/messages", {}).body


def test_a_call_in_a_stream_that_nobody_knows_ends_it(there: ProxySite) -> None:
    there.says(b'data: {"text": "x"}\n\n', b'event: thread.run\ndata: {"required_action": {"a": 1}}\n\n')
    got = there.raw("GET /model/v1/threads/runs HTTP/1.1", "Connection: close")
    assert b'"text"' in got
    assert b"required_action" not in got
    assert not ended(got)


def test_a_question_about_the_head_alone(there: ProxySite) -> None:
    there.model.says = lambda _asked: Said(b"{}", 200, (("X-There", "yes"),))
    got = there.ask("/", method="HEAD")
    assert (got.status, got.headers["x-there"], got.body) == (200, "yes", b"")


def test_a_kept_connection_that_the_server_ends_is_opened_anew(there: ProxySite) -> None:
    there.model.says = lambda asked: Said(b'{"content": []}') if asked.number == 1 else None
    assert [there.post("/v1/messages", {}).status for _ in range(3)] == [200, 200, 200]
    assert len(there.model.asked) > 3, "no connection was kept"


def test_a_server_that_hangs_up_is_not_asked_again_and_again(there: ProxySite) -> None:
    there.model.says = lambda _asked: None
    assert there.post("/v1/messages", {}).status == 502
    assert len(there.model.asked) <= 3


def test_no_key_and_no_body_is_logged_or_kept(
    service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key, words = "sk-" + "q7Zk" * 10, "a prompt that nobody else is to read"
    body = json.dumps({"system": words, "messages": []}).encode()
    with site(service) as there:
        there.says(*events(START, DELTA, STOP, CALL, arguments(DENIED), {**STOP, "index": 1}))
        for headers in ({"X-Api-Key": key}, {"Authorization": f"Bearer {key}"}, {"X-Goog-Api-Key": key}):
            there.ask(f"/v1/messages?key={key}", body, headers=JSON | headers)
        there.model.says = lambda _asked: Said(b"{", 200)
        there.ask("/v1/messages", body, headers=JSON | {"Authorization": key})
        there.ask("/v1/messages", body[:-1], headers=JSON | {"Authorization": key})
    assert [asked.header("authorization") for asked in there.model.asked][1] == f"Bearer {key}"
    assert service.ledger.flush()
    for text in (key, words):
        assert text not in caplog.text
        assert files_with(tmp_path, text) == []


def test_a_name_leads_to_its_own_server(service: Service) -> None:
    with ModelServer() as second, site(service, more={"second": f"{second.url}/base/v1"}) as there:
        there.at("POST", "/second/base/v1/models", b"{}", JSON)
        assert [asked.target for asked in second.asked] == ["/base/v1/models"]
        assert there.model.asked == []
        assert there.upstreams["second"].local(there.address) == f"{there.address}/second/base/v1"
