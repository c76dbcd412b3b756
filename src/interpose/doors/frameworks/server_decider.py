"""A server decides: every event is put to its API, and whatever is no clear yes is a no.

A connection serves one event: a framework's event loops come and go, and a connection belongs to one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from interpose.core.driving import Await, Failure, Flow
from interpose.core.errors import InterposeError, text_of
from interpose.core.formats import strict_json
from interpose.core.formats.nested_values import is_stream
from interpose.core.types import (
    EMPTY,
    Allow,
    Confirm,
    Context,
    Deny,
    Finding,
    HookPoint,
    Message,
    Outcome,
    ToolCall,
    ToolOutcome,
    Transform,
    Verdict,
)
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.options import ANSWER, WAIT, GuardOptions
from interpose.doors.http_client.addresses import HttpUrl, parse_url
from interpose.doors.http_client.client import HttpClient
from interpose.engine.flow.hosted import Go, GoWith, HostedAnswer, Refuse, WaitFor
from interpose.engine.flow.run_parts import ToolRun

LARGEST = 64 * 1024 * 1024
"""Bytes of an answer."""

_encode = msgspec.json.Encoder(enc_hook=text_of).encode


class ServerAnswerError(InterposeError):
    """A server that is gone, or that answers what nobody can go by."""


class ServerAnswer(Struct, frozen=True, kw_only=True):
    """What the server says about an event."""

    decision: Outcome
    allowed: bool
    reason: str
    payload: dict[str, Any] | None = None
    findings: tuple[Finding, ...] = ()
    approval_id: str = ""
    approver: str = ""
    policy: str = ""

    def verdict(self, came: Any, payload: Any = None) -> Verdict[Any]:
        """The verdict. INVARIANT: an answer that contradicts itself allows nothing."""
        if self.allowed is not (self.decision in ("allow", "rewrite")):
            raise ServerAnswerError(f"the server says {self.decision} and allowed={self.allowed}")
        said = next((found for found in self.findings if found.said == self.decision), None)
        rule = "" if said is None else said.rule
        rewritten = self.decision == "rewrite"
        decision: Any
        match self.decision:
            case "deny":
                decision = Deny(self.reason, rule)
            case "ask":
                decision = Confirm(self.reason, rule)
            case "rewrite":
                decision = Transform(payload, self.reason, rule)
            case "allow":
                decision = Allow()
        return Verdict(
            outcome=self.decision, decision=decision, payload=payload if rewritten else came, findings=self.findings,
            rewritten=rewritten, approver=self.approver, policy=self.policy, approval=self.approval_id,
            original=came if rewritten else None, decided_by=said,
        )  # fmt: skip


class DecidesThere:
    """A server somewhere."""

    def __init__(self, url: HttpUrl, token: str, wait: float) -> None:
        self._url, self._wait = url, wait
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        if wait > 0:
            self._headers["Prefer"] = f"wait={int(wait)}"

    def before(self, call: ToolCall, key: str, /) -> Flow[HostedAnswer]:
        """See Decider."""
        answer = yield from self._put(HookPoint.TOOL_BEFORE, call.context, _event(call, key))
        match answer.decision:
            case "allow":
                return Go(answer.verdict(call))
            case "rewrite":
                arguments = (answer.payload or {}).get("arguments")
                if not isinstance(arguments, dict):
                    raise ServerAnswerError("the server rewrote the call and sent no arguments")
                return GoWith(answer.verdict(call, call.with_arguments(arguments)), arguments)
            case "ask":
                return WaitFor(answer.verdict(call))
            case "deny":
                return Refuse(answer.verdict(call))

    def after(self, outcome: ToolOutcome, key: str, /) -> Flow[ToolRun]:
        """See Decider."""
        call = outcome.call
        if is_stream(outcome.result):
            raise ServerAnswerError("a result that comes piece by piece can't be sent to a server")
        event = _event(call, key) | {
            "result": outcome.result, "is_error": outcome.is_error, "duration_ms": outcome.duration_ns / 1e6,
        }  # fmt: skip
        answer = yield from self._put(HookPoint.TOOL_AFTER, call.context, event)
        result = outcome.result
        if answer.decision == "rewrite":
            if answer.payload is None or "result" not in answer.payload:
                raise ServerAnswerError("the server rewrote the result and sent none")
            result = answer.payload["result"]
        after = answer.verdict(outcome, msgspec.structs.replace(outcome, result=result))
        before: Verdict[ToolCall] = Verdict(outcome="allow", decision=Allow(), payload=call)
        return ToolRun(result, before, outcome, after)

    def not_run(self, _verdict: Verdict[ToolCall], reason: str, _key: str, /) -> Flow[object]:
        """See Decider. The server asks by itself, so there is nothing that it let through and that does not run."""
        yield from ()
        raise ServerAnswerError(reason)

    def message(self, text: str, context: Context, /) -> Flow[Verdict[Message]]:
        """See Decider."""
        came = Message(text, EMPTY, context)
        answer = yield from self._put(HookPoint.MESSAGE_BEFORE, context, {"text": text})
        if answer.decision != "rewrite":
            return answer.verdict(came)
        new = (answer.payload or {}).get("text")
        if not isinstance(new, str):
            raise ServerAnswerError("the server rewrote the message and sent no text")
        return answer.verdict(came, Message(new, EMPTY, context))

    def _put(self, point: HookPoint, context: Context, event: dict[str, Any]) -> Flow[ServerAnswer]:
        body = _encode(event | {"context": _context(context), "cwd": context.cwd or None})
        found = yield Await(self._asked(f"/api/v1/events/{point}", body))
        if type(found) is Failure:
            raise found.error
        if not isinstance(found, ServerAnswer):
            raise ServerAnswerError("there was no answer")
        return found

    async def _asked(self, target: str, body: bytes) -> ServerAnswer:
        client = HttpClient(self._url, "named" if self._url.named else "private")
        try:
            answer = await client.ask("POST", target, self._headers, body, limit=LARGEST, seconds=self._wait + ANSWER)
        except Exception as error:
            raise ServerAnswerError(f"the server {self._url.authority} can't be asked: {text_of(error)}") from error
        finally:
            await client.close()
        if answer.head.status != 200:
            raise ServerAnswerError(f"the server answered {answer.head.status}: {_said(answer.body)}")
        try:
            return msgspec.convert(strict_json.decode(answer.body), ServerAnswer)
        except (strict_json.StrictJsonError, msgspec.ValidationError) as error:
            raise ServerAnswerError(f"the server's answer can't be understood: {error}") from error


def server_decider(address: str, facts: FrameworkFacts, options: GuardOptions) -> DecidesThere:
    """The decider of an address. Raises ValueError for one that is none, or for options that a server can't honour."""
    confirm = options.get("confirm")
    if confirm is not None and confirm != "queue":
        raise ValueError(f"a server puts questions into its own queue: leave confirm out for {facts.title}")
    for name in ("role", "principal"):
        if options.get(name):
            raise ValueError(f"a server knows its callers by their tokens: leave {name} out")
    try:
        url = parse_url(address)
    except ValueError as error:
        raise ValueError(f"server {address!r} is no address: {error}") from None
    return DecidesThere(url, options.get("token", ""), options.get("wait", WAIT))


def _event(call: ToolCall, key: str) -> dict[str, Any]:
    return {"name": call.original_name, "arguments": call.arguments, "call_id": key}


def _context(context: Context) -> Mapping[str, str]:
    said = {"sessionId": context.session_id, "agentId": context.agent_id, "traceId": context.trace_id}
    return {name: value for name, value in said.items() if value}


def _said(body: bytes) -> str:
    return body[:300].decode("utf-8", "replace")
