"""A gate over a real service, for tests of the MCP gateway's decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.gateway import GatewayDecisions
from interpose.core.types import Allow, Confirm, Decision, Deny, ToolCall, Transform
from interpose.doors.mcp.gate.contract import AnswerNow, AskClient, Asked, Client, Fail, Forward, Gated
from interpose.doors.mcp.gate.gate_context import client_context
from interpose.record.ledger import search
from interpose.record.ledger.record import Record
from interpose.record.store.protocols import Query
from tests.support.servers.servers import answered_by_token

CWD = "/work/project"
KEY = "AKIA" + "Z7QLDN3XVB5MPT2K"
"""A secret with a telling shape."""


class ByWord:
    """Says what the argument `do` of a call says."""

    def intercept(self, call: ToolCall) -> Decision[ToolCall]:
        match call.arguments.get("do"):
            case "deny":
                return Deny("Not this.", "no-this", instead="that")
            case "ask":
                return Confirm("Sure?", "sure", instead="nothing")
            case "rewrite":
                return Transform(call.with_arguments({"do": "safe"}), "safer", "safe-form")
            case "rewrite and ask":
                return Transform(call.with_arguments({"do": "ask"}), "safer", "safe-form")
            case "break":
                return Transform(call.with_arguments({"do": 5}), "broken", "broken-form")
            case _:
                return Allow()


def watched(service: Service, interceptor: Any = None, *, name: str = "tool.before", **options: Any) -> None:
    """Put an interceptor into a service."""
    registry: Any = service.policies.shared.engine.interceptors
    made = interceptor or ByWord()
    registry.add(id=f"test:{type(made).__name__}", name=name, interceptor=made, **{"guard": True} | options)


def client(settings: GatewayDecisions | None = None, *, principal: str = "", session: str = "", **more: Any) -> Client:
    """A client whose requests come in one session."""
    meta = {"interpose/session": session} if session else {}
    context = client_context(settings or GatewayDecisions(), meta=meta, principal=principal, cwd=CWD)
    return Client(name="probe", principal=principal, context=context, **more)


def call(
    arguments: Any = None, *, server: str = "shop", name: str = "go", by: Client | None = None, **more: Any
) -> Asked:
    """A `tools/call`."""
    params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    return Asked(server=server, method="tools/call", name=name, params=params, client=by or client(), **more)


def again(asked: Asked, put: AskClient, response: Any) -> Asked:
    """The same request with an answer to our question."""
    return replace(asked, state=put.state, responses=dict.fromkeys(put.requests, response))


def said(gated: Gated) -> str:
    """The text of a refusal. Anything else is none."""
    match gated:
        case AnswerNow(result):
            assert result["isError"] is True
            return str(result["content"][0]["text"])
        case Fail(_, message):
            return message
        case _:
            raise AssertionError(f"this is no refusal: {gated}")


def forwarded(gated: Gated) -> Forward:
    assert isinstance(gated, Forward), gated
    return gated


def recorded(service: Service) -> list[Record]:
    """All records, the oldest first."""
    assert service.ledger.flush()
    return search(service.store, Query(), 1000, oldest_first=True)


def settings(directory: Path, approvals: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The groups of a configuration for a gate."""
    return {"gateway": GatewayDecisions(**more), "approvals": answered_by_token(directory, **approvals or {})}
