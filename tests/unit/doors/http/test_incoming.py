"""What callers say is translated once: who asks, for how long they wait, what a wrong body is told."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert

from interpose.core.types import MAX_DEPTH, Context
from interpose.doors.http.incoming import NOBODY, CallerContext, call_of, client_of, context_of, wait_of
from interpose.doors.http_server.messages import ANONYMOUS, Caller, Peer, Refusal, Request

LOCAL = Peer(kind="tcp", loopback=True, address="127.0.0.1")


def request(headers: dict[str, str] | None = None, *, name: str = "", body: bytes = b"{}") -> Request:
    return Request(
        "POST", "/", peer=LOCAL, caller=Caller("agent", name), request_id="r", headers=headers or {}, body=body
    )


CLIENT = {"x-maybe-dont-client-id": "hook-1"}
WHO: list[tuple[str, dict[str, Any], dict[str, str], str, tuple[str, str]]] = [
    ("nobody", {}, {}, "", ("", "")),
    ("a user", {"principal": {"type": "user", "id": "bob"}}, {}, "", ("user:bob", "")),
    ("an agent", {"principal": {"type": "agent", "id": "claude"}}, {}, "", ("agent:claude", "claude")),
    ("no type", {"principal": {"id": "bob"}}, {}, "", ("bob", "")),
    ("no id", {"principal": {"type": "user"}}, CLIENT, "", ("hook-1", "hook-1")),
    ("a null principal", {"principal": None}, {}, "", ("", "")),
    ("a client", {}, CLIENT, "", ("hook-1", "hook-1")),
    ("a client and a user", {"principal": {"type": "user", "id": "bob"}}, CLIENT, "", ("user:bob", "hook-1")),
    ("an agent of its own", {"agentId": "sub"}, CLIENT, "", ("hook-1", "sub")),
    ("a token", {}, {}, "ci", ("ci", "")),
    ("a token that acts for a user", {"principal": {"type": "user", "id": "bob"}}, {}, "ci", ("ci", "")),
    ("a token that acts as another", {"principal": {"id": "ops"}}, CLIENT, "ci", ("ci", "hook-1")),
    ("our header first", {}, CLIENT | {"x-interpose-client-id": "ours"}, "", ("ours", "ours")),
]


@pytest.mark.parametrize(("note", "said", "headers", "token", "want"), WHO, ids=[case[0] for case in WHO])
def test_who_asks(note: str, said: dict[str, Any], headers: dict[str, str], token: str, want: tuple[str, str]) -> None:
    context = context_of(request(headers, name=token), "intercept", convert(said, CallerContext), cwd=None)
    assert (context.principal, context.agent_id) == want, note


CLAIMS: list[tuple[str, dict[str, Any], str, str]] = [
    ("for a user", {"principal": {"type": "user", "id": "bob"}}, "ci", "user:bob"),
    ("what looks like a credential", {"principal": {"id": "ann via ops"}}, "ci", "ann via ops"),
    ("nothing", {}, "ci", ""),
    ("itself", {"principal": {"id": "ci"}}, "ci", ""),
    ("anybody, where the operator believes it", {"principal": {"id": "bob"}}, "", ""),
]


@pytest.mark.parametrize(("note", "said", "token", "want"), CLAIMS, ids=[case[0] for case in CLAIMS])
def test_what_a_caller_claims_is_kept_beside_what_it_proves(
    note: str, said: dict[str, Any], token: str, want: str
) -> None:
    context = context_of(request(name=token), "intercept", convert(said, CallerContext), cwd=None)
    assert context.claimed == want, note


def test_whoever_is_anonymous_has_nothing_of_others() -> None:
    said = convert(
        {"sessionId": "s", "agentId": "a", "principal": {"type": "user", "id": "bob"}, "traceId": "t"}, CallerContext
    )
    asked = Request(
        "POST", "/", peer=LOCAL, caller=Caller("agent", ANONYMOUS, anonymous=True), request_id="r", headers=CLIENT
    )
    assert context_of(asked, "cli", said, cwd="/w", principal="user:ann") == Context(
        principal="anonymous", cwd="/w", trace_id="t", source="cli", request_id="r"
    )


def test_nothing_that_a_caller_says_gives_a_role() -> None:
    said = convert({"role": "admin", "agentId": "a", "principal": {"role": "admin"}}, CallerContext)
    assert context_of(request(), "cli", said, cwd="/w") == Context(agent_id="a", cwd="/w", source="cli", request_id="r")


def test_a_client_can_not_call_itself_endless() -> None:
    assert len(client_of(request({"x-interpose-client-id": "x" * 10_000}))) == 256


WAITS: list[tuple[str, float, str]] = [
    ("wait=5", 5, "wait=5"),
    ("respond-async, wait=5", 5, "wait=5"),
    ("Wait=5; foo=bar", 5, "wait=5"),
    ('wait="5"', 5, "wait=5"),
    ("wait = 5", 5, "wait=5"),
    ("wait=0", 0, "wait=0"),
    ("wait=999999999", 60, "wait=60"),
    ("", 0, ""),
    ("wait", 0, ""),
    ("wait=-5", 0, ""),
    ("wait=5s", 0, ""),
    ("wait=1e9", 0, ""),
    ("wait=9999999999", 0, ""),
    ("await=5", 0, ""),
    ("handling=lenient", 0, ""),
]


@pytest.mark.parametrize(("prefer", "seconds", "applied"), WAITS, ids=[case[0] for case in WAITS])
def test_how_long_a_caller_waits(prefer: str, seconds: float, applied: str) -> None:
    waited, headers = wait_of(request({"prefer": prefer}), 60.0)
    assert waited == seconds
    assert dict(headers).get("Preference-Applied", "") == applied


def test_arguments_that_are_too_deep_are_the_callers_fault() -> None:
    deep: Any = {}
    for _ in range(MAX_DEPTH + 1):
        deep = {"a": deep}
    with pytest.raises(Refusal, match="nested deeper"):
        call_of("Bash", deep, Context())


def test_no_context_is_nobody() -> None:
    assert context_of(request(), "action", NOBODY, cwd=None) == Context(source="action", request_id="r")
