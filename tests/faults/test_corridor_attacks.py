"""Ways around the corridor that an attacker found, each held shut."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from interpose import (
    Allow,
    BlockedError,
    Confirm,
    Context,
    Engine,
    InterceptorRegistry,
    RegistrationError,
    Report,
    ToolCall,
    ToolError,
    ToolSet,
    add_builtin_interceptors,
    create_interceptor_registry,
    guarded,
)
from interpose.core.driving import drive
from interpose.core.errors import MatcherError
from interpose.core.types import Finding, ToolOutcome
from interpose.doors.http.events import routes
from interpose.engine.flow.hosted import Abilities, AskThem, Go, GoWith, WaitFor
from interpose.reading.secrets import Redactor
from interpose.record.ledger import search
from interpose.record.store.protocols import Query
from tests.support.servers.servers import running, service_in
from tests.support.timing.patience import PATIENCE

SECRET = "ghp_" + "a1B2" * 9
REDACTOR = Redactor(b"k" * 32)
LS = ToolCall("exec", {"command": "ls"})


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


def dispatch(name: str, arguments: dict[str, Any]) -> str:
    """A program's own dispatcher of tools."""
    return f"{name} {sorted(arguments)}"


CARRIED = [
    ("one layer", {"name": "todo", "arguments": {"text": "x"}}, "todo ['text']"),
    ("two layers: what is inside is not what runs",
     {"name": "todo", "arguments": {"name": "exec", "arguments": {"command": "rm -rf /"}}},
     "todo ['arguments', 'name']"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "arguments", "ran"), CARRIED, ids=[note for note, _, _ in CARRIED])
def test_a_tool_that_carries_others_gets_the_arguments_that_it_was_given(
    note: str, arguments: dict[str, Any], ran: str
) -> None:
    engine = Engine(add_builtin_interceptors(create_interceptor_registry()))
    engine.add_tool(dispatch, "dispatch_action")
    assert engine.call("dispatch_action", arguments) == ran, note
    assert guarded("dispatch_action", engine=engine)(dispatch)(**arguments) == ran, note
    refused = engine.call("dispatch_action", {"name": "exec", "arguments": {"command": "rm -rf /"}})
    assert refused["status"] == "blocked"


def test_a_question_of_the_hosts_own_is_never_answered_by_joining(tmp_path: Path) -> None:
    hook, http = Context(session_id="s", source="hook:x"), Context(session_id="s", source="intercept")
    call = ToolCall("Bash", {"command": "ls"})
    with service_in(tmp_path) as service:
        assert isinstance(drive(service.hosted(hook, Abilities()).before(call, key="k")), Go)
        asked = drive(service.hosted(http, Abilities()).before(call, key="k", wish=lambda _arguments: "May it?"))
    assert isinstance(asked, WaitFor)


KUBERNETES = [
    {"kind": "Secret", "data": {"a": [SECRET]}},
    {"kind": "Secret", "stringData": {SECRET: "x"}},
    {"kind": "Secret", "data": {"a": {"b": SECRET}}},
]


@pytest.mark.parametrize("value", KUBERNETES, ids=range(len(KUBERNETES)))
def test_what_says_it_is_a_secret_hides_none(value: dict[str, Any]) -> None:
    assert SECRET not in repr(REDACTOR.redact_value(value)[0])


class Node:
    """Leads back to where it came from."""

    __dataclass_fields__: dict[str, Any] = {"text": None, "parent": None, "children": None}  # noqa: RUF012

    def __init__(self, text: str, parent: Node | None = None) -> None:
        self.text, self.parent, self.children = text, parent, list[Node]()
        if parent is not None:
            parent.children.append(self)


def tree(text: str) -> Node:
    root = Node(text)
    for _ in range(4):
        Node("leaf", Node("inner", root))
    return root


def test_a_graph_that_leads_back_to_itself_has_an_end_and_no_way_to_the_original() -> None:
    plain = tree("nothing")
    assert REDACTOR.redact_value(plain)[0] is plain
    clean, found = REDACTOR.redact_value(tree(SECRET))
    assert found
    left, seen = [clean], set[int]()
    while left:
        one = left.pop()
        if isinstance(one, Node) and id(one) not in seen:
            seen.add(id(one))
            assert one.text != SECRET
            left += [one.parent, *one.children]


def test_what_tool_after_hides_is_not_raised() -> None:
    engine = Engine(add_builtin_interceptors(create_interceptor_registry()))

    @guarded("login", engine=engine, on_error="raise")
    def login() -> None:
        raise ValueError(f"cannot log in with {SECRET}")

    with pytest.raises(ToolError) as raised:
        login()
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def test_what_tool_after_withholds_is_not_raised(registry: InterceptorRegistry) -> None:
    registry.add(id="no", name="tool.after", handler=lambda _i, o: setattr(o, "block", True))

    @guarded("login", engine=Engine(registry), on_error="raise", on_block="raise")
    def login() -> None:
        raise ValueError(SECRET)

    with pytest.raises(BlockedError) as blocked:
        login()
    assert SECRET not in str(blocked.value)


@pytest.mark.parametrize("large", [False, True])
def test_an_interceptor_that_wants_to_leave_ends_no_server(tmp_path: Path, large: bool) -> None:
    def leave(_input: Any, _output: Any) -> None:
        raise SystemExit(3)

    with service_in(tmp_path) as service:
        registry: Any = service.policies.shared.engine.interceptors
        registry.add(id="leaves", name="tool.before", priority=500, handler=leave)
        with running(routes(service)) as server:
            body = {"name": "exec", "arguments": {"command": "ls", "padding": "x" * (10_000 if large else 1)}}
            for _ in range(2):
                assert server.post("/api/v1/events/tool.before", body).json["decision"] == "deny"


@pytest.mark.parametrize("answer", [Allow(), Report()], ids=["Allow", "Report"])
def test_a_block_counts_whatever_a_handler_returns(registry: InterceptorRegistry, answer: Any) -> None:
    def handler(_input: Any, output: Any) -> Any:
        output.block = True
        return answer

    async def later(_input: Any, output: Any) -> Any:
        output.block = True
        return answer

    for number, each in enumerate((handler, later)):
        registry.clear()
        registry.add(id=f"h{number}", name="tool.before", handler=each)
        assert Engine(registry).decide(LS).outcome == "deny"


def test_a_handler_that_would_never_run_is_told(registry: InterceptorRegistry) -> None:
    def lazy(_input: Any, output: Any) -> Any:
        output.block = True
        yield

    with pytest.raises(RegistrationError, match="`yield` in it"):
        registry.add(id="lazy", name="tool.before", handler=lazy)


def test_a_note_does_not_swallow_a_question(registry: InterceptorRegistry) -> None:
    class Says:
        def intercept(self, _call: ToolCall) -> Any:
            note = Finding(interceptor="says", said="ask", reason="Really?", rule="r", severity="warning")
            return Report((Confirm("Really?", "r"),), (note,))

    registry.add(id="says", name="tool.before", interceptor=Says())
    assert Engine(registry).decide(LS).outcome == "ask"


def test_a_task_that_wants_to_leave_leaves_others_their_answers(registry: InterceptorRegistry) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def starts(_input: Any, _output: Any) -> None:
        task = asyncio.get_running_loop().create_task(leave())
        with pytest.raises(SystemExit):
            await task

    registry.add(id="starts", name="tool.before", handler=starts)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(Engine(registry).decide(LS)), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert answers, "it waits for ever"


WRAPPED = [
    "toolCall",
    "tool-call",
    "Tool-Call",
    "callTool",
    "functions.call_tool",
    "functions.tool_call",
    "mcp__x__tool_call",
]


@pytest.mark.parametrize("name", WRAPPED)
def test_a_wrapper_is_one_in_every_spelling(name: str) -> None:
    engine = Engine(add_builtin_interceptors(create_interceptor_registry()))
    call = ToolCall(name, {"name": "bash", "arguments": {"command": "rm -rf /"}})
    assert engine.decide(call).rule == "delete-system"
    again = {"name": "tool_call", "arguments": {"name": "bash", "arguments": {"command": "rm -rf /"}}}
    assert engine.decide(ToolCall(name, again)).rule == "delete-system"


def test_a_wrapper_of_a_server_carries_calls_of_that_server(registry: InterceptorRegistry) -> None:
    registry.declare_tools(["mcp__x__bash"])
    registry.add(id="no-x", name="tool.before", handler=_block, tool_matcher="^mcp__x__")
    assert Engine(registry).decide(ToolCall("mcp__x__call_tool", {"name": "todo"})).outcome == "deny"


def _block(_given: Any, output: Any) -> None:
    output.block = True


def test_several_calls_in_one_are_refused_in_every_spelling(registry: InterceptorRegistry) -> None:
    for name in ("Batch", "functions.batch", "multiToolUse.parallel", "mcp__x__parallel"):
        assert Engine(registry).decide(ToolCall(name, {"toolCalls": []})).rule == "not-available", name


def test_a_tool_that_is_only_called_like_a_wrapper_is_a_tool(registry: InterceptorRegistry) -> None:
    engine = Engine(registry)
    assert engine.decide(ToolCall("mcp__phone__call_tool", {"number": 1})).allowed
    run = engine.run().run_tool(
        ToolCall("functions.tool_call", {"name": "tool_call", "arguments": {"number": 1}}), lambda arguments: arguments
    )
    assert run.response == {"name": "tool_call", "arguments": {"number": 1}}


def test_a_matcher_for_an_alias_is_told_also_when_a_tool_has_that_name(registry: InterceptorRegistry) -> None:
    engine = Engine(registry, shell_tools=["my_shell"])
    engine.add_tool(lambda command: command, "bash")
    engine.add_tool(lambda command: command, "my_shell")
    for alias in ("^bash$", "^my_shell$"):
        with pytest.raises(MatcherError):
            registry.add(id=alias, name="tool.before", handler=_block, tool_matcher=alias)


SHELL_SETS = [
    ("a list that leaves it out", ToolSet.except_(["my_shell"]), False),
    ("the parent's but it", ToolSet.inherit_except(["my_shell"]), False),
    ("all but shells", ToolSet.except_(["exec"]), False),
    ("all but another", ToolSet.except_(["other_shell"]), True),
    ("a list that has it", ToolSet.specific(["my_shell"]), True),
    ("a list of shells", ToolSet.specific(["exec"]), True),
    ("a list of others", ToolSet.specific(["read"]), False),
]


@pytest.mark.parametrize(("note", "tools", "runs"), SHELL_SETS)
def test_tool_sets_know_what_the_operator_calls_a_shell_by_both_names(note: str, tools: ToolSet, runs: bool) -> None:
    engine = Engine(shell_tools=["my_shell", "other_shell"])
    engine.add_tool(lambda command: "ran", "my_shell")
    assert (engine.sub_agent(tools).call("my_shell", {"command": "ls"}) == "ran") is runs


def test_a_call_that_a_hook_has_let_through_is_told_as_let_through(tmp_path: Path) -> None:
    """Also where the hook asked its person, or changed the call: who sees it next has nothing more to ask or change."""
    rules = (
        "version: 1\nrules:\n  - {id: utc, action: transform, on: {tools: [exec]}, "
        "when: 'command.exists(c, c.name == \"date\")', rewrite: {command: '\"date -u\"'}}\n"
    )
    hook = Context(session_id="s", source="hook:x")
    with service_in(tmp_path, rules) as service, running(routes(service)) as server:
        for command, runs, answer in (("git clean -fdx", "git clean -fdx", AskThem), ("date", "date -u", GoWith)):
            call = ToolCall("Bash", {"command": command}, context=hook)
            said = drive(service.hosted(hook, Abilities(ask=True, rewrite=True)).before(call, key=command))
            assert isinstance(said, answer), command
            event = {"name": "Bash", "arguments": {"command": runs}, "call_id": command, "context": {"sessionId": "s"}}
            told = server.post("/api/v1/events/tool.before", event).json
            assert (told["decision"], told["allowed"], told["approval_id"]) == ("allow", True, ""), told
            assert "payload" not in told


def test_a_host_that_ran_something_else_is_on_record(tmp_path: Path) -> None:
    context = Context(session_id="s", source="hook:x")
    with service_in(tmp_path) as service:
        hosted = service.hosted(context, Abilities())
        drive(hosted.before(ToolCall("Bash", {"command": "ls"}, context=context), key="k"))
        ran = ToolCall("Bash", {"command": "rm -rf /srv/data"}, context=context)
        done = drive(hosted.after(ToolOutcome(ran, "gone"), key="k"))
        assert done.after is not None
        assert [(found.rule, found.reason) for found in done.after.findings] == [
            ("other-arguments", "The host says that it ran something else than was decided: rm -rf /srv/data")
        ]
        service.ledger.flush()
        found = search(service.store, Query(rule="other-arguments"), 5)
        assert len(found) == 1, "one call is one record, which says so"


def test_a_tools_own_wish_is_asked_with_what_the_tool_gets() -> None:
    seen: list[dict[str, Any]] = []

    def wish(arguments: dict[str, Any]) -> bool:
        seen.append(arguments)
        return False

    engine = Engine()
    engine.add_tool(dispatch, "tool_call", requires_confirmation=wish)
    engine.call("tool_call", {"name": "todo", "arguments": {"text": "x"}})
    assert seen == [{"name": "todo", "arguments": {"text": "x"}}]


def test_deciding_walks_all_that_answers_without_a_person(registry: InterceptorRegistry) -> None:
    registry.add(id="asks", name="tool.before", interceptor=_Asking())
    registry.add(id="says-no", name="permission.ask", handler=_deny_question)
    engine = Engine(registry, confirm=lambda _request: pytest.fail("nobody is asked"))
    assert engine.decide(LS).outcome == "deny"
    registry.remove("says-no")
    assert engine.decide(LS).outcome == "ask"


class _Asking:
    def intercept(self, _call: ToolCall) -> Confirm:
        return Confirm("May it?")


def _deny_question(_given: Any, output: Any) -> None:
    output.block = True


@pytest.mark.parametrize("text", ["[1]", "no JSON", '{"a": 1, "a": 2}'])
def test_arguments_that_are_none_run_nothing(text: str) -> None:
    """Nor does the tool get any: they are an error of the call."""
    ran: list[object] = []
    engine = Engine()
    engine.add_tool(lambda **arguments: ran.append(arguments), "todo")
    assert engine.call("todo", text)["status"] == "error"
    assert ran == []
