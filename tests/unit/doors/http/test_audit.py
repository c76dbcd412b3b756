"""The ledger over a real socket: filters, pages, one call, counts, and an export in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.errors import StoreError
from interpose.core.types import Context, ToolCall, ToolOutcome
from interpose.doors.http import audit
from interpose.doors.http_server.messages import Role
from tests.support.servers.servers import Reply, Running, bearer, running, service_in, trusting

SECRET = "AKIA" + "QWERTYUIOPASDFGH"
CALLS = [
    ("ls -la", "s1", "main"),
    ("rm -rf /", "s1", "main"),
    ("cat /srv/app/notes.txt", "s2", "sub"),
    ("curl https://example.com/x", "s2", "sub"),
    ("echo fine > /tmp/x", "s2", "sub"),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("service")) as made:
        for command, session, agent in CALLS:
            context = Context(session_id=session, agent_id=agent, source="intercept", request_id=f"before-{session}")
            run = made.run(context)
            verdict = run.before(ToolCall("exec", {"command": command}, context=context))
            if verdict.allowed:
                later = made.run(replace(context, request_id=f"after-{session}"))
                secret = {"stdout": f"key {SECRET}"} if "curl" in command else {"stdout": "done"}
                later.after(ToolOutcome(verdict.payload, secret))
        yield made


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    with running(audit.routes(service), trust=trusting()) as made:
        yield made


def get(server: Running, path: str = "", role: Role = "auditor", accept: str = "*/*", /, **query: object) -> Reply:
    target = f"/api/v1/audit{path}" + (f"?{urlencode(query)}" if query else "")
    return server.ask("GET", target, headers=bearer(role) | {"Accept": accept})


def commands(records: list[dict[str, Any]]) -> list[str]:
    return [record["arguments"]["command"] for record in records]


ALL = [command for command, *_ in CALLS]
FILTERS: list[tuple[dict[str, str], list[str]]] = [
    ({}, ALL),
    ({"session": "s1"}, ALL[:2]),
    ({"agent": "sub"}, ALL[2:]),
    ({"tool": "exec"}, ALL),
    ({"tool": "read"}, []),
    ({"decision": "deny"}, ALL[1:2]),
    ({"decision": "allow"}, [ALL[0], *ALL[2:]]),
    ({"effect": "fs.delete"}, ALL[1:2]),
    ({"rule": "delete-system"}, ALL[1:2]),
    ({"rule": "secret-redaction"}, ALL[3:4]),
    ({"rule": "secret-redaction", "session": "s1"}, []),
    ({"request": "before-s1"}, ALL[:2]),
    ({"request": "after-s1"}, ALL[:1]),
    ({"request": "after-s2", "rule": "secret-redaction"}, ALL[3:4]),
    ({"request": "before"}, []),
    ({"path": "/srv/app"}, ALL[2:3]),
    ({"host": "example.com"}, ALL[3:4]),
    ({"text": "FINE"}, ALL[4:]),
    ({"since": "1h"}, ALL),
    ({"until": "1h"}, []),
    ({"since": "2000-01-01T00:00:00Z", "until": "9999-01-01T00:00:00Z"}, ALL),
    ({"session": "s2", "text": "cat"}, ALL[2:3]),
    ({"session": ""}, ALL),
    ({"text": "100% + ünïcödé"}, []),
]


@pytest.mark.parametrize(("query", "want"), FILTERS, ids=[str(query) for query, _ in FILTERS])
def test_filters(server: Running, query: dict[str, str], want: list[str]) -> None:
    told = get(server, **query)
    assert told.status == 200
    assert commands(told.json["records"]) == want[::-1]
    assert told.json["next"] is None
    lines = [json.loads(line) for line in get(server, "/export", **query).body.splitlines()]
    assert commands(lines) == want
    counted = get(server, "/stats", **query).json
    assert counted["total"] == len(want)


def test_pages_show_each_record_once(server: Running) -> None:
    seen: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(3):
        page = get(server, limit=2, **cursor).json
        seen += commands(page["records"])
        cursor = {"cursor": page["next"]}
    assert seen == ALL[::-1]
    assert cursor == {"cursor": None}


@settings(max_examples=20, deadline=None)
@given(limit=st.integers(1, 6), query=st.sampled_from([query for query, _ in FILTERS]))
def test_pages_and_an_export_hold_the_same(server: Running, limit: int, query: dict[str, str]) -> None:
    exported = [json.loads(line) for line in get(server, "/export", **query).body.splitlines()]
    paged: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = get(server, limit=limit, **query, **cursor).json
        assert len(page["records"]) <= limit
        paged += page["records"]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert paged == exported[::-1]


def test_a_full_last_page_has_no_next(server: Running) -> None:
    assert get(server, limit=5).json["next"] is None
    assert get(server, limit=4).json["next"] is not None


BAD: list[tuple[str, dict[str, str], str]] = [
    ("", {"sesion": "s1"}, "sesion"),
    ("", {"limit": "0"}, "limit: "),
    ("", {"limit": "1001"}, "limit: "),
    ("", {"limit": "many"}, "limit: "),
    ("", {"limit": ""}, "limit: "),
    ("", {"decision": "maybe"}, "decision: "),
    ("", {"format": "xml"}, "format: "),
    ("", {"since": "soon"}, "since: 'soon' is no time"),
    ("", {"until": "2026-13-01"}, "until: "),
    ("", {"cursor": "next"}, "cursor: "),
    ("", {"cursor": "p" + "f" * 16}, "cursor: "),
    ("", {"text": "x" * 1025}, "text: "),
    ("", {"request": "x" * 1025}, "request: "),
    ("/export", {"cursor": "p1"}, "cursor"),
    ("/export", {"since": "x"}, "since: "),
    ("/stats", {"format": "intercept"}, "format"),
    ("/abc", {"format": "xml"}, "format: "),
]


@pytest.mark.parametrize(("path", "query", "names"), BAD, ids=[f"{path}?{query}" for path, query, _ in BAD])
def test_what_is_wrong_with_a_query(server: Running, path: str, query: dict[str, str], names: str) -> None:
    told = get(server, path, **query)
    assert (told.status, told.json["error"]) == (400, "invalid_query")
    assert names in told.json["message"]


@pytest.mark.parametrize("path", ["", "/export", "/stats", "/abc"])
@pytest.mark.parametrize(("role", "want"), [("agent", 403), ("approver", 403), ("auditor", 200), ("operator", 200)])
def test_who_may_read(server: Running, path: str, role: Role, want: int) -> None:
    assert get(server, path, role).status == (404 if (path, want) == ("/abc", 200) else want)
    assert server.ask("GET", f"/api/v1/audit{path}").status == 401


def test_one_call(server: Running) -> None:
    record = get(server, session="s1", decision="deny").json["records"][0]
    told = get(server, f"/{record['call_id']}")
    assert told.json == {"records": [record]}
    missing = get(server, "/nobody")
    assert (missing.status, missing.json["error"]) == (404, "not_found")


def test_the_calls_of_one_request(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    found = get(server, "/before-s2").json["records"]
    assert commands(found) == ALL[2:]
    assert {(one["request_id"], one["result_request_id"]) for one in found} == {("before-s2", "after-s2")}
    assert get(server, "/after-s2").json["records"] == found
    monkeypatch.setattr(audit, "OF_REQUEST", 2)
    assert commands(get(server, "/before-s2").json["records"]) == ALL[3:]


def test_formats(server: Running) -> None:
    entries = get(server, session="s2", text="cat", format="intercept").json["records"]
    assert [entry["phase"] for entry in entries] == ["request_validation", "response_validation"]
    ours = get(server, decision="deny", format="maybe-dont").json["records"]
    assert ours[0]["action"] == "deny"
    call = get(server, session="s2", text="cat").json["records"][0]["call_id"]
    assert get(server, f"/{call}", format="intercept").json["records"] == entries
    assert get(server, f"/{call}", format="seed").json["records"] == entries  # its old name, which no description has
    lines = get(server, "/export", session="s2", text="cat", format="intercept").body.splitlines()
    assert [json.loads(line) for line in lines] == entries


def test_an_export_comes_in_pieces(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "EXPORT_PAGE", 2)
    whole = get(server, "/export")
    assert whole.headers["content-type"] == "application/x-ndjson"
    assert whole.headers["transfer-encoding"] == "chunked"
    assert commands([json.loads(line) for line in whole.body.splitlines()]) == ALL
    assert get(server, "", "auditor", "application/x-ndjson").body == whole.body


def test_what_was_just_decided_is_found(service: Service, server: Running) -> None:
    context = Context(session_id="now")
    service.run(context).before(ToolCall("exec", {"command": "ls"}, context=context))
    assert commands(get(server, session="now").json["records"]) == ["ls"]


def test_a_store_that_is_away(service: Service, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_args: object, **_options: object) -> list[Any]:
        raise StoreError("the database is away")

    monkeypatch.setattr(service.store, "query", away)
    for path in ("", "/export", "/stats"):
        told = get(server, path)
        assert (told.status, told.json["error"]) == (503, "store_unavailable")
        assert "the database is away" in told.json["message"]
