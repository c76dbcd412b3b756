"""`@guarded`: a plain function behind the interceptors, sync and async."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpose import (
    AutoApprove,
    BlockedError,
    Context,
    Engine,
    InterceptorRegistry,
    ToolCall,
    create_interceptor_registry,
    guarded,
    initialize_global_interceptors,
    reset_global_interceptors,
)
from interpose.core.errors import ToolError


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


def block(_input: Any, output: Any) -> None:
    output.block, output.block_reason = True, "no"


def test_a_sync_function(registry: InterceptorRegistry) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []
    registry.add(id="see", name="tool.before", handler=lambda i, o: seen.append((i.tool_name, dict(o.args))))

    @guarded("Bash", engine=Engine(registry))
    def shell(command: str, timeout: int = 5) -> str:
        """Run it."""
        return f"{command}/{timeout}"

    assert shell("ls") == "ls/5"
    assert shell(command="pwd", timeout=1) == "pwd/1"
    assert seen == [("exec", {"command": "ls", "timeout": 5}), ("exec", {"command": "pwd", "timeout": 1})]
    assert (shell.__name__, shell.__doc__) == ("shell", "Run it.")


def test_an_async_function(registry: InterceptorRegistry) -> None:
    async def upper(_input: Any, output: Any) -> None:
        await asyncio.sleep(0)
        output.args["text"] = output.args["text"].upper()

    registry.add(id="upper", name="tool.before", handler=upper)

    @guarded(engine=Engine(registry))
    async def say(text: str) -> str:
        await asyncio.sleep(0)
        return text

    assert asyncio.run(say("hi")) == "HI"


def test_an_async_interceptor_works_for_a_sync_function(registry: InterceptorRegistry) -> None:
    async def refuse(_input: Any, output: Any) -> None:
        await asyncio.sleep(0)
        output.block = True

    registry.add(id="refuse", name="tool.before", handler=refuse)
    function = guarded("x", engine=Engine(registry))(lambda: "ran")
    assert function() == {"status": "blocked", "tool": "x", "reason": "Blocked by interceptor"}


@pytest.mark.parametrize("use_async", [False, True])
def test_a_blocked_call_returns_or_raises(registry: InterceptorRegistry, use_async: bool) -> None:
    registry.add(id="guard", name="tool.before", handler=block)
    engine = Engine(registry)

    def plain(command: str) -> str:
        return command

    async def later(command: str) -> str:
        return command

    function: Any = later if use_async else plain
    blocked = {"status": "blocked", "tool": "exec", "reason": "no"}
    call = guarded("exec", engine=engine)(function)
    assert (asyncio.run(call("ls")) if use_async else call("ls")) == blocked
    raising = guarded("exec", engine=engine, on_block="raise")(function)
    with pytest.raises(BlockedError, match="exec was blocked: no") as caught:
        _ = asyncio.run(raising("ls")) if use_async else raising("ls")
    assert caught.value.response == blocked


def test_errors_become_results_without_a_stack_trace(registry: InterceptorRegistry) -> None:
    @guarded("read", engine=Engine(registry))
    def read(path: str) -> str:
        raise FileNotFoundError(path)

    assert read("gone.txt") == {"status": "error", "tool": "read", "error": "gone.txt"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_interrupts_pass_through(registry: InterceptorRegistry, error: type[BaseException]) -> None:
    @guarded(engine=Engine(registry))
    def stop() -> None:
        raise error

    with pytest.raises(error):
        stop()


def test_a_rewrite_reaches_every_kind_of_parameter(registry: InterceptorRegistry) -> None:
    def change(_input: Any, output: Any) -> None:
        output.args.update(first="A", rest=["x", "y"], named="N", added=1)

    registry.add(id="change", name="tool.before", handler=change)

    @guarded(engine=Engine(registry))
    def every(first: str, /, second: str, *rest: str, named: str = "n", **others: Any) -> tuple[Any, ...]:
        return first, second, rest, named, others

    assert every("a", "b", "c", named="m", other=2) == ("A", "b", ("x", "y"), "N", {"other": 2, "added": 1})


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({}, "has no argument 'command'"),
        ({"command": "ls", "extra": 1}, "arguments that the function does not take: extra"),
    ],
)
def test_a_rewrite_that_does_not_fit_is_an_error_result(
    registry: InterceptorRegistry, args: dict[str, Any], text: str
) -> None:
    def change(_input: Any, output: Any) -> None:
        output.args = args

    registry.add(id="change", name="tool.before", handler=change)
    ran: list[str] = []

    @guarded(engine=Engine(registry))
    def shell(command: str) -> None:
        ran.append(command)

    answer = shell("ls")
    assert answer["status"] == "error"
    assert text in answer["error"]
    assert ran == []


def test_wrong_arguments_raise_as_they_would_without_the_guard(registry: InterceptorRegistry) -> None:
    function = guarded(engine=Engine(registry))(lambda command: command)
    with pytest.raises(TypeError):
        function()


def test_the_callers_arguments_stay_as_they_are(registry: InterceptorRegistry) -> None:
    registry.add(id="change", name="tool.before", handler=lambda _i, o: o.args["items"].append("added"))
    mine = ["x"]
    function = guarded("x", engine=Engine(registry))(lambda items: items)
    assert function(mine) == ["x", "added"]
    assert mine == ["x"]


def test_its_own_wish_to_be_confirmed(registry: InterceptorRegistry) -> None:
    def wish(arguments: dict[str, Any]) -> bool | str:
        return "Push it?" if "push" in arguments["command"] else False

    strict = guarded("exec", engine=Engine(registry), requires_confirmation=wish)(lambda command: command)
    asking = guarded("exec", engine=Engine(registry, confirm=AutoApprove()), requires_confirmation=wish)(
        lambda command: command
    )
    assert strict("git status") == "git status"
    assert "Push it?" in strict("git push")["reason"]
    assert asking("git push") == "git push"


def test_the_context_reaches_the_interceptors(registry: InterceptorRegistry) -> None:
    registry.add(id="research-only", name="tool.before", agent_matcher="^research$", handler=block)
    research, main = Context(agent_id="research"), Context(agent_id="main")
    assert guarded("x", engine=Engine(registry), context=main)(lambda: 1)() == 1
    assert guarded("x", engine=Engine(registry), context=research)(lambda: 1)()["status"] == "blocked"


def test_without_an_engine_the_global_interceptors_decide() -> None:
    reset_global_interceptors()
    try:
        initialize_global_interceptors().add(id="mine", name="tool.before", tool_matcher="^cron$", handler=block)
        function = guarded("cron")(lambda: "ran")
        assert function()["reason"] == "no"
        reset_global_interceptors()
        assert function() == "ran"
    finally:
        reset_global_interceptors()


def test_a_wrong_word_is_refused_when_decorating() -> None:
    with pytest.raises(ValueError, match="on_block must be"):
        guarded("x", on_block="ignore")  # type: ignore[arg-type]


def test_the_name_of_a_tool_is_no_function() -> None:
    with pytest.raises(TypeError, match=r"write @guarded\(\)"):
        guarded(len)  # type: ignore[arg-type]  # what @guarded without brackets does


@pytest.mark.parametrize("use_async", [False, True])
def test_the_failure_of_an_interceptor_behind_the_tool_is_raised(
    registry: InterceptorRegistry, use_async: bool
) -> None:
    def fail(_input: Any, _output: Any) -> None:
        raise ZeroDivisionError("the interceptor's own")

    registry.add(id="fail", name="tool.after", handler=fail)
    engine = Engine(registry)
    done = engine.run().run_tool(ToolCall("say", {}), lambda _: "said")
    assert done.response["status"] == "withheld"
    assert isinstance(done.outcome.error, ZeroDivisionError), "the exception of an interceptor is on the outcome"

    @guarded("say", engine=engine, on_error="raise")
    async def say_async() -> str:
        return "said"

    @guarded("say", engine=engine, on_error="raise", on_block="raise")
    def say() -> str:
        return "said"

    with pytest.raises(ZeroDivisionError, match="the interceptor's own"):
        asyncio.run(say_async()) if use_async else say()
    assert guarded("say", engine=engine)(lambda: "said")()["status"] == "withheld"


def test_a_refusal_behind_the_tool_is_no_failure_and_never_raises_the_tools_error(
    registry: InterceptorRegistry,
) -> None:
    def look(_input: Any, _output: Any) -> None:
        raise ZeroDivisionError("of one who only looks")

    registry.add(id="block", name="tool.after", handler=block)
    registry.add(id="look", name="tool.after", priority=-1, handler=look)

    @guarded("say", engine=Engine(registry), on_error="raise")
    def say() -> str:
        raise OSError("what must not be seen")

    assert say()["status"] == "withheld"


def test_an_error_result_that_became_a_text_is_raised_as_that_text(registry: InterceptorRegistry) -> None:
    registry.add(id="short", name="tool.after", handler=lambda _i, o: setattr(o, "result", "it failed"))

    @guarded("say", engine=Engine(registry), on_error="raise")
    def say() -> str:
        raise OSError("what must not be seen")

    with pytest.raises(ToolError, match="it failed"):
        say()
