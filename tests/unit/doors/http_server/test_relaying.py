"""What a relay needs of the server: every path and method, headers as they were written, answers of somebody else."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.doors.http_server.answer_heads import AnswerHeads
from interpose.doors.http_server.messages import EVERY, Peer, Refusal, Request, Response, Route, json_response
from interpose.doors.http_server.trust import Door, Trust
from tests.support.servers.servers import running

LOCAL = Peer(kind="tcp", loopback=True, address="127.0.0.1")


async def _shown(request: Request) -> Response:
    return json_response({"method": request.method, "target": request.target, "fields": request.fields})


async def _own(_request: Request) -> Response:
    return json_response({"own": True})


ROUTES = (
    Route("GET", "/own", _own, "open", "Our own"),
    Route(EVERY, EVERY, _shown, "relayed", "All else"),
)


def test_what_no_other_route_has_goes_to_the_last_one() -> None:
    with running(ROUTES) as server:
        assert server.ask("GET", "/own").json == {"own": True}
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            assert (
                server.ask(method, "/a/b%3Ac?x=1&x=2&y[]=3", b"" if method == "GET" else b"x").json["method"] == method
            )
        got = server.ask(
            "POST", "/a/b%3Ac?x=1&x=2", b"{}", {"X-One": "1", "x-ONE": "2", "Authorization": "Bearer k"}
        ).json
    assert got["target"] == "/a/b%3Ac?x=1&x=2"
    assert [field for field in got["fields"] if field[0].lower() in ("x-one", "authorization")] == [
        ["X-One", "1"], ["x-ONE", "2"], ["Authorization", "Bearer k"],
    ]  # fmt: skip


def test_a_method_that_a_path_of_our_own_has_not_is_not_relayed() -> None:
    with running(ROUTES) as server:
        assert server.ask("POST", "/own", b"x").status == 405


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer anything"}, {"authorization": "Basic x"}])
def test_credentials_for_others_are_not_looked_at(headers: dict[str, str]) -> None:
    caller = Door(Trust(loopback="closed"), "http", 80, loopback=True).caller("relayed", headers, LOCAL)
    assert (caller.role, caller.name, caller.anonymous) == ("agent", "", False)


def test_no_other_machine_gets_to_a_relay() -> None:
    with pytest.raises(Refusal) as refused:
        Door(Trust(), "http", 80, loopback=False).caller("relayed", {}, LOCAL)
    assert refused.value.status == 403


def head(response: Response, **options: Any) -> list[str]:
    return AnswerHeads().head(response, "id", **{"keep_alive": True} | options).decode("latin-1").split("\r\n")[:-2]


def test_an_answer_of_somebody_else_has_their_headers_alone() -> None:
    answer = Response(
        529, b"ab", (("X-Request-ID", "theirs"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")), relayed=True
    )
    assert head(answer) == [
        "HTTP/1.1 529 Unnamed", "X-Request-ID: theirs", "Set-Cookie: a=1", "Set-Cookie: b=2", "Content-Length: 2",
    ]  # fmt: skip
    assert head(Response(204, relayed=True), keep_alive=False) == ["HTTP/1.1 204 No Content", "Connection: close"]


@pytest.mark.parametrize(
    "field",
    [
        ("X", "a\r\nY: b"),
        ("X", "a\0"),
        ("X\r\nY", "a"),
        ("X Y", "a"),
        ("", "a"),
        ("Content-Length", "5"),
        ("Connection", "x"),
    ],
)
def test_a_header_that_would_break_out_is_not_passed_on(field: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="can't be passed on"):
        head(Response(200, b"", (field,), relayed=True))
