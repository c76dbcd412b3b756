"""What authors of interceptors write first: registering in one line, names by alias, what can be looked at."""

from __future__ import annotations

import copy
import logging
from importlib import import_module
from typing import Any

import pytest

from interpose import (
    Allow,
    Context,
    Deny,
    Engine,
    HookPoint,
    InterceptorChain,
    InterceptorRegistry,
    Registration,
    RegistrationError,
    ToolCall,
    ToolOutcome,
    ToolSet,
    add_builtin_interceptors,
    create_interceptor_registry,
)
from interpose.core.config.builtins import BUILTINS
from interpose.rules.guards import AuditLog, ConditionalPermission, FileSecurity, InputSanitizer, Metrics


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


class Plain:
    def intercept(self, _call: ToolCall) -> Allow:
        return Allow()


def nothing(_input: Any, _output: Any) -> None:
    pass


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["write", "file_write", "Write", "write_file", "writeFile", " WRITE_FILE "])
def test_a_call_has_one_name_and_knows_what_was_said(said: str) -> None:
    call = ToolCall(said, {"path": "x"})
    assert (call.name, call.original_name) == ("write", said)
    assert call.is_tool("file_write")
    assert call.is_tool("edit", "Write")
    assert not call.is_tool("file_edit")
    assert call.with_arguments({}).original_name == said


@pytest.mark.parametrize("names", [("write", "edit"), ["write"], {"write"}, None])
def test_names_in_a_list_are_an_error_that_says_so(names: Any) -> None:
    with pytest.raises(TypeError, match=r"one after the other: is_tool\('write', 'edit'\)"):
        ToolCall("write", {}).is_tool(names)


def test_calls_are_equal_without_their_ids() -> None:
    one, other = ToolCall("exec", {"command": "ls"}), ToolCall("exec", {"command": "ls"})
    assert one.call_id != other.call_id
    assert (one == other, one != other, hash(one) == hash(other)) == (True, False, True)
    for different in (
        ToolCall("exec", {"command": "pwd"}), ToolCall("read", {"command": "ls"}), ToolCall("Bash", {"command": "ls"}),
        ToolCall("exec", {"command": "ls"}, context=Context(session_id="s")), "exec",
    ):  # fmt: skip
        assert one != different


# --- registering -----------------------------------------------------------------------------------------------------


def test_a_registration_is_registered_elsewhere(registry: InterceptorRegistry) -> None:
    first = registry.add(id="a", name="tool.before", priority=7, tool_matcher="^exec$", handler=nothing)
    other = create_interceptor_registry()
    again = other.add(first)
    assert (again.id, again.priority, again.tool_matcher) == ("a", 7, first.tool_matcher)
    assert other.add(first, id="b", priority=1).priority == 1


def test_a_registration_written_by_hand_runs(registry: InterceptorRegistry) -> None:
    def block(_input: Any, output: Any) -> None:
        output.block, output.block_reason = True, "no"

    registry.add(Registration(id="mine", name=HookPoint.TOOL_BEFORE, handler=block))
    registry.add({"id": "second", "name": "tool.after", "handler": nothing})
    assert Engine(registry).run_tool(ToolCall("read", {}), lambda _: "ran")["reason"] == "no"


def test_a_guard_says_itself_where_it_belongs(registry: InterceptorRegistry) -> None:
    registry.add(FileSecurity(("/etc",)))
    registry.add(InputSanitizer(1000), priority=5)
    entry = registry.add(Plain())
    assert [(one.id, one.priority, one.guard) for one in registry.list()[:2]] == [
        ("builtin:file-security", 91, True), ("builtin:input-limits", 5, True),
    ]  # fmt: skip
    assert entry.id.endswith("Plain")
    assert registry.add(name="tool.before", interceptor=Metrics()).id == "builtin:metrics"


@pytest.mark.parametrize("builtin", BUILTINS, ids=lambda one: one.id)
def test_built_in_guards_say_what_the_table_says(builtin: Any) -> None:
    kind = getattr(import_module(builtin.module), builtin.name)
    said = (kind.id, getattr(kind, "point", "tool.before"), kind.priority, getattr(kind, "guard", False))
    assert said == (builtin.id, builtin.point, builtin.priority, builtin.guard)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (
            {"id": "x", "name": "tool.before", "handler": nothing, "toolMatcher": "^exec$"},
            "did you mean tool_matcher=?",
        ),
        ({"id": "x", "name": "tool.before", "handler": nothing, "onError": "ask"}, "did you mean on_error=?"),
        ({"id": "x", "name": "tool.before", "handler": nothing, "prority": 3}, "did you mean priority=?"),
        ({"id": "x", "name": "tool.before", "handler": nothing, "frobnicate": 3}, "Options: id, name"),
        ({"name": "tool.before", "handler": nothing}, "needs an id"),
        ({"id": "x", "handler": nothing}, "the name of a hook point"),
    ],
)
def test_a_mistake_has_a_hint(registry: InterceptorRegistry, given: dict[str, Any], hint: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        registry.add(**given)
    assert hint in str(caught.value)
    with pytest.raises(RegistrationError):
        registry.add(given)
    assert registry.list() == ()


def test_a_function_alone_is_no_registration(registry: InterceptorRegistry) -> None:
    with pytest.raises(RegistrationError, match="can't be registered by itself"):
        registry.add(nothing)


def test_get_knows_every_name_of_a_tool(registry: InterceptorRegistry) -> None:
    registry.add(id="x", name="tool.before", tool_matcher="^exec$", handler=nothing)
    for name in ("exec", "Bash", "run_shell_command"):
        assert [entry.id for entry in registry.get("tool.before", name)] == ["x"]


# --- what can be looked at -------------------------------------------------------------------------------------------


def test_what_things_are_made_of_can_be_seen(registry: InterceptorRegistry) -> None:
    registry.add(id="a", name="tool.before", handler=nothing)
    engine = Engine(registry)
    engine.add_tool(lambda command: command, "bash")
    engine.add_tool(lambda path: path, "read")
    assert engine.tools == ("bash", "read")
    assert Engine(registry).sub_agent(ToolSet.none()).tools == ()
    assert engine.sub_agent(ToolSet.specific(["group:fs"])).tools == ("read",)
    assert repr(engine) == "Engine(InterceptorRegistry(['a']), tools=['bash', 'read'])"
    chain = InterceptorChain[ToolCall, ToolOutcome]().with_(Plain(), id="p")
    assert (repr(chain), [entry.id for entry in chain.interceptors]) == ("InterceptorChain(['p'])", ["p"])
    permission = ConditionalPermission.builder().add_pattern("RM -rf").check_field("command").build()
    assert (permission.dangerous_patterns, permission.fields_to_check) == (("rm -rf",), ("command",))
    guards = add_builtin_interceptors(create_interceptor_registry()).list()
    for one in (permission, AuditLog(), Metrics(), FileSecurity(("/etc",)), *(entry.handler for entry in guards)):
        assert " object at 0x" not in repr(one)


def test_a_copy_of_metrics_counts_by_itself() -> None:
    metrics = Metrics()
    metrics.intercept(ToolCall("read", {}))
    other = copy.deepcopy(metrics)
    other.intercept(ToolCall("read", {}))
    assert (metrics.snapshot().total_invocations(), other.snapshot().total_invocations()) == (1, 2)
    assert copy.copy(metrics).snapshot().total_invocations() == 1


# --- results that say of themselves that they failed -----------------------------------------------------------------


class Result:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ({"error": "no disk"}, True),
        ({"error": True}, True),
        ({"content": "err", "metadata": {"error": True}}, True),
        ({"content": "err", "metadata": {"error": False}}, True),
        ({"content": [], "isError": True}, True),
        (Result(isError=True, content=[]), True),
        (Result(content="err", metadata={"error": "x"}), True),
        ({"error": None, "value": 1}, False),
        ({"error": "", "ok": True}, False),
        ({"error": False}, False),
        ({"content": [], "isError": False}, False),
        ({"metadata": {"error": None}}, False),
        (Result(metadata=None), False),
        ("error", False),
        (None, False),
        ([{"error": "of one of many"}], False),
    ],
)
def test_a_result_may_say_that_it_failed(result: Any, failed: bool) -> None:
    metrics = Metrics()
    call = ToolCall("tool", {})
    metrics.intercept(call)
    metrics.observe(call, ToolOutcome(call, result))
    snapshot = metrics.snapshot()
    assert (snapshot.total_successes(), snapshot.total_failures()) == ((0, 1) if failed else (1, 0))
    assert ToolOutcome(call, result).failed is failed
    assert ToolOutcome(call, result).is_error is False  # what was recorded stays what it was


# --- denials leave a trace -------------------------------------------------------------------------------------------


def denying(registry: InterceptorRegistry, point: str = "tool.before") -> InterceptorRegistry:
    registry.add(id="no", name=point, handler=lambda _i, _o: Deny("not\nhere", "rule-x"))
    return registry


def test_a_denial_logs_one_line(registry: InterceptorRegistry, caplog: pytest.LogCaptureFixture) -> None:
    Engine(denying(registry)).run_tool(ToolCall("Bash", {"command": "ls"}), lambda _: "ran")
    assert [(one.levelno, one.getMessage()) for one in caplog.records] == [
        (logging.WARNING, "blocked exec: not here (no [rule-x])")
    ]


def test_so_does_a_message_that_is_refused(registry: InterceptorRegistry, caplog: pytest.LogCaptureFixture) -> None:
    Engine(denying(registry, "message.before")).run().message("hi")
    assert [one.getMessage() for one in caplog.records] == ["blocked at message.before: not here (no [rule-x])"]


def test_a_secret_in_the_reason_is_not_logged(registry: InterceptorRegistry, caplog: pytest.LogCaptureFixture) -> None:
    token = "ghp_" + "a1B2" * 9
    registry.add(id="no", name="tool.before", handler=lambda _i, _o: Deny(f"not with {token}"))
    Engine(registry).run_tool(ToolCall("read", {}), lambda _: "ran")
    assert "not with" in caplog.text
    assert token not in caplog.text


def test_who_keeps_denials_elsewhere_has_no_line(
    registry: InterceptorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    class Keeps:
        def decided(self, _verdict: Any) -> None:
            pass

        def finished(self, _verdict: Any, _outcome: Any, _after: Any) -> None:
            pass

    call, lines = ToolCall("read", {}), list[str]()
    denying(registry)
    Engine(registry, recorder=Keeps()).run_tool(call, lambda _: "ran")
    Engine(registry, verbose="on", sinks=[lines.append]).run_tool(call, lambda _: "ran")
    Engine(registry).decide(call)
    assert (caplog.text, len(lines)) == ("", 1)
    registry.add(AuditLog())
    Engine(registry).run_tool(call, lambda _: "ran")
    assert "interpose" not in {record.name for record in caplog.records}
