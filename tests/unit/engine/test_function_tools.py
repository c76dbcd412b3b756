"""Functions as tools: registered once, called by name, with arguments that survive a rewrite."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from interpose import (
    AutoApprove,
    Context,
    Engine,
    InterceptorRegistry,
    RegistrationError,
    ToolError,
    ToolSet,
    create_interceptor_registry,
    guarded,
)


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


@pytest.fixture
def engine(registry: InterceptorRegistry) -> Engine:
    return Engine(registry)


class Shelf:
    def __init__(self, books: dict[str, str]) -> None:
        self.books = books

    def find(self, title: str, *, exact: bool = True) -> str:
        return self.books.get(title, "nothing") if exact else "something"


def seen(registry: InterceptorRegistry) -> list[tuple[str, dict[str, Any]]]:
    """What interceptors are shown."""
    calls: list[tuple[str, dict[str, Any]]] = []

    @registry.on("tool.before", id="seen")
    def look(input: Any, output: Any) -> None:
        calls.append((input.tool_name, dict(output.args)))

    return calls


def test_a_function_is_registered_once_and_called_by_name(engine: Engine, registry: InterceptorRegistry) -> None:
    @engine.tool
    def add(a: int, b: int = 2, **more: int) -> int:
        return a + b + sum(more.values())

    calls = seen(registry)
    assert engine.call("add", {"a": 1}) == 3
    assert engine.call("add", {"a": 1, "b": 1, "c": 5}) == 7
    assert add(1) == 3, "it stays the function that it is"
    assert calls == [("add", {"a": 1}), ("add", {"a": 1, "b": 1, "c": 5})]


def test_methods_and_partials(engine: Engine, registry: InterceptorRegistry) -> None:
    shelf = Shelf({"Emma": "Austen"})
    engine.add_tool(shelf.find)
    engine.add_tool(partial(shelf.find, exact=False), "guess")
    engine.add_tool(partial(print, end=""))
    calls = seen(registry)
    assert engine.call("find", {"title": "Emma"}) == "Austen"
    assert engine.call("guess", {"title": "Emma"}) == "something"
    assert calls[0] == ("find", {"title": "Emma"}), "no `self` in it"
    assert engine.functions.names == ("find", "guess", "print")


def test_any_agents_name_for_the_same_tool_finds_it(engine: Engine) -> None:
    engine.add_tool(lambda command: f"ran {command}", "Bash")
    assert engine.call("run_shell_command", {"command": "ls"}) == "ran ls"
    assert engine.call("exec", {"command": "ls"}) == "ran ls"


def test_a_name_that_nobody_registered_is_an_error_result(engine: Engine) -> None:
    engine.add_tool(lambda: None, "known")
    answer = engine.call("unknown")
    assert answer == {"status": "error", "tool": "unknown", "error": "there is no tool 'unknown'; tools: known"}
    assert isinstance(engine.run().call("unknown").outcome.error, ToolError)


def test_arguments_that_do_not_fit_are_an_error_result(engine: Engine) -> None:
    engine.add_tool(lambda path: path, "open_it")
    assert "no argument 'path'" in engine.call("open_it", {})["error"]
    assert "does not take: mode" in engine.call("open_it", {"path": "a", "mode": "r"})["error"]


def test_rewritten_arguments_reach_the_function(engine: Engine, registry: InterceptorRegistry) -> None:
    registry.add(id="twice", name="tool.before", handler=lambda _i, o: o.args.update(a=o.args["a"] * 2))
    engine.add_tool(lambda a: a, "echo")
    assert engine.call("echo", {"a": 2}) == 4


def test_async_tools(engine: Engine) -> None:
    @engine.tool
    async def wait(seconds: float) -> str:
        await asyncio.sleep(0)
        return f"waited {seconds}"

    async def main() -> Any:
        return await engine.acall("wait", {"seconds": 1})

    assert asyncio.run(main()) == "waited 1"
    assert engine.call("wait", {"seconds": 2}) == "waited 2"


def test_a_tools_own_wish_to_be_confirmed(registry: InterceptorRegistry) -> None:
    def make(engine: Engine) -> Engine:
        engine.add_tool(lambda to: f"sent to {to}", "send", requires_confirmation=lambda args: f"Send to {args['to']}?")
        return engine

    blocked = make(Engine(registry)).call("send", {"to": "bob"})
    assert blocked["status"] == "blocked"
    assert "Send to bob?" in blocked["reason"]
    assert make(Engine(registry, confirm=AutoApprove())).call("send", {"to": "bob"}) == "sent to bob"


def test_a_sub_agent_has_the_same_tools_and_never_more(engine: Engine) -> None:
    engine.add_tool(lambda command: "ran", "exec")
    engine.add_tool(lambda path: "read", "read")
    child = engine.sub_agent(ToolSet.specific(["group:fs"]))
    assert child.call("read", {"path": "a"}) == "read"
    assert child.call("exec", {"command": "ls"})["status"] == "blocked"


def test_mistakes_are_told_at_once(engine: Engine) -> None:
    engine.add_tool(lambda: 1, "one")
    with pytest.raises(RegistrationError, match="there is a tool 'one' already"):
        engine.add_tool(lambda: 2, "one")
    engine.add_tool(lambda: 3, "bash")
    with pytest.raises(RegistrationError, match="'bash' is the same tool by another name"):
        engine.add_tool(lambda: 4, "run_shell_command")
    with pytest.raises(RegistrationError, match=r"engine.add_tool\(function, 'name'\)"):
        engine.tool("name")  # type: ignore[type-var]
    with pytest.raises(RegistrationError, match="a tool is a function, not 3"):
        engine.add_tool(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ('{"command": "ls"}', ""),
        ('{"command": "ls"', "no JSON object"),
        ('{"command": "ls", "command": "rm"}', "no JSON object"),
        ("[1]", "must be an object, not list"),
        ([1], "must be an object, not list"),
        ({1: 2}, "must have names, not int"),
        ("\ud800", "no JSON object"),
    ],
)
def test_models_send_arguments_as_text(engine: Engine, given: Any, says: str) -> None:
    engine.add_tool(lambda command: f"ran {command}", "run_it")
    answer = engine.call("run_it", given)
    if says:
        assert says in answer["error"]
    else:
        assert answer == "ran ls"


def test_matchers_may_name_registered_tools(engine: Engine, registry: InterceptorRegistry) -> None:
    engine.add_tool(lambda: "done", "deploy")
    registry.add(id="no", name="tool.before", tool_matcher="^deploy$", handler=lambda _i, o: setattr(o, "block", True))
    assert engine.call("deploy")["status"] == "blocked"


def test_guarded_methods_show_no_self(registry: InterceptorRegistry) -> None:
    engine, calls = Engine(registry), seen(registry)

    class Box:
        def __init__(self, name: str) -> None:
            self.name = name

        @guarded("open", engine=engine, context=Context(cwd="/w"))
        def open(self, key: str) -> str:
            return f"{self.name} opened with {key}"

    assert Box("a").open("k") == "a opened with k"
    assert Box("b").open(key="k") == "b opened with k"
    assert calls == [("open", {"key": "k"})] * 2


@pytest.mark.parametrize("error", [OSError("disk"), KeyError("x")])
def test_guarded_raises_what_the_function_raised(registry: InterceptorRegistry, error: Exception) -> None:
    @guarded(engine=Engine(registry), on_error="raise")
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        fail()
    assert raised.value is error


def test_guarded_raises_the_failure_of_an_interceptor_that_refused(registry: InterceptorRegistry) -> None:
    registry.add(id="broken", name="tool.before", handler=lambda _i, _o: 1 / 0)

    @guarded(engine=Engine(registry), on_error="raise")
    def run() -> str:
        return "ran"

    with pytest.raises(ZeroDivisionError):
        run()


def test_two_values_under_one_name_are_refused_and_none_is_lost() -> None:
    ran: list[Any] = []

    @guarded("shell", engine=Engine())
    def shell(command: str, /, **more: Any) -> None:
        ran.append((command, more))

    with pytest.raises(TypeError, match="'command' as a parameter and again as a keyword of \\*\\*more"):
        shell("rm -rf /", command="ls")
    assert ran == []
    shell("ls", cwd="/tmp")
    assert ran == [("ls", {"cwd": "/tmp"})]
