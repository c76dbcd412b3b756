"""Interceptors, handlers and recorders that raise anything, answer anything, or change what they were shown.

Every error and every piece of garbage goes into every step of the flow. Nothing may escape, and nothing may be allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from interpose import (
    Allow,
    AutoApprove,
    Confirm,
    Deny,
    Engine,
    InterceptorChain,
    Params,
    ToolCall,
    ToolOutcome,
    ToolRun,
    Transform,
    create_interceptor_registry,
)
from tests.support.hostile import ERRORS, GARBAGE, EvilText, throw

Act = Callable[[], Any]

LS = ToolCall("exec", {"command": "ls", "env": {"A": ["1"]}})


class Guard:
    """Behaves, and then does something else when it looks again at a rewritten call."""

    def __init__(self, act: Act) -> None:
        self.act, self.first = act, True

    def intercept(self, _call: ToolCall) -> Any:
        if self.first:
            self.first = False
            return Allow()
        return self.act()


class Interceptor:
    def __init__(self, act: Act, *, use_async: bool = False) -> None:
        self.act = act
        if use_async:
            self.intercept = self.intercept_async  # type: ignore[method-assign]

    def intercept(self, _payload: Any) -> Any:
        return self.act()

    async def intercept_async(self, _payload: Any) -> Any:
        await asyncio.sleep(0)
        return self.act()


class Observing:
    def __init__(self, act: Act) -> None:
        self.act = act

    def intercept(self, _call: ToolCall) -> Allow:
        return Allow()

    def observe(self, _call: ToolCall, _outcome: ToolOutcome) -> Any:
        return self.act()


class Person:
    def __init__(self, act: Act, *, use_async: bool = False) -> None:
        self.act = act
        if use_async:
            self.confirm = self.confirm_async  # type: ignore[method-assign]

    def confirm(self, _request: Any) -> Any:
        return self.act()

    async def confirm_async(self, _request: Any) -> Any:
        await asyncio.sleep(0)
        return self.act()


class Recorder:
    def __init__(self, decided: Act, finished: Act) -> None:
        self._decided, self._finished = decided, finished

    def decided(self, _verdict: Any) -> None:
        self._decided()

    def finished(self, _verdict: Any, _outcome: Any, _after: Any) -> None:
        self._finished()


def nothing() -> None:
    pass


def ask(_input: Any, output: Any) -> None:
    output.ask = "sure?"


def rewrite(_input: Any, output: Any) -> None:
    output.args["command"] = "pwd"


Setting = tuple[list[dict[str, Any]], dict[str, Any]]
"""What to register (at tool.before if nothing else is said), and what else the engine gets."""


def hostile(act: Act, *, use_async: bool = False, **options: Any) -> Setting:
    return [{"id": "hostile", "interceptor": Interceptor(act, use_async=use_async)} | options], {}


def asking(**options: Any) -> Setting:
    return [{"id": "ask", "handler": ask}], options


def rechecked(act: Act) -> Setting:
    guard = {"id": "hostile", "priority": 9, "guard": True, "interceptor": Guard(act)}
    return [guard, {"id": "rewrite", "handler": rewrite}], {}


DECIDING: dict[str, Callable[[Act], Setting]] = {
    "before": hostile,
    "before, async": lambda act: hostile(act, use_async=True),
    "before, in a worker": lambda act: hostile(act, timeout=30),
    "before, async with a deadline": lambda act: hostile(act, use_async=True, timeout=30),
    "guard re-check": rechecked,
    "permission.ask": lambda act: (asking()[0] + hostile(act, name="permission.ask")[0], {}),
    "confirm handler": lambda act: asking(confirm=Person(act)),
    "confirm handler, async": lambda act: asking(confirm=Person(act, use_async=True)),
    "recorder": lambda act: ([], {"recorder": Recorder(act, nothing)}),
    "after": lambda act: hostile(act, name="tool.after"),
    "after, async": lambda act: hostile(act, name="tool.after", use_async=True),
    "message": lambda act: hostile(act, name="message.before"),
    "params": lambda act: hostile(act, name="params.before"),
}
LOOKING: dict[str, Callable[[Act], Setting]] = {
    "look": lambda act: hostile(act, priority=-1),
    "observe": lambda act: ([{"id": "hostile", "interceptor": Observing(act)}], {}),
    "after, observer": lambda act: hostile(act, name="tool.after", priority=-1),
    "record of the outcome": lambda act: ([], {"recorder": Recorder(nothing, act)}),
}


AT_TOOL_BEFORE: dict[str, Any] = {"name": "tool.before"}
APPROVING: dict[str, Any] = {"confirm": AutoApprove()}


def engine_for(step: str, act: Act) -> Engine:
    """An engine in which `act` happens at one step, and everything else would let the call run."""
    entries, options = (DECIDING | LOOKING)[step](act)
    registry = create_interceptor_registry()
    for entry in entries:
        registry.add(**{**AT_TOOL_BEFORE, **entry})
    return Engine(registry, **{**APPROVING, **options})


NO_ANSWER_NEEDED = ("recorder", "record of the outcome")
"""What a recorder returns means nothing."""


def run_all(engine: Engine, use_async: bool) -> tuple[ToolRun, list[Any]]:
    """A whole run: message, parameters, one tool call."""
    ran: list[Any] = []

    def execute(arguments: dict[str, Any]) -> str:
        ran.append(arguments)
        return "the secret"

    run = engine.run()
    if use_async:

        async def main() -> ToolRun:
            await run.amessage("hi")
            await run.aparams(Params())
            return await run.arun_tool(LS, execute)

        return asyncio.run(main()), ran
    run.message("hi")
    run.params(Params())
    return run.run_tool(LS, execute), ran


both = pytest.mark.parametrize("use_async", [False, True], ids=["sync caller", "async caller"])


@pytest.mark.parametrize("step", DECIDING)
@pytest.mark.parametrize("name", ERRORS)
@both
def test_no_error_escapes_and_none_allows(step: str, name: str, use_async: bool) -> None:
    done, ran = run_all(engine_for(step, lambda: throw(name)), use_async)
    assert type(done.response) is dict
    assert done.response["status"] == ("withheld" if step.startswith("after") else "blocked")
    assert type(done.response["reason"]) is str
    assert done.response["reason"]
    assert "the secret" not in str(done.response)
    assert repr(done), "no error is asked how it looks"
    assert bool(ran) is step.startswith("after")


@pytest.mark.parametrize("step", LOOKING)
@pytest.mark.parametrize("name", ERRORS)
@both
def test_no_error_of_one_who_only_looks_changes_anything(step: str, name: str, use_async: bool) -> None:
    done, ran = run_all(engine_for(step, lambda: throw(name)), use_async)
    assert done.response == "the secret"
    assert ran == [LS.arguments]


@pytest.mark.parametrize("step", [step for step in DECIDING if step not in NO_ANSWER_NEEDED])
@pytest.mark.parametrize("name", GARBAGE)
@both
def test_no_garbage_escapes_and_none_allows(step: str, name: str, use_async: bool) -> None:
    if step.startswith("confirm handler") and name == "True":
        return  # that is the one answer that lets a call run
    done, ran = run_all(engine_for(step, GARBAGE[name]), use_async)
    assert done.response["status"] == ("withheld" if step.startswith("after") else "blocked")
    assert bool(ran) is step.startswith("after")


@pytest.mark.parametrize("step", LOOKING)
@pytest.mark.parametrize("name", GARBAGE)
@both
def test_no_garbage_of_one_who_only_looks_changes_anything(step: str, name: str, use_async: bool) -> None:
    done, ran = run_all(engine_for(step, GARBAGE[name]), use_async)
    assert done.response == "the secret"
    assert len(ran) == 1


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("on_error", ["ask", "allow"])
def test_one_failing_rule_never_disables_another(name: str, on_error: Any) -> None:
    registry = create_interceptor_registry()
    registry.add(id="hostile", name="tool.before", on_error=on_error, handler=lambda _i, _o: throw(name))
    registry.add(id="guard", name="tool.before", handler=lambda _i, _o: Deny("no"))
    verdict = Engine(registry, confirm=AutoApprove()).decide(LS)
    assert verdict.reason == "no"
    assert (verdict.findings[0].interceptor, verdict.findings[0].said) == ("hostile", "error")


@pytest.mark.parametrize("name", ERRORS)
def test_handlers_of_the_other_style_and_own_chains_fail_the_same_way(name: str) -> None:
    registry = create_interceptor_registry()
    registry.add(id="hostile", name="tool.before", handler=lambda _i, _o: throw(name))
    assert Engine(registry).decide(LS).outcome == "deny"
    chain = InterceptorChain[str, str]().with_(Interceptor(lambda: throw(name)))
    assert chain.intercept("x").outcome == "deny"
    assert asyncio.run(chain.aintercept("x")).outcome == "deny"


FIELDS: dict[str, Callable[[], Any]] = {**GARBAGE, "None": lambda: None, "bytes": lambda: b"x"}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("kind", [Confirm, Deny])
@pytest.mark.parametrize("field", ["reason", "rule", "severity", "part", "instead"])
@pytest.mark.parametrize("on_error", ["deny", "allow"])
def test_a_decision_with_garbage_in_its_fields_is_still_that_decision(
    name: str, kind: Any, field: str, on_error: Any
) -> None:
    def decision() -> Any:
        fields = {"reason": "no", field: FIELDS[name]()}
        return kind(fields.pop("reason"), **fields)

    registry = create_interceptor_registry()
    registry.add(id="hostile", name="tool.before", on_error=on_error, interceptor=Interceptor(decision))
    verdict = Engine(registry).decide(LS)
    assert verdict.outcome == ("deny" if kind is Deny else "ask")
    answer = Engine(registry).run_tool(LS, lambda _: "ran")
    assert answer["status"] == "blocked"
    assert type(answer["reason"]) is str
    assert verdict.findings[-1].severity in ("info", "warning", "error", "critical")


@pytest.mark.parametrize("name", FIELDS)
def test_a_rewrite_to_garbage_is_refused(name: str) -> None:
    for point in ("tool.before", "message.before", "params.before", "tool.after"):
        registry = create_interceptor_registry()
        registry.add(id="hostile", name=point, interceptor=Interceptor(lambda: Transform(FIELDS[name]())))
        done, _ = run_all(Engine(registry), use_async=False)
        assert done.response["status"] in ("blocked", "withheld")


@pytest.mark.parametrize(
    "name", ["raising __eq__", "lying __eq__", "lying metaclass", "hostile metaclass", "raising __class__"]
)
def test_a_rewrite_with_hostile_values_in_its_arguments_crashes_nobody(name: str) -> None:
    registry = create_interceptor_registry()
    value = GARBAGE[name]()

    class Rewrite:
        def intercept(self, call: ToolCall) -> Transform[ToolCall]:
            return Transform(call.with_arguments({"command": value}))

    seen: list[Any] = []
    registry.add(id="guard", name="tool.before", priority=9, guard=True, handler=lambda _i, o: seen.append(1))
    registry.add(id="hostile", name="tool.before", interceptor=Rewrite())
    verdict = Engine(registry).decide(LS)
    assert verdict.outcome in ("rewrite", "allow")
    assert len(seen) == (2 if verdict.rewritten else 1)


def mutate_by_assignment(call: ToolCall) -> None:
    call.arguments["command"] = "rm -rf /"


def mutate_deeply(call: ToolCall) -> None:
    call.arguments["env"]["A"].append("2")


def mutate_the_name(call: ToolCall) -> None:
    call.name = "read"  # type: ignore[misc]


def mutate_the_context(call: ToolCall) -> None:
    call.context.role = "admin"  # type: ignore[misc]


def mutate_the_bag(call: ToolCall) -> None:
    call.metadata["approved"] = True


@pytest.mark.parametrize(
    "mutate", [mutate_by_assignment, mutate_deeply, mutate_the_name, mutate_the_context, mutate_the_bag]
)
@pytest.mark.parametrize("on_error", ["deny", "allow"])
def test_changing_what_was_shown_changes_nothing_for_others(mutate: Callable[[ToolCall], None], on_error: Any) -> None:
    class Mutating:
        def intercept(self, call: ToolCall) -> Allow:
            mutate(call)
            return Allow()

    registry = create_interceptor_registry()
    registry.add(id="hostile", name="tool.before", on_error=on_error, interceptor=Mutating())
    given = {"command": "ls", "env": {"A": ["1"]}}
    verdict = Engine(registry).decide(ToolCall("exec", given))
    assert verdict.outcome == on_error
    assert verdict.payload.arguments == given == {"command": "ls", "env": {"A": ["1"]}}
    assert verdict.payload.name == "exec"


def test_an_output_that_was_kept_is_worth_nothing_later() -> None:
    kept: list[Any] = []

    def keep(_input: Any, output: Any) -> None:
        kept.append((output, output.args))

    def misuse(_input: Any, _output: Any) -> None:
        output, args = kept[0]
        args["command"] = "rm -rf /"
        output.block = False

    registry = create_interceptor_registry()
    registry.add(id="keep", name="tool.before", priority=9, handler=keep)
    registry.add(id="guard", name="tool.before", priority=5, handler=lambda _i, _o: Confirm("sure?"))
    registry.add(id="misuse", name="tool.before", handler=misuse)
    verdict = Engine(registry).decide(LS)
    assert (verdict.outcome, verdict.payload.arguments) == ("ask", LS.arguments)


def test_a_chain_that_never_settles_is_refused() -> None:
    class Flip:
        def intercept(self, call: ToolCall) -> Transform[ToolCall]:
            return Transform(call.with_arguments({"command": call.arguments["command"] + "!"}))

    registry = create_interceptor_registry()
    for number in range(2):
        registry.add(id=f"flip{number}", name="tool.before", guard=True, interceptor=Flip())
    registry.add(id="start", name="tool.before", handler=rewrite)
    verdict = Engine(registry).decide(LS)
    assert verdict.outcome == "deny"
    assert "did not settle in 3 rounds" in verdict.reason


class HostileHandler:
    @property
    def confirm(self) -> NoReturn:
        raise GeneratorExit


@both
def test_a_handler_that_raises_when_it_is_looked_at_denies(use_async: bool) -> None:
    registry = create_interceptor_registry()
    registry.add(id="ask", name="tool.before", handler=ask)
    engine = Engine(registry, confirm=HostileHandler())
    assert run_all(engine, use_async)[0].response["status"] == "blocked"


@pytest.mark.parametrize("name", ERRORS)
def test_standing_answers_that_fail_grant_nothing(name: str) -> None:
    class Standing:
        def answer(self, _request: Any) -> Any:
            throw(name)

    registry = create_interceptor_registry()
    registry.add(id="ask", name="tool.before", handler=ask)
    assert Engine(registry, standing=[Standing()]).run_tool(LS, lambda _: "ran")["status"] == "blocked"


@pytest.mark.parametrize("name", ERRORS)
def test_the_tools_own_wish_that_fails_blocks(name: str) -> None:
    engine = Engine(create_interceptor_registry())
    answer = engine.run_tool(LS, lambda _: "ran", requires_confirmation=lambda _: throw(name))
    assert answer["status"] == "blocked"


@pytest.mark.parametrize("name", GARBAGE)
def test_any_result_of_a_tool_is_handed_on(name: str) -> None:
    if "awaitable" in name:
        return  # a tool that returns an awaitable is awaited
    result = GARBAGE[name]()
    assert Engine(create_interceptor_registry()).run_tool(LS, lambda _: result) is result


class EvilDict(dict[str, Any]):
    def items(self) -> Any:
        raise SystemExit("items")


@pytest.mark.parametrize("name", GARBAGE)
def test_any_result_may_be_shown_to_interceptors(name: str) -> None:
    if "awaitable" in name:
        return
    registry = create_interceptor_registry()
    registry.add(id="look", name="tool.after", interceptor=Interceptor(Allow))
    result = GARBAGE[name]()
    assert Engine(registry).run_tool(LS, lambda _: result) is result


def test_a_result_that_refuses_to_be_read_is_an_error() -> None:
    registry = create_interceptor_registry()
    registry.add(id="look", name="tool.after", interceptor=Interceptor(Allow))
    answer = Engine(registry).run_tool(LS, lambda _: EvilDict(secret="x"))
    assert answer == {"status": "error", "tool": "exec", "error": "items"}


def test_a_rewritten_result_that_refuses_to_be_read_is_withheld() -> None:
    class Rewrite:
        def intercept(self, outcome: ToolOutcome) -> Transform[ToolOutcome]:
            return Transform(ToolOutcome(outcome.call, EvilDict(x=1), duration_ns=outcome.duration_ns))

    registry = create_interceptor_registry()
    registry.add(id="hostile", name="tool.after", interceptor=Rewrite())
    answer = Engine(registry).run_tool(LS, lambda _: "ran")
    assert answer["status"] == "withheld"


def test_a_reason_that_is_an_evil_text_is_shown_as_a_plain_one() -> None:
    registry = create_interceptor_registry()
    registry.add(id="hostile", name="tool.before", interceptor=Interceptor(lambda: Deny(EvilText("evil"))))
    lines: list[str] = []
    Engine(registry, verbose="on", sinks=[lines.append]).run_tool(LS, lambda _: "ran")
    assert lines == ['🛡️ hostile · blocked exec — "evil"']
