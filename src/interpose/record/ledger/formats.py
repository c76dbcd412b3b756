"""Records in the shapes that others read: the intercept endpoint's short audit entry, and Maybe Don't's long one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import UNSET, to_builtins

from interpose.core.types import Finding
from interpose.record.ledger.entry import After
from interpose.record.ledger.record import Record

Format = Literal["record", "intercept", "maybe-dont"]
OLD_FORMATS: Mapping[str, Format] = {"seed": "intercept"}
"""What formats were once called. Whoever reads a format takes these too, and shows them nowhere."""

ANONYMOUS = "anonymous"
"""The principal of callers that proved nothing."""

_SOURCES = frozenset({"mcp", "cli", "action"})
"""What others call where a call came from. All else is asked for through an endpoint or a hook: `intercept`."""


def shapes(record: Record, format: Format) -> list[dict[str, Any]]:  # noqa: A002 - the word of the command line
    """A record as plain dicts in one of the formats: several where a format has an entry for each phase of a call."""
    match format:
        case "record":
            shown: dict[str, Any] = to_builtins(record)
            return [{name: value for name, value in shown.items() if value is not UNSET}]
        case "intercept":
            return intercept_entries(record)
        case "maybe-dont":
            return [maybe_dont_entry(record)]


def intercept_entries(record: Record) -> list[dict[str, Any]]:
    """The audit entries of the intercept endpoint: one for the call, and one for its result if anybody looked at it."""
    entries = [_intercept_entry(record, "request_validation", record.time_ns, _action(record), record.elapsed_ns)]
    if (after := _response(record)) is not None:
        action = "deny" if after.result == "withheld" else "allow"
        entries.append(_intercept_entry(record, "response_validation", record.finished_ns, action, after.elapsed_ns))
    return entries


def _intercept_entry(record: Record, phase: str, time_ns: int, action: str, elapsed_ns: int) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": _name(record), "arguments": _given(record.arguments)}
    if record.original_arguments is not UNSET:
        tool["original_arguments"] = record.original_arguments
    return {
        "timestamp": _second(time_ns),
        "source": _source(record),
        "phase": phase,
        "tool": tool,
        "context": _context(record),
        "decision": action,
        "duration_ms": _milliseconds(elapsed_ns),
    }


def maybe_dont_entry(record: Record) -> dict[str, Any]:
    """One line of Maybe Don't's audit log. Every rule that spoke stands under `cel`: there is one engine for all."""
    action, reason, spent = _action(record), "", record.elapsed_ns
    if action == "deny":
        reason = "request_policy"
    entry: dict[str, Any] = {
        "source": _source(record),
        "validation_started": _nanosecond(record.time_ns - record.elapsed_ns),
        "created_at": _nanosecond(record.time_ns),
        "tool": {
            "name": _name(record),
            "prefixed_name": _name(record),
            "params": _given(record.arguments),
            "called_at": _nanosecond(record.time_ns),
            "duration_ms": _milliseconds(record.duration_ns),
        },
        "upstream_request": {
            "id": record.call_id,
            "external_id": record.trace_id,
            "client_id": record.claimed_client or record.principal or record.agent,
            "session_id": record.session,
        },
        "request_validation": _validation(
            action, record.rule, record.reason, record.findings, record.timings, record.elapsed_ns
        ),
    }
    if record.original_arguments is not UNSET:
        entry["tool"]["original_params"] = record.original_arguments
    findings = record.findings
    if (after := _response(record)) is not None:
        findings += after.said.findings
        spent += after.elapsed_ns
        match after.result:
            case "withheld":
                action, reason = "deny", "response_policy"
            case "rewritten":
                action, reason = "redact", "response_policy"
            case "passed":
                pass
        said = "allow" if after.result == "passed" else action
        entry["response_validation"] = _validation(
            said, after.rule, after.said.reason, after.said.findings, after.timings, after.elapsed_ns
        )
    watched = any(found.mode == "watch" and found.said in ("deny", "ask") for found in findings)
    entry |= {
        "recommended_action": "deny" if watched else action,
        "action": action,
        "action_reason": reason or ("audit_mode" if watched else ""),
        "duration_ms": _milliseconds(spent) + _milliseconds(record.duration_ns),
        "total_blocked_ms": _milliseconds(spent),
    }
    command = record.arguments.get("command") if isinstance(record.arguments, dict) else None
    if record.tool == "exec" and isinstance(command, str):
        words = _words(command)
        entry["cli"] = {
            "command": words[0] if words else "",
            "arguments": words[1:],
            "working_directory": record.cwd,
        }
    return entry


def _words(command: str) -> list[str]:
    """The words of a command as a shell sees them: what is quoted is one."""
    try:
        return shlex.split(command)
    except ValueError:  # a quote that is never closed
        return command.split()


def _validation(
    action: str,
    rule: str,
    reason: str,
    findings: tuple[Finding, ...],
    timings: tuple[tuple[str, int], ...],
    elapsed_ns: int,
) -> dict[str, Any]:
    results = [
        {
            "rule": found.rule or found.interceptor,
            "action": "deny" if found.said in ("deny", "ask") else "allow",
            "mode": "enforce" if found.mode == "enforce" else "audit_only",
            "result": found.said,
            "evaluation_ms": _milliseconds(sum(spent for name, spent in timings if name == found.interceptor)),
            "error": found.reason if found.said == "error" else "",
        }
        for found in findings
    ]
    spent = _milliseconds(elapsed_ns)
    return {
        "cel": {
            "action": action,
            "blocked_ms": spent,
            "evaluation_ms": spent,
            "deciding_rule": rule,
            "reason": reason,
            "results": results,
        }
    }


def _response(record: Record) -> After | None:
    """What was said about a result. A call that was refused has none."""
    return None if record.outcome == "denied" else record.after


def _source(record: Record) -> str:
    return record.source if record.source in _SOURCES else "intercept"


def _action(record: Record) -> str:
    return "allow" if record.decision in ("allow", "rewrite") else "deny"


def _name(record: Record) -> str:
    return record.original_name or record.tool


def _given(value: Any) -> Any:
    return {} if value is UNSET else value


def _context(record: Record) -> dict[str, Any]:
    context: dict[str, Any] = {"sessionId": record.session}
    if record.trace_id:
        context["traceId"] = record.trace_id
    if record.principal:
        kind, _, name = record.principal.partition(":")
        context["principal"] = {"type": kind, "id": name} if name else {"type": "user", "id": record.principal}
    elif record.agent:
        context["principal"] = {"type": "agent", "id": record.agent}
    if record.principal == ANONYMOUS:  # what it said of itself, beside what nothing proves
        for name in ("claimed_session", "claimed_principal", "claimed_client"):
            if (said := getattr(record, name)) is not UNSET:
                context[name] = said
    return context


def _milliseconds(nanoseconds: int) -> int:
    return nanoseconds // 1_000_000


def _second(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _nanosecond(time_ns: int) -> str:
    whole, rest = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
