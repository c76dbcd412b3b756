"""Status lines, their verbose levels, sinks, and listeners that hear of their own run only."""

from __future__ import annotations

import asyncio
import io
import logging
import threading
from typing import Any

import pytest

from interpose import (
    Context,
    Deny,
    Engine,
    HookPoint,
    InterceptorEvent,
    InterceptorRegistry,
    Params,
    ToolCall,
    create_interceptor_registry,
    format_event,
    logging_sink,
    terminal_sink,
)
from interpose.core.types import ToolOutcome
from interpose.engine.flow.status_lines import format_summary, preview
from tests.support.hostile import ERRORS, throw


def event(name: HookPoint, id: str = "x", **fields: Any) -> InterceptorEvent:
    return InterceptorEvent(name=name, interceptor_id=id, **fields)


BEFORE = HookPoint.TOOL_BEFORE


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            event(BEFORE, "builtin:command-safety-guard", match_context="exec", blocked=True,
                  block_reason="rm -rf is not allowed"),
            '🛡️ builtin:command-safety-guard · blocked exec — "rm -rf is not allowed"',
        ),
        (
            event(BEFORE, "builtin:security-audit", match_context="read", blocked=True),
            "🛡️ builtin:security-audit · blocked read",
        ),
        (event(BEFORE, "x", blocked=True), "🛡️ x · blocked"),
        (
            event(HookPoint.MESSAGE_BEFORE, mutations=("message mutated", "metadata: complexity")),
            "📨 message.before · message mutated, metadata: complexity",
        ),
        (event(HookPoint.PARAMS_BEFORE, mutations=("thinkLevel → high",)), "⚙️ params.before · thinkLevel → high"),
        (
            event(BEFORE, "style:no-color", match_context="exec", mutations=("command",)),
            "✏️ style:no-color · rewrote exec — command",
        ),
        (event(BEFORE), None),
        (event(HookPoint.MESSAGE_BEFORE, mutations=()), None),
        (event(HookPoint.TOOL_AFTER, mutations=("result",)), None),
    ],
)  # fmt: skip
def test_the_exact_lines(given: InterceptorEvent, line: str | None) -> None:
    assert format_event(given) == line


def registry_of(**handlers: Any) -> InterceptorRegistry:
    registry = create_interceptor_registry()
    for id, (point, handler) in handlers.items():
        registry.add(id=id, name=point, handler=handler)
    return registry


def block(_input: Any, output: Any) -> None:
    output.block, output.block_reason = True, "no"


def rewrite(_input: Any, output: Any) -> None:
    output.args["command"] = "ls --color=never"


def lines_of(registry: InterceptorRegistry, verbose: Any, command: str = "ls", result: Any = "done") -> list[str]:
    lines: list[str] = []
    engine = Engine(registry, verbose=verbose, sinks=[lines.append])
    engine.run_tool(ToolCall("Bash", {"command": command}), lambda _: result)
    return lines


@pytest.mark.parametrize(("verbose", "lines"), [("off", []), ("on", ["🛠️ exec — ls"]), ("full", ["🛠️ exec — ls\ndone"])])
def test_verbose_levels(verbose: str, lines: list[str]) -> None:
    assert lines_of(create_interceptor_registry(), verbose) == lines


@pytest.mark.parametrize("verbose", ["on", "full"])
def test_a_blocked_call_shows_only_its_shield_line(verbose: str) -> None:
    assert lines_of(registry_of(guard=("tool.before", block)), verbose) == ['🛡️ guard · blocked exec — "no"']


def test_a_rewritten_call_shows_the_rewrite_and_what_really_ran() -> None:
    assert lines_of(registry_of(style=("tool.before", rewrite)), "on") == [
        "✏️ style · rewrote exec — command",
        "🛠️ exec — ls --color=never",
    ]


def test_a_failed_tool_says_so() -> None:
    lines: list[str] = []

    def fail(_arguments: dict[str, Any]) -> None:
        raise OSError("disk")

    Engine(create_interceptor_registry(), verbose="on", sinks=[lines.append]).run_tool(ToolCall("read", {}), fail)
    assert lines == ["🛠️ read (failed)"]


def test_messages_and_params_of_a_run() -> None:
    def classify(_input: Any, output: Any) -> None:
        output.message += " please"
        output.metadata["complexity"] = "high"

    def think(_input: Any, output: Any) -> None:
        output.think_level, output.model, output.temperature = "high", None, 0.2
        output.extras["seed"] = 7

    lines: list[str] = []
    engine = Engine(
        registry_of(classify=("message.before", classify), think=("params.before", think)),
        verbose="on",
        sinks=[lines.append],
    )
    run = engine.run(Context(agent_id="main"))
    run.message("hi")
    run.params(Params(model="m"))
    assert lines == [
        "📨 message.before · message mutated, metadata: complexity",
        "⚙️ params.before · model → unset, thinkLevel → high, temperature → 0.2, seed → 7",
    ]


def test_a_refused_message_names_its_agent() -> None:
    lines: list[str] = []
    engine = Engine(registry_of(gate=("message.before", block)), verbose="on", sinks=[lines.append])
    engine.run(Context(agent_id="research")).message("hi")
    assert lines == ['🛡️ gate · blocked research — "no"']


def test_a_block_is_announced_once_under_the_id_of_who_blocked() -> None:
    events: list[InterceptorEvent] = []
    registry = registry_of(first=("tool.before", block), second=("tool.before", block))
    registry.add(id="watching", name="tool.before", priority=9, mode="watch", handler=block)
    Engine(registry).run(on_event=[events.append]).run_tool(ToolCall("exec", {}), lambda _: None)
    assert [(e.interceptor_id, e.blocked) for e in events] == [("first", True)]


def test_a_denied_question_is_attributed_to_who_asked() -> None:
    def ask(_input: Any, output: Any) -> None:
        output.ask = "sure?"

    events: list[InterceptorEvent] = []
    run = Engine(registry_of(asker=("tool.before", ask))).run(on_event=[events.append])
    run.run_tool(ToolCall("exec", {}), lambda _: None)
    assert [(e.interceptor_id, e.blocked) for e in events] == [("asker", True)]


def test_a_failed_record_is_attributed_to_the_record_and_not_to_who_asked() -> None:
    class Full:
        def decided(self, _verdict: Any) -> None:
            raise OSError("disk full")

        def finished(self, _verdict: Any, _outcome: Any, _after: Any) -> None:
            pass

    events: list[InterceptorEvent] = []
    run = Engine(registry_of(style=("tool.before", rewrite)), recorder=Full()).run(on_event=[events.append])
    run.run_tool(ToolCall("exec", {"command": "ls"}), lambda _: None)
    assert [(e.interceptor_id, e.blocked) for e in events] == [("style", False), ("interpose:record", True)]


def test_listeners_of_concurrent_runs_in_threads_do_not_leak() -> None:
    engine = Engine(registry_of(guard=("tool.before", block)))
    barrier = threading.Barrier(8)
    heard: list[list[str]] = [[] for _ in range(8)]

    def agent(number: int) -> None:
        run = engine.run(on_event=[lambda e: heard[number].append(e.match_context)])
        barrier.wait()
        for _ in range(50):
            run.run_tool(ToolCall(f"tool{number}", {}), lambda _: None)

    threads = [threading.Thread(target=agent, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == [[f"tool{number}"] * 50 for number in range(8)]


def test_listeners_of_concurrent_runs_on_one_loop_do_not_leak() -> None:
    async def slow_block(_input: Any, output: Any) -> None:
        await asyncio.sleep(0)
        output.block = True

    engine = Engine(registry_of(guard=("tool.before", slow_block)))
    heard: list[list[str]] = [[] for _ in range(20)]

    async def agent(number: int) -> None:
        run = engine.run(on_event=[lambda e: heard[number].append(e.match_context)])
        for _ in range(5):
            await run.arun_tool(ToolCall(f"tool{number}", {}), lambda _: None)

    async def main() -> None:
        await asyncio.gather(*(agent(number) for number in range(20)))

    asyncio.run(main())
    assert heard == [[f"tool{number}"] * 5 for number in range(20)]


def test_the_terminal_sink_lets_nobody_steer_the_terminal() -> None:
    stream = io.StringIO()
    terminal_sink(stream)("🛠️ exec — echo \x1b[2J\u202egnp\r")
    assert stream.getvalue() == "🛠️ exec — echo \\x1b[2J\\u202egnp\\r\n"


def test_the_terminal_sink_writes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    terminal_sink()("🛡️ x · blocked")
    assert capsys.readouterr().err == "🛡️ x · blocked\n"


def test_the_logging_sink(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="interpose.status"):
        logging_sink()("100 % done")
        logging_sink(logging.getLogger("mine"), logging.WARNING)("to mine")
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("interpose.status", "INFO", "100 % done"),
        ("mine", "WARNING", "to mine"),
    ]


@pytest.mark.parametrize("name", ERRORS)
def test_a_failing_sink_or_listener_changes_nothing_and_stops_nobody(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_line: object) -> None:
        throw(name)

    lines: list[str] = []
    engine = Engine(registry_of(style=("tool.before", rewrite)), verbose="full", sinks=[fail, lines.append])
    done = engine.run(on_event=[fail]).run_tool(ToolCall("exec", {"command": "ls"}), lambda _: "result")
    assert done.response == "result"
    assert len(lines) == 2
    assert "a listener failed" in caplog.text


def test_a_result_that_can_not_be_shown_is_still_returned() -> None:
    class Unprintable:
        def __str__(self) -> str:
            raise SystemExit

    result = Unprintable()
    engine = Engine(create_interceptor_registry(), verbose="full", sinks=[print])
    assert engine.run_tool(ToolCall("exec", {}), lambda _: result) is result


def test_previews_are_one_line_of_a_hundred_characters() -> None:
    assert preview("a\n  b\tc") == "a b c"
    assert preview("é" * 101) == "é" * 100 + "..."
    assert preview("x" * 100) == "x" * 100


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (ToolCall("read", {"path": "a.txt"}), "🛠️ read — a.txt"),
        (ToolCall("web_fetch", {"url": "https://a"}), "🛠️ web_fetch — https://a"),
        (ToolCall("cron", {}), "🛠️ cron"),
    ],
)
def test_what_a_summary_shows_of_a_call(call: ToolCall, line: str) -> None:
    assert format_summary(ToolOutcome(call), "on") == line


def test_denied_in_a_class_is_shown_like_any_block() -> None:
    class Guard:
        def intercept(self, _call: ToolCall) -> Deny:
            return Deny("never")

    registry = create_interceptor_registry()
    registry.add(id="guard", name="tool.before", interceptor=Guard())
    assert lines_of(registry, "on") == ['🛡️ guard · blocked exec — "never"']


def test_status_lines_hold_no_secrets() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    padded = f"curl -H 'X: {'x' * 60}' -H 'Authorization: token {secret}' https://example.com"
    lines = lines_of(create_interceptor_registry(), "full", command=padded, result=f"token {secret}")
    assert lines
    assert not any(secret[:10] in line for line in lines)

    def blocks(_input: Any, output: Any) -> None:
        output.block, output.block_reason = True, f"no {secret}"

    assert not any(secret in line for line in lines_of(registry_of(b=("tool.before", blocks)), "on"))
