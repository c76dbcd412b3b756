"""A plugin that offers the interceptors a vector names: what each behaviour does. Copied beside real metadata.

Read by the server process, so it imports nothing of the tests.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interpose.core.types import thaw
from interpose.rules.interceptor_protocol.descriptors import (
    PHASES,
    EventHook,
    InterceptorDescriptor,
    read_hooks,
    read_priority,
)
from interpose.rules.interceptor_protocol.invocations import (
    InterceptorInvocation,
    InterceptorSaid,
    MutationSaid,
    SinkSaid,
    ValidationSaid,
    denied,
)
from interpose.rules.interceptor_protocol.offering import OfferedInterceptor

SECRET = re.compile(r"sk_live_\w+|ghp_\w+|AKIA\w+")
SERVERS = {
    "read_file": "filesystem", "write_file": "filesystem", "move_file": "filesystem", "list_directory": "filesystem",
    "search_files": "filesystem", "read_query": "sqlite", "write_query": "sqlite", "list_tables": "sqlite",
    "describe_table": "sqlite", "execute_command": "shell",
}  # fmt: skip


def _note(asked: InterceptorInvocation) -> Any:
    return asked.payload.get("arguments", {}).get("note")


def allow_all(_asked: InterceptorInvocation) -> InterceptorSaid:
    return ValidationSaid()


def deny_all(_asked: InterceptorInvocation) -> InterceptorSaid:
    return denied("denied by policy")


def warn_all(_asked: InterceptorInvocation) -> InterceptorSaid:
    return ValidationSaid(valid=False, severity="warning")


def invalid_without_severity(_asked: InterceptorInvocation) -> InterceptorSaid:
    return ValidationSaid(valid=False)


def require_note(asked: InterceptorInvocation) -> InterceptorSaid:
    return ValidationSaid() if _note(asked) else denied("a note is required", "arguments.note")


def require_uppercase_note(asked: InterceptorInvocation) -> InterceptorSaid:
    note = _note(asked)
    return ValidationSaid() if isinstance(note, str) and note.isupper() else denied("the note must be in upper case")


def uppercase_note(asked: InterceptorInvocation) -> InterceptorSaid:
    note = _note(asked)
    if not isinstance(note, str) or note.isupper():
        return MutationSaid()
    payload = thaw(asked.payload)
    payload["arguments"]["note"] = note.upper()
    return MutationSaid(payload=payload)


def append_name(name: str) -> Callable[[InterceptorInvocation], InterceptorSaid]:
    """Shows the order: each adds the last letter of its name."""

    def append(asked: InterceptorInvocation) -> InterceptorSaid:
        payload = thaw(asked.payload)
        payload["arguments"]["note"] += name[-1]
        return MutationSaid(payload=payload)

    return append


def in_place(asked: InterceptorInvocation) -> InterceptorSaid:
    asked.payload["arguments"]["note"] = "changed by who may not"
    return ValidationSaid()


def crash(_asked: InterceptorInvocation) -> InterceptorSaid:
    raise RuntimeError("a secret of the inside")


def hang(_asked: InterceptorInvocation) -> InterceptorSaid:
    time.sleep(60)
    return ValidationSaid()


def wrong_kind(_asked: InterceptorInvocation) -> InterceptorSaid:
    return SinkSaid()


def record(asked: InterceptorInvocation) -> InterceptorSaid:
    with Path(os.environ["SINK_FILE"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asked.payload) + "\n")
    return SinkSaid()


def redactor(asked: InterceptorInvocation) -> InterceptorSaid:
    text = json.dumps(asked.payload)
    new = SECRET.sub("[redacted]", text)
    return MutationSaid(payload=json.loads(new)) if new != text else MutationSaid()


def cross_boundary_guard() -> Callable[[InterceptorInvocation], InterceptorSaid]:
    """What was seen in a result of one server goes to no other, in one session."""
    last: dict[str, str] = {}
    seen: dict[str, dict[str, str]] = defaultdict(dict)

    def guard(asked: InterceptorInvocation) -> InterceptorSaid:
        session = asked.context.session_id
        found = SECRET.findall(json.dumps(asked.payload))
        if asked.phase == "response":
            for secret in found:
                seen[session].setdefault(secret, last.get(session, ""))
            return ValidationSaid()
        server = SERVERS.get(asked.payload.get("name", ""), "")
        last[session] = server
        if any(seen[session].get(secret, server) != server for secret in found):
            return denied("a secret of another server")
        return ValidationSaid()

    return guard


BEHAVIOURS: dict[str, Callable[[InterceptorInvocation], InterceptorSaid]] = {
    "allow-all": allow_all, "deny-all": deny_all, "warn-all": warn_all, "require-note": require_note,
    "invalid-without-severity": invalid_without_severity, "require-uppercase-note": require_uppercase_note,
    "uppercase-note": uppercase_note, "crash": crash, "hang": hang, "in-place": in_place, "wrong-kind": wrong_kind,
    "record": record, "secretless-redactor": redactor,
}  # fmt: skip


def offered(described: list[dict[str, Any]]) -> list[OfferedInterceptor]:
    """The interceptors that a vector describes."""
    return [OfferedInterceptor(_descriptor(each), _behaviour(each)) for each in described]


def _behaviour(each: dict[str, Any]) -> Callable[[InterceptorInvocation], InterceptorSaid]:
    match each["behavior"]:
        case "cross-boundary-guard":
            return cross_boundary_guard()
        case "append-name":
            return append_name(each["name"])
        case behaviour:
            return BEHAVIOURS[behaviour]


def _descriptor(each: dict[str, Any]) -> InterceptorDescriptor:
    name = each["name"]
    hooks: tuple[EventHook, ...] = read_hooks(name, {"events": each["events"], "phase": each.get("phases", "both")})
    assert {hook.phase for hook in hooks} <= set(PHASES)
    compat = each.get("compat", {})
    return InterceptorDescriptor(
        name=name, type=each["type"], hooks=hooks, mode=each.get("mode", "active"),
        fail_open=each.get("failOpen", False), priority=read_priority(name, each.get("priorityHint", 0)),
        min_protocol=compat.get("minProtocol", ""), max_protocol=compat.get("maxProtocol", ""),
        config_schema=each.get("configSchema", {}),
    )  # fmt: skip


def offer() -> list[OfferedInterceptor]:
    """The entry point."""
    return offered(json.loads(os.environ["OFFERED"]))
