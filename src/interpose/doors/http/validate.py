"""`POST /api/v1/cli/validate` and `POST /api/v1/action/validate`: the published endpoints for wrappers of commands and
for frameworks that ask how risky an action is. Answers have the fields of both shapes that are documented."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from interpose import __version__
from interpose.core.tools import KNOWN_TOOL_NAMES, normalize_tool_name, tool_behind
from interpose.core.types import InterceptorKind, Outcome, ToolCall, Verdict
from interpose.doors.http import deciding, incoming
from interpose.doors.http.incoming import Arguments, CallerContext, Directory, Name
from interpose.doors.http.verdicts import RuleResult, Severity, milliseconds, policy_name, told
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.reading.calls import home_directory, reading_of

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

CLI_PATH = "/api/v1/cli/validate"
ACTION_PATH = "/api/v1/action/validate"
CLI_CODES = (
    (400, "cli_validation_disabled"),
    (400, "invalid_content_type"),
    (400, "invalid_request"),
    (400, "missing_command"),
)
ACTION_CODES = ((400, "invalid_content_type"), (400, "invalid_request"), (400, "missing_target"))

Risk = Literal["high", "medium", "low", "unknown"]


class ClientInfo(Struct, frozen=True):
    """The machine and the user that a command would run as."""

    hostname: Name | None = None
    username: Name | None = None
    os: Name | None = None
    os_version: Name | None = None
    arch: Name | None = None
    shell: Name | None = None
    cli_version: Name | None = None


class CliBody(Struct, frozen=True):
    """A program and its arguments, as they would be executed. One text with a whole command line is understood too."""

    command: str | None = None
    arguments: tuple[str, ...] | None = None
    working_directory: Directory | None = None
    client_info: ClientInfo | None = None


class Denial(Struct, frozen=True):
    """The rule that refused."""

    policy_name: str
    engine: InterceptorKind
    message: str


class CliAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a command may run. `note` says why it was not looked at."""

    allowed: bool
    request_id: str
    duration_ms: int
    policies_evaluated: int
    denial: Denial | None = None
    note: str = ""
    validation_required: bool
    message: str
    action_reason: Literal["", "request_policy", "audit_mode"]
    server_version: str
    client_version: str = ""
    results: tuple[RuleResult, ...]
    decision: Outcome | Literal[""] = ""
    approval_id: str = ""
    approver: str = ""
    policy: str = ""
    instead: str = ""


class Reasoning(Struct, frozen=True):
    """What the agent says about its action. It is the agent's word, and decides nothing."""

    thought: str | None = None
    summary: str | None = None


class ActionBody(Struct, frozen=True):
    """An action: the tool that is its target, and its parameters."""

    target: Name | None = None
    action_type: Name | None = None
    parameters: Arguments | None = None
    actor: Name | None = None
    external_id: Name | None = None
    context: Reasoning | None = None


class ActionAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How risky an action is. `high` is refused, `medium` would be if a rule did not only watch."""

    request_id: str
    allowed: bool
    risk_level: Risk
    message: str
    server_version: str
    results: tuple[RuleResult, ...]
    duration_ms: int
    decision: Outcome
    approval_id: str = ""
    approver: str = ""
    policy: str = ""
    instead: str = ""


def routes(service: Service) -> tuple[Route, ...]:
    """Both routes."""
    return (
        Route(
            "POST", CLI_PATH, cli_handler(service), "agent", "Judge a command before it runs",
            body=CliBody, answer=CliAnswer, codes=CLI_CODES, rules=incoming.required("command"),
        ),
        Route(
            "POST", ACTION_PATH, action_handler(service), "agent", "Say how risky an action is",
            body=ActionBody, answer=ActionAnswer, codes=ACTION_CODES, rules=incoming.required("target"),
        ),
    )  # fmt: skip


def cli_handler(service: Service) -> Callable[[Request], Awaitable[Response]]:
    """The handler for commands."""

    async def validate_command(request: Request) -> Response:
        config = service.config
        if not config.cli_validation.enabled:
            raise Refusal(400, "cli_validation_disabled", "Commands are not validated here (cli_validation.enabled)")
        incoming.require_json(request, 400)
        body = await deciding.in_thread_if_large(request, partial(incoming.body_of, request, CliBody))
        if body.command is None or not body.command.strip():
            raise Refusal(400, "missing_command", "command is missing or empty")
        client = body.client_info or ClientInfo()
        if not config.cli_validation.covers(body.command):
            return json_response(_not_validated(request, client))
        context = incoming.context_of(
            request, "cli", cwd=body.working_directory, principal=f"user:{client.username}" if client.username else ""
        )
        words = (body.command, *(body.arguments or ()))
        text = body.command if len(words) == 1 else shlex.join(words)
        call = ToolCall("exec", {"command": text}, context=context)
        wait, headers = deciding.wait_of(service, request)
        verdict, _ = await deciding.before(service, request, call, wait=wait, can=deciding.AS_IT_CAME)
        return json_response(_cli_answer(verdict, request, client), headers=headers)

    return validate_command


def action_handler(service: Service) -> Callable[[Request], Awaitable[Response]]:
    """The handler for actions."""

    async def validate_action(request: Request) -> Response:
        incoming.require_json(request, 400)
        body = await deciding.in_thread_if_large(request, partial(incoming.body_of, request, ActionBody))
        if body.target is None or not body.target.strip():
            raise Refusal(400, "missing_target", "target is missing or empty")
        said = CallerContext(trace_id=body.external_id)
        context = incoming.context_of(request, "action", said, cwd=None, principal=body.actor or "")
        call = await deciding.in_thread_if_large(
            request, partial(incoming.call_of, _tool_of(body), body.parameters, context)
        )
        wait, headers = deciding.wait_of(service, request)
        verdict, _ = await deciding.before(service, request, call, wait=wait, can=deciding.AS_IT_CAME)
        return json_response(_action_answer(verdict, request), headers=headers)

    return validate_action


def _not_validated(request: Request, client: ClientInfo) -> CliAnswer:
    return CliAnswer(
        allowed=True, request_id=request.request_id, duration_ms=0, policies_evaluated=0, validation_required=False,
        note="This command is not among cli_validation.validate_commands", message="", action_reason="",
        server_version=__version__, client_version=client.cli_version or "", results=(),
    )  # fmt: skip


def _cli_answer(verdict: Verdict[Any], request: Request, client: ClientInfo) -> CliAnswer:
    said = told(verdict)
    decided = None if verdict.allowed else verdict.decided_by
    return CliAnswer(
        allowed=verdict.allowed,
        request_id=request.request_id,
        duration_ms=milliseconds(verdict),
        policies_evaluated=len(verdict.timings),
        denial=None if decided is None else Denial(policy_name(decided), decided.kind, said.messages[0].message),
        validation_required=True,
        message=said.messages[0].message if said.messages else "",
        action_reason="request_policy" if not verdict.allowed else "audit_mode" if said.severity == "warn" else "",
        server_version=__version__,
        client_version=client.cli_version or "",
        results=said.results,
        decision=verdict.outcome,
        approval_id=verdict.approval,
        approver=verdict.approver,
        policy=verdict.policy,
        instead=verdict.instead,
    )


def _tool_of(body: ActionBody) -> str:
    """The tool that an action is judged as: its target, or its type where only that is a tool that we know."""
    target, kind = body.target or "", body.action_type or ""
    return kind if not _is_known(target) and _is_known(kind) else target


def _is_known(name: str) -> bool:
    return normalize_tool_name(name) in KNOWN_TOOL_NAMES or bool(tool_behind(name))


def _action_answer(verdict: Verdict[Any], request: Request) -> ActionAnswer:
    said = told(verdict)
    return ActionAnswer(
        request_id=request.request_id,
        allowed=verdict.allowed,
        risk_level=_risk(verdict, said.severity),
        message=said.messages[0].message if said.messages else "",
        server_version=__version__,
        results=said.results,
        duration_ms=milliseconds(verdict),
        decision=verdict.outcome,
        approval_id=verdict.approval,
        approver=verdict.approver,
        policy=verdict.policy,
        instead=verdict.instead,
    )


def _risk(verdict: Verdict[Any], severity: Severity) -> Risk:
    if not verdict.allowed:
        return "high"
    if severity == "warn":
        return "medium"
    if not verdict.timings or not reading_of(verdict.payload, home_directory()).understood:
        return "unknown"
    return "low"
