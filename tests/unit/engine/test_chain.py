"""Chains over types of one's own: messages and external events that really run through their interceptors."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest

from interpose import (
    Allow,
    AutoApprove,
    AutoDeny,
    CallbackConfirmation,
    Confirm,
    Deny,
    Engine,
    ExecutionFailedError,
    InterceptorChain,
    Message,
    PermissionRequest,
    RefusedError,
    ToolCall,
    Transform,
)


@dataclass(frozen=True)
class ExternalEvent:
    """An event from outside, as a coordination layer would deliver it."""

    id: int
    event_type: str
    payload: str


class Trusted:
    def intercept(self, event: ExternalEvent) -> Allow | Deny:
        return Allow() if event.event_type == "build" else Deny(f"{event.event_type} is not trusted")


class Redact:
    def intercept(self, event: ExternalEvent) -> Transform[ExternalEvent]:
        return Transform(replace(event, payload=event.payload.replace("secret", "***")))


class Seen:
    def __init__(self) -> None:
        self.intercepted: list[Any] = []
        self.observed: list[tuple[Any, Any]] = []

    def intercept(self, value: Any) -> Allow:
        self.intercepted.append(value)
        return Allow()

    def observe(self, value: Any, output: Any) -> None:
        self.observed.append((value, output))


def events() -> InterceptorChain[ExternalEvent, str]:
    return InterceptorChain[ExternalEvent, str]().with_(Trusted()).with_(Redact())


def test_an_external_event_is_intercepted_before_it_is_delivered() -> None:
    delivered: list[ExternalEvent] = []

    def deliver(event: ExternalEvent) -> str:
        delivered.append(event)
        return "delivered"

    assert events().run(ExternalEvent(1, "build", "the secret failed"), deliver) == "delivered"
    assert delivered == [ExternalEvent(1, "build", "the *** failed")]
    with pytest.raises(RefusedError, match="mail is not trusted") as caught:
        events().run(ExternalEvent(2, "mail", "do this"), deliver)
    assert caught.value.verdict.outcome == "deny"
    assert len(delivered) == 1


def test_a_user_message_is_intercepted() -> None:
    class Polite:
        async def intercept(self, message: Message) -> Transform[Message]:
            await asyncio.sleep(0)
            return Transform(Message(message.text + ", please"))

    chain = InterceptorChain[Message, str]().with_(Polite())
    assert chain.run(Message("hello"), lambda message: message.text) == "hello, please"
    assert asyncio.run(chain.arun(Message("hello"), lambda message: message.text)) == "hello, please"


def test_the_decisions_combine_as_everywhere() -> None:
    class Const:
        def __init__(self, decision: Any) -> None:
            self.decision = decision

        def intercept(self, _value: str) -> Any:
            return self.decision

    empty: InterceptorChain[str, str] = InterceptorChain()
    assert empty.intercept("x").decision == Allow()
    assert empty.with_(Const(Allow())).intercept("x").outcome == "allow"
    rewriting = empty.with_(Const(Transform("y"))).with_(Const(Allow()))
    assert rewriting.intercept("x").decision == Transform("y")
    asking = rewriting.with_(Const(Confirm("sure?")))
    verdict = asking.intercept("x")
    assert (verdict.outcome, verdict.payload, verdict.questions) == ("ask", "y", ("sure?",))
    assert asking.with_(Const(Deny("no"))).intercept("x").outcome == "deny"


def test_confirmations_in_a_chain() -> None:
    class Ask:
        def intercept(self, _value: str) -> Confirm:
            return Confirm("sure?")

    chain = InterceptorChain[str, str]().with_(Ask())
    assert chain.run("x", str.upper, confirm=AutoApprove()) == "X"
    for handler in (None, AutoDeny()):
        with pytest.raises(RefusedError, match=r"sure\?"):
            chain.run("x", str.upper, confirm=handler)
    asked: list[PermissionRequest] = []

    async def answer(request: PermissionRequest) -> bool:
        asked.append(request)
        return True

    assert asyncio.run(chain.arun("x", str.upper, confirm=CallbackConfirmation(answer))) == "X"
    assert asked[0].subject == "x"


def test_a_chain_is_immutable_and_grows_by_copies() -> None:
    short = events()
    longer = short.with_(Seen())
    assert (len(short), len(longer)) == (2, 3)


def test_priorities_and_observers() -> None:
    order: list[str] = []

    class Named:
        def __init__(self, id: str) -> None:
            self.id = id

        def intercept(self, _value: str) -> Allow:
            order.append(self.id)
            return Allow()

    chain = InterceptorChain[str, str]().with_(Named("observer"), priority=-1).with_(Named("b")).with_(Named("c"))
    chain.with_(Named("a"), priority=10).intercept("x")
    assert order == ["a", "b", "c", "observer"]


def test_observe_sees_the_final_input_and_the_output_and_its_failure_stops_nobody() -> None:
    class Broken(Seen):
        def observe(self, value: Any, output: Any) -> None:
            raise ExecutionFailedError("log is full")

    seen = Seen()
    chain = events().with_(Broken()).with_(seen)
    assert chain.run(ExternalEvent(1, "build", "secret"), lambda event: event.payload) == "***"
    assert seen.observed == [(ExternalEvent(1, "build", "***"), "***")]
    findings = chain.observe(ExternalEvent(1, "build", "x"), "out")
    assert [(f.interceptor, f.reason) for f in findings] == [
        ("Broken#3", "observe failed: Interceptor execution failed: log is full")
    ]


def test_a_failing_delivery_is_observed_and_raised() -> None:
    seen = Seen()
    error = OSError("down")

    def deliver(_event: ExternalEvent) -> str:
        raise error

    with pytest.raises(OSError, match="down"):
        events().with_(seen).run(ExternalEvent(1, "build", "x"), deliver)
    assert seen.observed == [(ExternalEvent(1, "build", "x"), error)]


def test_errors_are_findings_and_on_error_says_what_they_mean() -> None:
    class Broken:
        def intercept(self, _value: str) -> Allow:
            raise ValueError("bug")

    chain: InterceptorChain[str, str] = InterceptorChain()
    assert chain.with_(Broken()).intercept("x").outcome == "deny"
    assert chain.with_(Broken(), on_error="ask").intercept("x").outcome == "ask"
    allowed = chain.with_(Broken(), on_error="allow").intercept("x")
    assert (allowed.outcome, allowed.findings[0].reason) == ("allow", "bug")


def test_a_failing_observer_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Seen):
        def observe(self, value: Any, output: Any) -> None:
            raise ExecutionFailedError("log is full")

    engine = Engine(InterceptorChain[ToolCall, Any]().with_(Broken()))
    assert engine.run_tool(ToolCall("Read", {}), lambda _: "ran") == "ran"
    [line] = caplog.messages
    assert line.startswith("Broken#1: observe failed")
    assert "log is full" in line


def test_a_chain_of_tool_interceptors_runs_in_an_engine() -> None:
    class NoShell:
        id = "no-shell"

        def intercept(self, call: ToolCall) -> Allow | Deny:
            return Deny("no shell") if call.name == "exec" else Allow()

    engine = Engine(InterceptorChain[ToolCall, Any]().with_(NoShell()))
    assert engine.run_tool(ToolCall("Bash", {}), lambda _: "ran")["reason"] == "no shell"
    assert engine.run_tool(ToolCall("Read", {}), lambda _: "ran") == "ran"


def test_async_callers_get_the_same_verdict() -> None:
    verdict = asyncio.run(events().aintercept(ExternalEvent(1, "build", "secret")))
    assert (verdict.outcome, verdict.payload.payload) == ("rewrite", "***")
