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
    add_builtin_interceptors,
    create_interceptor_registry,
    guarded,
)
from interpose.driving import drive
from interpose.flow.hosted import Abilities, Go, WaitFor
from interpose.secrets import Redactor
from interpose.surfaces.http.events import routes
from interpose.types import Finding
from tests.servers import running, service_in

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
    thread.join(20)
    assert answers, "it waits for ever"
