"""Every registry example of seed 000 in its Python form."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from interpose import (
    KNOWN_TOOL_NAMES,
    Engine,
    InterceptorRegistry,
    MatcherError,
    ToolCall,
    create_interceptor_registry,
    get_global_interceptor_registry,
    initialize_global_interceptors,
    normalize_tool_name,
    reset_global_interceptors,
)


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    yield
    reset_global_interceptors()


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


def nothing(_input: Any, _output: Any) -> None:
    pass


def run(registry: InterceptorRegistry, tool: str, arguments: dict[str, Any], result: Any = "ok") -> Any:
    """What the agent gets. `result` may be a function of the arguments."""
    execute = result if callable(result) else lambda _: result
    return Engine(registry).run_tool(ToolCall(tool, arguments), execute)


KNOWN = {
    "read", "write", "edit", "apply_patch", "exec", "process", "memory_search", "memory_get", "web_search",
    "web_fetch", "sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status", "browser",
    "canvas", "cron", "gateway", "message", "nodes", "agents_list", "image", "tts",
}  # fmt: skip


def test_known_tool_names() -> None:
    assert set(KNOWN_TOOL_NAMES) >= KNOWN
    assert normalize_tool_name("bash") == "exec"
    assert normalize_tool_name("apply-patch") == "apply_patch"


def test_a_registration(registry: InterceptorRegistry) -> None:
    entry = registry.add(
        id="my-arg-injector", name="tool.before", priority=10, tool_matcher=re.compile(r"^exec$"), handler=nothing
    )
    assert (entry.id, entry.name, entry.priority) == ("my-arg-injector", "tool.before", 10)
    assert registry.add(id="second", name="tool.before", handler=nothing).priority == 0


def test_get_the_registry_and_register() -> None:
    assert get_global_interceptor_registry() is None
    initialize_global_interceptors()
    registry = get_global_interceptor_registry()
    assert registry is not None
    registry.add(id="my-plugin:log", name="tool.after", handler=nothing)
    assert registry.remove("my-plugin:log")


def test_redact_secrets(registry: InterceptorRegistry) -> None:
    @registry.on("tool.after", id="my-plugin:redact-secrets", priority=5)
    def redact(_input: Any, output: Any) -> None:
        if isinstance(output.result["output"], str):
            text = re.sub(r"sk-[a-zA-Z0-9]{20,}", "sk-***", output.result["output"])
            output.result = {**output.result, "output": text}

    original = {"output": "key=sk-abcdefghijklmnopqrstuvwx.", "code": 0}
    assert run(registry, "exec", {}, original) == {"output": "key=sk-***.", "code": 0}
    assert original["output"] == "key=sk-abcdefghijklmnopqrstuvwx."


def test_a_typo_in_the_matcher_raises_at_once(registry: InterceptorRegistry) -> None:
    with pytest.raises(MatcherError) as caught:
        registry.add(id="bad", name="tool.before", tool_matcher=r"^nonexistent_tool$", handler=nothing)
    text = str(caught.value)
    assert text.startswith('Interceptor "bad": tool_matcher /^nonexistent_tool$/ does not match any known tool name')
    assert all(name in text for name in KNOWN)


def test_block_a_tool(registry: InterceptorRegistry) -> None:
    @registry.on("tool.before", id="safety:no-rm-rf", priority=100, tool_matcher=r"^exec$")
    def no_rm_rf(_input: Any, output: Any) -> None:
        command = output.args.get("command")
        if isinstance(command, str) and "rm -rf" in command:
            output.block = True
            output.block_reason = "rm -rf is not allowed"

    blocked = {"status": "blocked", "tool": "exec", "reason": "rm -rf is not allowed"}
    assert run(registry, "exec", {"command": "rm -rf build"}) == blocked
    assert run(registry, "Bash", {"command": "rm -rf build"}) == blocked
    assert run(registry, "exec", {"command": "ls"}) == "ok"
    assert run(registry, "read", {"command": "rm -rf build"}) == "ok"
    assert run(registry, "exec", {"command": 5}) == "ok"


def test_inject_default_arguments(registry: InterceptorRegistry) -> None:
    @registry.on("tool.before", id="style:no-color", tool_matcher=r"^exec$")
    def no_color(_input: Any, output: Any) -> None:
        command = output.args.get("command", "")
        if "--color" not in command:
            output.args = {**output.args, "command": f"{command} --color=never"}

    given = {"command": "ls", "timeout": 5}
    assert run(registry, "exec", given, lambda args: args) == {"command": "ls --color=never", "timeout": 5}
    assert given == {"command": "ls", "timeout": 5}
    assert run(registry, "exec", {"command": "ls --color"}, lambda args: args) == {"command": "ls --color"}


def test_log_every_tool_call(registry: InterceptorRegistry) -> None:
    log: list[str] = []

    @registry.on("tool.before", id="audit:log-tools", priority=-10)
    def log_tools(input: Any, output: Any) -> None:
        log.append(f"[audit] tool={input.tool_name} callId={input.tool_call_id} args={json.dumps(output.args)}")

    registry.add(id="late", name="tool.before", handler=lambda _i, o: o.args.update(command="pwd"))
    Engine(registry).run_tool(ToolCall("Bash", {"command": "ls"}, "call-1"), lambda _: None)
    registry.add(id="block", name="tool.before", handler=lambda _i, o: setattr(o, "block", True))
    Engine(registry).run_tool(ToolCall("Bash", {"command": "ls"}, "call-2"), lambda _: None)
    assert log == [
        '[audit] tool=exec callId=call-1 args={"command": "pwd"}',
        '[audit] tool=exec callId=call-2 args={"command": "pwd"}',
    ]


def test_strip_ansi(registry: InterceptorRegistry) -> None:
    ansi = re.compile(r"\x1b\[[0-9;]*m")

    @registry.on("tool.after", id="clean:strip-ansi")
    def strip(_input: Any, output: Any) -> None:
        if isinstance(output.result.get("output"), str):
            output.result["output"] = ansi.sub("", output.result["output"])

    assert run(registry, "exec", {}, {"output": "\x1b[1;31mred\x1b[0m"}) == {"output": "red"}
    assert run(registry, "exec", {}, {"output": None}) == {"output": None}


def test_an_async_interceptor(registry: InterceptorRegistry) -> None:
    order: list[str] = []

    async def fetch_page_metadata(url: str) -> dict[str, str]:
        await asyncio.sleep(0)
        return {"title": f"page of {url}"}

    @registry.on("tool.after", id="enrich:fetch-metadata", tool_matcher=r"^web_search$", priority=5)
    async def enrich(_input: Any, output: Any) -> None:
        details = output.result["details"]
        if details.get("url"):
            meta = await fetch_page_metadata(details["url"])
            output.result = {**output.result, "details": {**details, "meta": meta}}
        order.append("enrich")

    registry.add(id="after", name="tool.after", handler=lambda _i, _o: order.append("after"))
    expected = {"details": {"url": "https://a", "meta": {"title": "page of https://a"}}}
    assert run(registry, "web_search", {}, {"details": {"url": "https://a"}}) == expected
    call = ToolCall("WebSearch", {})
    assert asyncio.run(Engine(registry).arun_tool(call, lambda _: {"details": {"url": "https://a"}})) == expected
    assert order == ["enrich", "after"] * 2


def test_an_error_reaches_tool_after(registry: InterceptorRegistry) -> None:
    seen: list[tuple[str, str, bool]] = []

    @registry.on("tool.after", id="seen")
    def see(input: Any, output: Any) -> None:
        seen.append((input.tool_name, input.tool_call_id, input.is_error))
        output.result = {**output.result, "hint": "try again"}

    def fail(_arguments: Any) -> None:
        raise OSError("no disk")

    answer = Engine(registry).run_tool(ToolCall("exec", {}, "id"), fail)
    assert answer == {"status": "error", "tool": "exec", "error": "no disk", "hint": "try again"}
    assert seen == [("exec", "id", True)]


def test_priorities(registry: InterceptorRegistry) -> None:
    order: list[str] = []
    for id, priority in [("logging", -10), ("general", 0), ("transform", 50), ("gate", 100), ("general-2", 0)]:
        registry.add(
            id=id,
            name="tool.before",
            priority=priority,
            handler=lambda _i, _o, id=id: order.append(id),  # type: ignore[misc]
        )
    run(registry, "exec", {})
    assert order == ["gate", "transform", "general", "general-2", "logging"]


@pytest.mark.parametrize(
    ("matcher", "tools"),
    [
        (r"^exec$", {"exec"}),
        (r"^web", {"web_search", "web_fetch"}),
        (r"^(read|write)$", {"read", "write"}),
        (None, set(KNOWN_TOOL_NAMES)),
    ],
)
def test_tool_matching(registry: InterceptorRegistry, matcher: str | None, tools: set[str]) -> None:
    registry.add(id="x", name="tool.before", tool_matcher=matcher, handler=nothing)
    assert {name for name in KNOWN_TOOL_NAMES if registry.get("tool.before", name)} == tools


def test_tools_of_plugins_are_intercepted_by_a_catch_all_or_none_at_all(registry: InterceptorRegistry) -> None:
    registry.add(id="all", name="tool.before", tool_matcher=r".*", handler=lambda _i, o: setattr(o, "block", True))
    assert run(registry, "my_plugin_tool", {})["status"] == "blocked"


def test_the_registry_api(registry: InterceptorRegistry) -> None:
    registry.add(id="a", name="tool.before", tool_matcher=r"^exec$", handler=nothing)
    registry.add(id="b", name="tool.before", priority=5, handler=nothing)
    registry.add(id="c", name="tool.after", handler=nothing)
    assert [entry.id for entry in registry.get("tool.before")] == ["b", "a"]
    assert [entry.id for entry in registry.get("tool.before", "read")] == ["b"]
    assert [entry.id for entry in registry.list()] == ["a", "b", "c"]
    registry.remove("b")
    assert [entry.id for entry in registry.list()] == ["a", "c"]
    registry.clear()
    assert registry.list() == ()


def test_the_global_registry() -> None:
    registry = initialize_global_interceptors()
    assert initialize_global_interceptors() is registry
    assert get_global_interceptor_registry() is registry
    assert {entry.id: entry.priority for entry in registry.list()}.items() >= {
        ("builtin:command-safety-guard", 100),
        ("builtin:security-audit", 99),
    }
    reset_global_interceptors()
    assert get_global_interceptor_registry() is None
