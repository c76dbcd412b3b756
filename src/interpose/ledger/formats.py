"""Records in the shapes that others read: the intercept endpoint's short audit entry, and Maybe Don't's long one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import UNSET, to_builtins

from interpose.ledger.record import Record

Format = Literal["record", "seed", "maybe-dont"]

_SOURCES = {"library": "intercept", "hook": "intercept", "http": "intercept"}


def shaped(record: Record, format: Format) -> dict[str, Any]:  # noqa: A002 - the word of the command line
    """A record as a plain dict in one of the formats."""
    match format:
        case "record":
            shown: dict[str, Any] = to_builtins(record)
            return {name: value for name, value in shown.items() if value is not UNSET}
        case "seed":
            return seed_entry(record)
        case "maybe-dont":
            return maybe_dont_entry(record)


def seed_entry(record: Record) -> dict[str, Any]:
    """The audit entry of the intercept endpoint."""
    return {
        "timestamp": _second(record.time_ns),
        "source": _SOURCES.get(record.source, record.source),
        "phase": "request_validation",
        "tool": {"name": _name(record), "arguments": _given(record.arguments)},
        "context": _context(record),
        "decision": _action(record),
        "duration_ms": _milliseconds(record.elapsed_ns),
    }


def maybe_dont_entry(record: Record) -> dict[str, Any]:
    """One line of Maybe Don't's audit log. Every rule that spoke stands under `cel`: there is one engine for all."""
    action, blocked = _action(record), _milliseconds(record.elapsed_ns)
    results = [
        {
            "rule": found.rule or found.interceptor,
            "action": "deny" if found.said in ("deny", "ask") else "allow",
            "mode": "enforce" if found.mode == "enforce" else "audit_only",
            "result": found.said,
            "evaluation_ms": _spent(record, found.interceptor),
            "error": found.reason if found.said == "error" else "",
        }
        for found in record.findings
    ]
    watched = any(found.mode == "watch" and found.said in ("deny", "ask") for found in record.findings)
    entry: dict[str, Any] = {
        "source": _SOURCES.get(record.source, record.source),
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
            "client_id": record.principal or record.agent,
            "session_id": record.session,
        },
        "request_validation": {
            "cel": {
                "action": action,
                "blocked_ms": blocked,
                "evaluation_ms": blocked,
                "deciding_rule": record.rule,
                "reason": record.reason,
                "results": results,
            }
        },
        "recommended_action": "deny" if watched else action,
        "action": action,
        "action_reason": "request_policy" if action == "deny" else "audit_mode" if watched else "",
        "duration_ms": blocked + _milliseconds(record.duration_ns),
        "total_blocked_ms": blocked,
    }
    command = record.arguments.get("command") if isinstance(record.arguments, dict) else None
    if record.tool == "exec" and isinstance(command, str):
        words = command.split()
        entry["cli"] = {
            "command": words[0] if words else "",
            "arguments": words[1:],
            "working_directory": record.cwd,
        }
    return entry


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
    return context


def _spent(record: Record, interceptor: str) -> int:
    return _milliseconds(sum(spent for name, spent in record.timings if name == interceptor))


def _milliseconds(nanoseconds: int) -> int:
    return nanoseconds // 1_000_000


def _second(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _nanosecond(time_ns: int) -> str:
    whole, rest = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
