"""Our pipeline as two interceptors: what each says, and what is recorded of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.types import Allow, Decision, Deny, Message, ToolOutcome, Transform
from interpose.doors.mcp.interceptors.interceptor_methods import InterceptorMethods, InvokingCaller
from interpose.doors.mcp.interceptors.interceptor_pipeline import DECIDE, REWRITE, PipelineInterceptors
from interpose.doors.mcp.links.frames import RpcError
from tests.support.hosts.gating import KEY, recorded, watched
from tests.support.servers.servers import service_in

SAFE = {"name": "go", "arguments": {"do": "safe"}}


class Results:
    """Withholds a result that says so."""

    def intercept(self, outcome: ToolOutcome) -> Decision[ToolOutcome]:
        return Deny("Not for you.", "no-result") if "withhold" in str(outcome.result) else Allow()


class Words:
    """Rewrites and refuses messages."""

    def intercept(self, message: Message) -> Decision[Message]:
        if message.text == "deny":
            return Deny("Not this.")
        return Transform(replace(message, text="safe")) if message.text == "rewrite" else Allow()


class Invoking:
    """A client of both."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._methods = InterceptorMethods(PipelineInterceptors(service).offered())

    def __call__(
        self, name: str, phase: str, payload: Any, *, event: str = "tools/call", session: str = "s",
        caller: InvokingCaller | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        params = {"name": name, "event": event, "phase": phase, "payload": payload, "context": {"sessionId": session}}
        return asyncio.run(self._methods.answer("interceptor/invoke", params, caller or InvokingCaller()))


@pytest.fixture
def invoke(tmp_path: Path) -> Iterator[Invoking]:
    with service_in(tmp_path, packs=()) as service:
        watched(service)
        watched(service, Results(), name="tool.after", guard=False)
        watched(service, Words(), name="message.before", guard=False)
        yield Invoking(service)


def asking(do: str, **more: Any) -> dict[str, Any]:
    return {"name": "go", "arguments": {"do": do} | more}


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def test_a_request_is_decided_and_recorded_once(invoke: Invoking) -> None:
    assert not invoke(REWRITE, "request", SAFE)["modified"]
    assert invoke(DECIDE, "request", SAFE)["valid"]
    (record,) = recorded(invoke.service)
    assert (record.tool, record.source) == ("go", "interceptor")


def test_a_refusal_says_why_and_what_instead(invoke: Invoking) -> None:
    said = invoke(DECIDE, "request", asking("deny"))
    assert (said["valid"], said["severity"]) == (False, "error")
    assert said["messages"][0]["path"] == "arguments"
    assert "Interpose refused this (no-this): Not this." in said["messages"][0]["message"]
    assert "Safer: that" in said["messages"][0]["message"]
    assert not invoke(REWRITE, "request", asking("deny"))["modified"]


def test_a_question_goes_to_the_queue(invoke: Invoking) -> None:
    said = invoke(DECIDE, "request", asking("ask"))
    assert not said["valid"]
    assert "interpose approvals approve" in said["messages"][0]["message"]


@pytest.mark.parametrize("whole", [False, True], ids=["bare", "a whole message"])
def test_what_may_run_only_in_another_form(invoke: Invoking, whole: bool) -> None:
    def around(params: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": params} if whole else params

    changed = invoke(REWRITE, "request", around(asking("rewrite")))
    assert (changed["modified"], changed["payload"]) == (True, around(SAFE))
    place = "params.arguments" if whole else "arguments"
    said = invoke(DECIDE, "request", around(asking("rewrite")))
    assert said["suggestions"] == [{"path": f"{place}.do", "value": "safe"}]
    assert not said["valid"]
    assert invoke(DECIDE, "request", around(SAFE))["valid"]


def test_a_result_is_looked_at_once_whoever_asks_first(invoke: Invoking) -> None:
    for first, then in ((DECIDE, REWRITE), (REWRITE, DECIDE)):
        before = len(recorded(invoke.service))
        invoke(DECIDE, "request", SAFE)
        said = {name: invoke(name, "response", text(KEY)) for name in (first, then)}
        assert said[REWRITE]["modified"]
        assert KEY not in str(said[REWRITE])
        assert (said[DECIDE]["valid"], said[DECIDE]["severity"]) == (True, "warning")
        (record,) = recorded(invoke.service)[before:]
        assert record.finished_ns


def test_results_of_the_same_words_are_two_results(invoke: Invoking) -> None:
    for _ in range(2):
        invoke(DECIDE, "request", SAFE)
        invoke(DECIDE, "response", text("fine"))
    assert [bool(record.finished_ns) for record in recorded(invoke.service)] == [True, True]


def test_a_withheld_result_is_invalid_and_replaced(invoke: Invoking) -> None:
    said = invoke(DECIDE, "response", text("withhold"))
    assert not said["valid"]
    assert "Not for you." in said["messages"][0]["message"]
    changed = invoke(REWRITE, "response", {"result": text("withhold")})
    assert changed["payload"]["result"]["isError"]
    assert "withheld this result (no-result): Not for you." in changed["payload"]["result"]["content"][0]["text"]


def test_a_result_belongs_to_the_last_request_of_its_own_session(invoke: Invoking) -> None:
    for who, session in (("ann", "s"), ("bob", "s"), ("ann", "t")):
        caller = InvokingCaller(principal=who)
        invoke(DECIDE, "request", {"name": f"tool_{who}_{session}", "arguments": {}}, session=session, caller=caller)
    invoke(DECIDE, "response", text("fine"), session="s", caller=InvokingCaller(principal="ann"))
    assert [record.tool for record in recorded(invoke.service) if record.finished_ns] == ["tool_ann_s"]
    assert {record.session for record in recorded(invoke.service)} == {"ann:s", "bob:s", "ann:t"}


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"messages": [{"role": "user", "content": "X"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": {"type": "text", "text": "X"}}]}, "messages[0].content.text"),
        ({"messages": [{"content": "-"}, {"content": [{"type": "image"}, {"text": "X"}]}]},
         "messages[1].content[1].text"),
        ({"prompt": "X"}, "prompt"),
    ],
)  # fmt: skip
def test_messages_to_a_model(invoke: Invoking, payload: dict[str, Any], place: str) -> None:
    def saying(words: str) -> Any:
        import json

        return json.loads(json.dumps(payload).replace("X", words))

    event = "llm/completion"
    assert invoke(DECIDE, "request", saying("hello"), event=event)["valid"]
    refused = invoke(DECIDE, "request", saying("deny"), event=event)
    assert (refused["valid"], refused["messages"][0]["path"]) == (False, place)
    suggested = invoke(DECIDE, "request", saying("rewrite"), event=event)
    assert suggested["suggestions"] == [{"path": place, "value": "safe"}]
    assert invoke(REWRITE, "request", saying("rewrite"), event=event)["payload"] == saying("safe")
    hidden = invoke(REWRITE, "response", {"content": [{"text": KEY}]}, event=event)
    assert KEY not in str(hidden)


WRONG = [
    ("no object", "tools/call", "request", 5),
    ("no name", "tools/call", "request", {"arguments": {}}),
    ("another method", "tools/call", "request", {"method": "tools/list", "params": {"name": "a"}}),
    ("arguments that are none", "tools/call", "request", {"name": "a", "arguments": []}),
    ("no uri", "resources/read", "request", {"name": "a"}),
    ("no messages", "llm/completion", "request", {"model": "m"}),
    ("two texts, of which one would go unjudged", "llm/completion", "request",
     {"messages": [{"content": [{"text": "a"}, {"text": "b"}]}]}),
    ("a result that is a text", "tools/call", "response", "text"),
]  # fmt: skip


@pytest.mark.parametrize("name", [DECIDE, REWRITE])
@pytest.mark.parametrize(("event", "phase", "payload"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_can_t_be_judged_is_an_error(invoke: Invoking, name: str, event: str, phase: str, payload: Any) -> None:
    with pytest.raises(RpcError) as raised:
        invoke(name, phase, payload, event=event)
    assert raised.value.code == -32602
