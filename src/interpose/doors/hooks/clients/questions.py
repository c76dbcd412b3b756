"""What a process that is no server says to the desk of one that is, and what it hears."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.errors import UnboundError
from interpose.core.types import Context, Finding, PermissionRequest, ToolCall, ToolOutcome, thaw


class Asker(Struct, frozen=True):
    """A process that asks, and when it was started, so that no other is taken for it."""

    pid: int
    start: int


class PutQuestion(Struct, frozen=True, kw_only=True):
    """A question about a call as it would really run, or about its result."""

    tool: str
    said: str = ""
    """The agent's own name for the tool."""
    arguments: dict[str, Any]
    context: Context
    message: str
    findings: tuple[Finding, ...] = ()
    of_result: bool = False
    result: Any = None
    is_error: bool = False
    wait: float = 0.0
    hears: bool = False
    """Whether a word with a yes reaches the agent."""
    rewrites: bool = False
    """Whether another call than the agent made can run."""
    askers: tuple[Asker, ...] = ()
    """The agents that came to a gateway or a proxy over HTTP."""
    unplaced: bool = False
    """Whether one of them can't be told from other processes of this user."""


class QuestionAnswer(Struct, frozen=True, kw_only=True):
    """What the desk says. `approval` is the id of a question that waits, or that was answered by other arguments."""

    said: Literal["approved", "deny", "pending", "edited"]
    by: str = ""
    reason: str = ""
    rule: str = ""
    approval: str = ""
    word: str = ""
    arguments: dict[str, Any] | None = None


def question_of(request: PermissionRequest, wait: float) -> PutQuestion:
    """A question on its way to a server. UnboundError if it is about neither a call nor a result."""
    match request.subject:
        case ToolCall() as call:
            return _about(call, request, wait)
        case ToolOutcome(call=call, result=result, is_error=is_error):
            about = _about(call, request, wait)
            return replace(about, of_result=True, result=thaw(result), is_error=is_error)
        case _:
            raise UnboundError("the question is about neither a call nor its result")


def _about(call: ToolCall, request: PermissionRequest, wait: float) -> PutQuestion:
    return PutQuestion(
        tool=call.name, said=call.original_name, arguments=thaw(call.arguments), context=call.context,
        message=request.message, findings=request.findings, wait=wait, hears=True, rewrites=True,
    )  # fmt: skip


def request_of(question: PutQuestion) -> PermissionRequest:
    """The question again. Raises ValueError if what it is about nests too deep."""
    call = ToolCall(question.tool, question.arguments, context=question.context, original_name=question.said)
    subject = ToolOutcome(call, question.result, question.is_error) if question.of_result else call
    return PermissionRequest(question.message, subject, question.findings)
