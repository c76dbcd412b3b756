"""What fails is found again: on the outcome, in the log, as an exception. And interrupts pass."""

from __future__ import annotations

import asyncio
import logging
import pickle
import threading
from typing import Any

import pytest

from interpose import (
    BlockedError,
    Confirm,
    Engine,
    InteractiveConfirmation,
    InterceptorRegistry,
    PermissionRequest,
    PolicyError,
    RefusedError,
    ToolCall,
    create_interceptor_registry,
)
from interpose.core.driving import drive_in_server
from interpose.core.errors import InterceptError
from tests.support.hostile import INTERRUPTS

LS = ToolCall("exec", {"command": "ls"})


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


def ask(_input: Any, output: Any) -> None:
    output.ask = "May it?"


def test_the_exception_of_a_tool_is_on_the_outcome_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    error = OSError("gone")

    def fail(_arguments: Any) -> None:
        raise error

    with caplog.at_level(logging.DEBUG, "interpose"):
        done = Engine().run().run_tool(LS, fail)
    assert done.outcome.error is error
    assert done.response == {"status": "error", "tool": "exec", "error": "gone"}
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is error
    assert "exec failed: gone" in caplog.text


def test_the_exception_of_an_interceptor_is_on_the_verdict_and_the_outcome(registry: InterceptorRegistry) -> None:
    registry.add(id="broken", name="tool.before", handler=lambda _i, _o: 1 / 0)
    done = Engine(registry).run().run_tool(LS, lambda _: "ran")
    assert [type(error) for error in done.verdict.errors] == [ZeroDivisionError]
    assert done.outcome.error is done.verdict.errors[0]


def test_a_failing_observe_is_logged(registry: InterceptorRegistry, caplog: pytest.LogCaptureFixture) -> None:
    class Watcher:
        def intercept(self, _call: ToolCall) -> Any:
            from interpose import Allow

            return Allow()

        def observe(self, _call: ToolCall, _outcome: Any) -> None:
            raise OSError("full")

    registry.add(id="watcher", name="tool.before", interceptor=Watcher())
    assert Engine(registry).run_tool(LS, lambda _: "ran") == "ran"
    assert "watcher: observe failed: full" in caplog.text


def test_a_blocked_result_carries_the_safer_way(registry: InterceptorRegistry) -> None:
    from interpose import Deny

    class Says:
        def intercept(self, _call: ToolCall) -> Deny:
            return Deny("Not so.", instead="ls -1")

    registry.add(id="says", name="tool.before", interceptor=Says())
    assert Engine(registry).run_tool(LS, lambda _: "ran") == {
        "status": "blocked", "tool": "exec", "reason": "Not so.", "instead": "ls -1",
    }  # fmt: skip


@pytest.mark.parametrize("name", INTERRUPTS)
@pytest.mark.parametrize("where", ["tool.before", "tool.after", "a deadline", "async", "observe", "a listener"])
def test_interrupts_pass(registry: InterceptorRegistry, name: str, where: str) -> None:
    error, ran = INTERRUPTS[name](), list[Any]()

    def throw(*_: Any) -> None:
        raise error

    async def athrow(*_: Any) -> None:
        raise error

    class Observes:
        intercept = staticmethod(lambda _call: __import__("interpose").Allow())
        observe = staticmethod(throw)

    options: dict[str, Any] = {"id": "x", "name": where if "." in where else "tool.before"}
    if where == "observe":
        registry.add(**options, interceptor=Observes())
    elif where == "a listener":
        registry.add(**options, handler=lambda _i, output: output.args.update(a=1))
    else:
        registry.add(**options, handler=athrow if where == "async" else throw,
                     timeout=30 if where == "a deadline" else None)  # fmt: skip
    listeners = [throw] if where == "a listener" else []
    with pytest.raises(type(error)):
        Engine(registry).run(on_event=listeners).run_tool(LS, ran.append)
    assert not ran or where in ("tool.after", "observe"), "nothing runs that was not decided"


@pytest.mark.parametrize("name", INTERRUPTS)
def test_interrupts_pass_at_a_prompt(registry: InterceptorRegistry, name: str) -> None:
    class Prompt:
        def readline(self) -> str:
            error = INTERRUPTS[name]()
            raise error

    registry.add(id="ask", name="tool.before", handler=ask)
    engine = Engine(registry, confirm=InteractiveConfirmation(input=Prompt()))  # type: ignore[arg-type]
    with pytest.raises(tuple(type(make()) for make in INTERRUPTS.values())):
        engine.run_tool(LS, lambda _: pytest.fail("it ran"))
    with pytest.raises(tuple(type(make()) for make in INTERRUPTS.values())):
        engine.run().run_tools([(LS, lambda _: pytest.fail("it ran"))])


def test_a_server_goes_on_when_an_interceptor_wants_to_end_it(registry: InterceptorRegistry) -> None:
    def leave(_input: Any, _output: Any) -> None:
        raise SystemExit(3)

    registry.add(id="leaves", name="tool.before", handler=leave)

    async def main() -> None:
        with pytest.raises(InterceptError, match="SystemExit"):
            await drive_in_server(Engine(registry).flow(LS.context).before(LS))

    asyncio.run(main())


def test_a_sync_handler_does_not_hold_up_the_loop(registry: InterceptorRegistry) -> None:
    registry.add(id="ask", name="tool.before", handler=ask)
    answered = threading.Event()

    def person(_request: PermissionRequest) -> bool:
        return answered.wait(30)

    async def main() -> Any:
        running = asyncio.ensure_future(Engine(registry, confirm=person).arun_tool(LS, lambda _: "ran"))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(answered.set)  # only a free loop gets here
        return await running

    assert asyncio.run(main()) == "ran"


def test_errors_can_be_pickled() -> None:
    verdict = Engine().decide(LS)
    response = {"status": "blocked", "tool": "exec", "reason": "no"}
    for error in (BlockedError(response, verdict), RefusedError(verdict), PolicyError(("one", "two"))):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
    assert pickle.loads(pickle.dumps(BlockedError(response))).response == response


def test_a_handler_that_returns_a_value_is_warned_once(
    registry: InterceptorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    def chatty(_input: Any, output: Any) -> Any:
        output.args["seen"] = True
        return output

    registry.add(id="chatty", name="tool.before", handler=chatty)
    engine = Engine(registry)
    for _ in range(3):
        assert engine.decide(LS).payload.arguments["seen"] is True
    assert caplog.text.count("which is ignored") == 1


def test_a_handler_may_return_a_decision(registry: InterceptorRegistry) -> None:
    registry.add(id="asks", name="tool.before", handler=lambda _i, _o: Confirm("Sure?"))
    assert Engine(registry).decide(LS).outcome == "ask"
