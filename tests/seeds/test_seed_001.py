"""The flow of seed 001: message.before -> params.before -> tool.before -> [tool] -> tool.after, with one bag."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpose import Context, Engine, InterceptorRegistry, Params, Run, ToolCall, create_interceptor_registry


@pytest.fixture
def trace() -> list[str]:
    return []


@pytest.fixture
def registry(trace: list[str]) -> InterceptorRegistry:
    registry = create_interceptor_registry()

    @registry.on("message.before", id="classify", agent_matcher="^research$")
    def classify(input: Any, output: Any) -> None:
        trace.append(f"message {input.agent_id} {output.message}")
        output.message = f"{output.message} (be thorough)"
        output.metadata["complexity"] = "high"

    @registry.on("params.before", id="think", agent_matcher="^research$")
    def think(input: Any, output: Any) -> None:
        trace.append(f"params {input.metadata['complexity']} {input.message}")
        if input.metadata["complexity"] == "high":
            output.think_level = "high"
            output.temperature = None

    @registry.on("tool.before", id="careful", tool_matcher="^exec$")
    def careful(input: Any, output: Any) -> None:
        trace.append(f"tool.before {input.metadata.get('complexity')}")
        if "rm" in output.args["command"]:
            output.block, output.block_reason = True, "rm is not allowed"

    @registry.on("tool.after", id="note")
    def note(input: Any, output: Any) -> None:
        trace.append(f"tool.after {input.metadata.get('complexity')} {input.denied}")

    return registry


def engine_of(registry: InterceptorRegistry, lines: list[str]) -> Engine:
    return Engine(registry, verbose="on", sinks=[lines.append])


EXPECTED = [
    "message research Explain TCP",
    "params high Explain TCP (be thorough)",
    "tool.before high",
    "tool",
    "tool.after high False",
    "tool.before high",
    "tool.after high True",
]
LINES = [
    "📨 message.before · message mutated, metadata: complexity",
    "⚙️ params.before · thinkLevel → high, temperature → unset",
    "🛠️ exec — ls",
    '🛡️ careful · blocked exec — "rm is not allowed"',
]


def new_run(registry: InterceptorRegistry, lines: list[str]) -> Run:
    return engine_of(registry, lines).run(Context.of_session_key("agent:research:main"))


def test_the_flow(registry: InterceptorRegistry, trace: list[str]) -> None:
    lines: list[str] = []
    run = new_run(registry, lines)
    assert run.message("Explain TCP").payload.text == "Explain TCP (be thorough)"
    params = run.params(Params(think_level="low", temperature=0.7)).payload
    assert (params.think_level, params.temperature) == ("high", None)
    done = run.run_tool(ToolCall("bash", {"command": "ls"}), lambda _: trace.append("tool"))
    assert done.verdict.allowed
    assert run.run_tool(ToolCall("bash", {"command": "rm x"}), lambda _: trace.append("tool")).outcome.denied
    assert trace == EXPECTED
    assert lines == LINES


def test_the_same_flow_for_async_callers(registry: InterceptorRegistry, trace: list[str]) -> None:
    lines: list[str] = []

    async def main() -> None:
        run = new_run(registry, lines)
        await run.amessage("Explain TCP")
        await run.aparams(Params(think_level="low", temperature=0.7))
        await run.arun_tool(ToolCall("bash", {"command": "ls"}), lambda _: trace.append("tool"))
        await run.arun_tool(ToolCall("bash", {"command": "rm x"}), lambda _: trace.append("tool"))

    asyncio.run(main())
    assert trace == EXPECTED
    assert lines == LINES


def test_another_agent_is_left_alone(registry: InterceptorRegistry, trace: list[str]) -> None:
    run = engine_of(registry, []).run(Context.of_session_key("agent:main:x"))
    assert run.message("Explain TCP").payload.text == "Explain TCP"
    assert run.params(Params(think_level="low")).payload.think_level == "low"
    assert trace == []


def test_a_second_run_starts_with_an_empty_bag(registry: InterceptorRegistry, trace: list[str]) -> None:
    new_run(registry, []).message("hi")
    new_run(registry, []).run_tool(ToolCall("exec", {"command": "ls"}), lambda _: None)
    assert trace[1:] == ["tool.before None", "tool.after None False"]
