"""Every chain example of seed 002 in its Python form: the four patterns, chains, the service, the guide's own tests."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import pytest

from interpose import (
    Allow,
    AutoApprove,
    AutoDeny,
    Confirm,
    Decision,
    Deny,
    Engine,
    ExecutionFailedError,
    InterceptError,
    InterceptorChain,
    InvalidModificationError,
    ToolCall,
    ToolOutcome,
    Transform,
)

log = logging.getLogger("seed.002")

Chain = InterceptorChain[ToolCall, ToolOutcome]


class AuditLog:
    """1. Stateless: logs all tool invocations."""

    async def intercept(self, call: ToolCall) -> Allow:
        log.info("Tool '%s' invoked with input: %s", call.name, call.arguments)
        return Allow()

    async def observe(self, call: ToolCall, outcome: ToolOutcome) -> None:
        log.info("Tool '%s' completed: %s", call.name, outcome.result)


@dataclass(frozen=True)
class FileSecurity:
    """2. Configured: blocks writes to sensitive paths."""

    blocked_paths: tuple[PurePosixPath, ...]

    def __post_init__(self) -> None:
        if not self.blocked_paths:
            raise ValueError("FileSecurity requires at least one blocked path")

    async def intercept(self, call: ToolCall) -> Allow | Deny:
        if not call.is_tool("file_write", "file_edit"):
            return Allow()
        path = call.arguments.get("path")
        if not isinstance(path, str):
            log.error("FileSecurity: %s missing 'path' parameter - DENYING", call.original_name)
            return Deny(f"Tool '{call.original_name}' missing required 'path' parameter")
        if any(PurePosixPath(path).is_relative_to(blocked) for blocked in self.blocked_paths):
            log.warning("FileSecurity: BLOCKED write to '%s'", path)
            return Deny(f"Writing to '{path}' is blocked by security policy")
        return Allow()


@dataclass(frozen=True)
class ConditionalPermission:
    """3. Built: asks before what contains a dangerous pattern."""

    dangerous_patterns: tuple[str, ...]
    fields_to_check: tuple[str, ...] = ("command", "query")

    @staticmethod
    def builder() -> ConditionalPermissionBuilder:
        return ConditionalPermissionBuilder()

    def intercept(self, call: ToolCall) -> Allow | Confirm:
        for name in self.fields_to_check:
            text = str(call.arguments.get(name, "")).lower()
            for pattern in self.dangerous_patterns:
                if pattern in text:
                    return Confirm(f"Tool '{call.name}' wants to perform operation containing '{pattern}'. Allow?")
        return Allow()


@dataclass
class ConditionalPermissionBuilder:
    patterns: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)

    def add_pattern(self, pattern: str) -> ConditionalPermissionBuilder:
        self.patterns.append(pattern.strip().lower())
        return self

    def check_field(self, name: str) -> ConditionalPermissionBuilder:
        self.fields.append(name)
        return self

    def build(self) -> ConditionalPermission:
        if not any(self.patterns):
            raise ValueError("ConditionalPermission requires at least one pattern")
        patterns = tuple(pattern for pattern in self.patterns if pattern)
        return ConditionalPermission(patterns, tuple(self.fields) or ("command", "query"))


class Metrics:
    """4. Stateful: collects tool usage metrics."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stats: dict[str, dict[str, int]] = {}

    def _count(self, tool: str, what: str) -> None:
        with self._lock:
            stats = self._stats.setdefault(tool, {"invocations": 0, "successes": 0, "failures": 0})
            stats[what] += 1

    def snapshot(self) -> dict[str, dict[str, int]]:
        with self._lock:
            return {tool: dict(stats) for tool, stats in self._stats.items()}

    def intercept(self, call: ToolCall) -> Allow:
        self._count(call.name, "invocations")
        return Allow()

    def observe(self, call: ToolCall, outcome: ToolOutcome) -> None:
        self._count(call.name, "failures" if outcome.failed else "successes")


ETC = FileSecurity((PurePosixPath("/etc"),))


def decide(interceptor: FileSecurity, call: ToolCall) -> Decision[ToolCall]:
    return asyncio.run(interceptor.intercept(call))


# --- the unit tests of the guide --------------------------------------------------------------------------------


def test_allows_safe_path() -> None:
    assert decide(ETC, ToolCall("file_write", {"path": "/home/user/safe.txt"})) == Allow()


def test_blocks_dangerous_path() -> None:
    decision = decide(ETC, ToolCall("file_write", {"path": "/etc/passwd"}))
    assert decision == Deny("Writing to '/etc/passwd' is blocked by security policy")


def test_ignores_non_write_tools() -> None:
    assert decide(ETC, ToolCall("file_read", {"path": "/etc/passwd"})) == Allow()


def test_refuses_empty_config() -> None:
    with pytest.raises(ValueError, match="requires at least one"):
        FileSecurity(())


def test_metrics_records_invocation() -> None:
    metrics = Metrics()
    metrics.intercept(ToolCall("test", {}))
    assert metrics.snapshot()["test"]["invocations"] == 1


def test_metrics_tracks_success_and_failure() -> None:
    metrics = Metrics()
    call = ToolCall("tool", {})
    metrics.intercept(call)
    metrics.observe(call, ToolOutcome(call, "ok"))
    metrics.intercept(call)
    metrics.observe(call, ToolOutcome(call, {"content": "err", "metadata": {"error": True}}))
    assert metrics.snapshot()["tool"] == {"invocations": 2, "successes": 1, "failures": 1}


# --- chains and the service --------------------------------------------------------------------------------


def test_creating_a_chain() -> None:
    metrics = Metrics()
    chain = Chain().with_(AuditLog()).with_(ETC).with_(metrics)
    assert len(chain) == 3
    assert chain.intercept(ToolCall("file_write", {"path": "/etc/passwd"})).outcome == "deny"
    assert chain.intercept(ToolCall("file_write", {"path": "/tmp/x"})).outcome == "allow"
    assert metrics.snapshot()["write"]["invocations"] == 1


def test_integration_with_the_tool_service(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    permission = ConditionalPermission.builder().add_pattern(" RM -RF ").check_field("command").build()
    chain = Chain().with_(AuditLog()).with_(ETC).with_(permission).with_(metrics)
    service = Engine(chain, confirm=AutoApprove())
    with caplog.at_level(logging.INFO, logger="seed.002"):
        assert service.run_tool(ToolCall("bash", {"command": "rm -rf build"}), lambda _: "gone") == "gone"
    assert "Tool 'exec' invoked with input: {'command': 'rm -rf build'}" in caplog.text
    assert "Tool 'exec' completed: gone" in caplog.text
    assert service.run_tool(ToolCall("file_write", {"path": "/etc/x"}), lambda _: "written") == {
        "status": "blocked", "tool": "write", "reason": "Writing to '/etc/x' is blocked by security policy",
    }  # fmt: skip
    missing = service.run_tool(ToolCall("file_edit", {}), lambda _: "written")
    assert missing["reason"] == "Tool 'file_edit' missing required 'path' parameter"
    strict = Engine(chain, confirm=AutoDeny())
    denied = strict.run_tool(ToolCall("bash", {"command": "rm -rf build"}), lambda _: "gone")
    assert denied["reason"] == (
        "Confirmation denied: Tool 'exec' wants to perform operation containing 'rm -rf'. Allow?"
    )
    assert metrics.snapshot()["exec"] == {"invocations": 2, "successes": 1, "failures": 1}


def test_metrics_see_failures_and_denials_of_the_service() -> None:
    metrics = Metrics()
    service = Engine(Chain().with_(metrics).with_(ETC))

    def fail(_arguments: Any) -> None:
        raise OSError("disk")

    service.run_tool(ToolCall("file_write", {"path": "/tmp/x"}), lambda _: "ok")
    service.run_tool(ToolCall("file_write", {"path": "/tmp/x"}), fail)
    service.run_tool(ToolCall("file_write", {"path": "/etc/x"}), lambda _: "ok")
    assert metrics.snapshot()["write"] == {"invocations": 3, "successes": 1, "failures": 2}


def test_metrics_of_many_threads_add_up() -> None:
    metrics = Metrics()
    service = Engine(Chain().with_(metrics))

    def work() -> None:
        for _ in range(100):
            service.run_tool(ToolCall("read", {}), lambda _: "ok")

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.snapshot()["read"] == {"invocations": 1000, "successes": 1000, "failures": 0}


def test_the_execution_order() -> None:
    order: list[str] = []

    class Step:
        def __init__(self, name: str) -> None:
            self.name = name

        def intercept(self, _call: ToolCall) -> Allow:
            order.append(f"intercept_{self.name}")
            return Allow()

        def observe(self, _call: ToolCall, _outcome: ToolOutcome) -> None:
            order.append(f"observe_{self.name}")
            if self.name == "1":
                raise ExecutionFailedError("observers may fail")

    Engine(Chain().with_(Step("1")).with_(Step("2"))).run_tool(ToolCall("read", {}), lambda _: order.append("EXECUTE"))
    assert order == ["intercept_1", "intercept_2", "EXECUTE", "observe_1", "observe_2"]


def test_transform_modifies_the_input_for_those_below_and_the_tool() -> None:
    seen: list[Any] = []

    class Sanitize:
        def intercept(self, call: ToolCall) -> Transform[ToolCall]:
            return Transform(call.with_arguments({"path": "/tmp/clean"}))

    class See:
        def intercept(self, call: ToolCall) -> Allow:
            seen.append(call.arguments)
            return Allow()

    class Again:
        """The form of the guide: a call made anew."""

        def intercept(self, call: ToolCall) -> Transform[ToolCall]:
            return Transform(ToolCall(call.name, {"path": "/tmp/clean"}))

    for sanitizer in (Sanitize(), Again()):
        seen.clear()
        sees_only_the_clean_path(Engine(Chain().with_(sanitizer).with_(See())), seen)


def sees_only_the_clean_path(service: Engine, seen: list[Any]) -> None:
    assert service.run_tool(ToolCall("read", {"path": "/x"}), lambda arguments: arguments) == {"path": "/tmp/clean"}
    assert seen == [{"path": "/tmp/clean"}]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ExecutionFailedError("s"), "Interceptor execution failed: s"),
        (InvalidModificationError("s"), "Invalid input modification: s"),
        (InterceptError("s"), "Interceptor error: s"),
    ],
)
def test_the_error_kinds_deny_with_their_texts(error: InterceptError, text: str) -> None:
    class Failing:
        id = "failing"

        async def intercept(self, _call: ToolCall) -> Allow:
            raise error

    service = Engine(Chain().with_(Failing()))
    assert service.run_tool(ToolCall("read", {}), lambda _: "ran")["reason"] == f"failing failed: {text}"


def test_a_panic_does_not_crash_the_system() -> None:
    class Panics:
        def intercept(self, call: ToolCall) -> Allow:
            raise SystemExit(call.arguments["missing"])

    assert Engine(Chain().with_(Panics())).run_tool(ToolCall("read", {}), lambda _: "ran")["status"] == "blocked"
