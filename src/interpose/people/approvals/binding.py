"""What an approval is bound to: keyed digests of exactly what was asked about, by whom and where.

Digests are keyed, so that who reads the store can't find out an argument by trying.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from interpose.core.errors import UnboundError, text_of
from interpose.core.types import (
    Command,
    Context,
    Finding,
    HookPoint,
    Message,
    Params,
    PermissionRequest,
    ToolCall,
    ToolOutcome,
)
from interpose.people.approvals.handlers import EDITED


class Subject(Struct, frozen=True):
    """What is asked about. `content` is all that would really happen, as JSON has it.

    `said` is the agent's own name for the tool: `Bash` and `PowerShell` do different things with one text.
    """

    point: HookPoint
    tool: str
    content: Any
    context: Context
    said: str = ""


class Bound(Struct, frozen=True):
    """The digests of a subject: `session` holds in its session only, `principal` in all sessions of its principal."""

    session: str
    principal: str


def subject_of(request: PermissionRequest) -> Subject:
    """What a question is about. UnboundError if it is about nothing that can be approved."""
    match request.subject:
        case ToolCall() as call:
            return Subject(HookPoint.TOOL_BEFORE, call.name, call.arguments, call.context, call.original_name)
        case ToolOutcome(call=call) as outcome:
            content = {"arguments": call.arguments, "result": outcome.result}
            return Subject(HookPoint.TOOL_AFTER, call.name, content, call.context, call.original_name)
        case Message() as message:
            content = {"text": message.text, "provider": message.provider, "model": message.model}
            return Subject(HookPoint.MESSAGE_BEFORE, "", content, message.context)
        case Params() as params:
            content = {name: getattr(params, name) for name in _PARAMETERS}
            return Subject(HookPoint.PARAMS_BEFORE, "", content, params.context)
        case Command() as command:
            content = {"name": command.name, "arguments": command.arguments}
            return Subject(HookPoint.COMMAND_BEFORE, "", content, command.context)
        case _:
            raise UnboundError("the question is about nothing that can be approved")


_PARAMETERS = ("model", "provider", "think_level", "reasoning_level", "temperature", "extras", "message")


def bound(subject: Subject, key: bytes) -> Bound:
    """The digests of a subject. UnboundError if two different calls could have the same."""
    context = subject.context
    try:
        content = json.dumps(subject.content, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnboundError(f"what it would do has no exact form: {text_of(error)}") from None
    for_principal: tuple[str, ...] = (
        subject.point, subject.tool, subject.said, content, context.cwd, context.principal,
    )  # fmt: skip
    if context.claimed:  # callers that share a credential say for whom they act: what one was granted is not all theirs
        for_principal = (*for_principal, context.claimed)
    return Bound(digest(key, b"session", *for_principal, context.session_id), digest(key, b"principal", *for_principal))


def kind_bound(subject: Subject, key: bytes) -> Bound:
    """What a grant for a kind of call is bound to besides its kind: who asks, from where, with which tool.

    The same agent of the same principal, in the same directory; `session` in this session alone.
    """
    context = subject.context
    whose = (
        subject.point, subject.tool, subject.said, context.cwd, context.principal, context.claimed, context.agent_id,
        context.role, context.source,
    )  # fmt: skip
    return Bound(digest(key, b"kind-session", *whose, context.session_id), digest(key, b"kind", *whose))


def asked_by(findings: Sequence[Finding], key: bytes) -> tuple[str, ...]:
    """Who asks a question: a digest for each rule. Whoever names no rule is known by what it says.

    The question that every edited call ends with is none of theirs.
    """
    named = (
        (found.interceptor, found.rule, "" if found.rule else found.reason)
        for found in findings
        if found.interceptor != EDITED
    )
    return tuple(dict.fromkeys(digest(key, b"rule", *names) for names in named))


def digest(key: bytes, use: bytes, *parts: str) -> str:
    """A keyed digest of texts. The same texts joined otherwise have another one."""
    whole = json.dumps(parts).encode()
    return hashlib.blake2b(whole, key=key[: hashlib.blake2b.MAX_KEY_SIZE], person=use, digest_size=20).hexdigest()
