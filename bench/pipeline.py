"""What the pipeline itself costs: no-op interceptors, beside a bare call and the same chain in FastMCP and pluggy.

    python -m bench.pipeline

Everything is measured in one process of a temporary environment, in turns, so that a noisy machine is noisy for all.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter_ns
from typing import Any

COUNTS = (1, 10, 20, 40)
ROUNDS, CALLS = 12, 400
PEERS = ("fastmcp", "pluggy", "msgspec")


def main() -> None:
    if "--inside" in sys.argv:
        measure()
        return
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as place:
        python = f"{place}/venv/bin/python"
        subprocess.run([sys.executable, "-m", "venv", f"{place}/venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True, stderr=subprocess.DEVNULL)
        environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
        subprocess.run([python, "-m", "bench.pipeline", "--inside"], check=True, env=environment)
    import_time()


def measure() -> None:
    runners: dict[str, Callable[[int], Callable[[], Any]]] = {
        "bare function call": bare,
        "interpose, class style": lambda count: ours(count, handlers=False),
        "interpose, handler style": lambda count: ours(count, handlers=True),
        "interpose, async": ours_async,
        "pluggy": with_pluggy,
        "FastMCP middleware": with_fastmcp,
    }
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}, p50 in microseconds for one call\n")
    print(f"{'no-op interceptors':26}" + "".join(f"{count:>9}" for count in COUNTS) + f"{'each':>9}")
    for name, make in runners.items():
        p50 = [median_us(make(count)) for count in COUNTS]
        each = (p50[-1] - p50[0]) / (COUNTS[-1] - COUNTS[0])
        print(f"{name:26}" + "".join(f"{value:9.2f}" for value in p50) + f"{each:9.2f}")


def median_us(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(ROUNDS):
        for _ in range(CALLS):
            start = perf_counter_ns()
            call()
            times.append(perf_counter_ns() - start)
    return statistics.median(times) / 1000


def bare(count: int) -> Callable[[], Any]:
    functions = [lambda _call: None for _ in range(count)]
    call = {"command": "ls -la"}

    def run() -> None:
        for function in functions:
            function(call)

    return run


def _engine(count: int, *, handlers: bool) -> Any:
    from interpose import Allow, Engine, create_interceptor_registry

    allow = Allow()

    class NoOp:
        def intercept(self, _call: Any) -> Allow:
            return allow

    registry = create_interceptor_registry()
    for number in range(count):
        style: dict[str, Any] = {"handler": lambda _i, _o: None} if handlers else {"interceptor": NoOp()}
        registry.add(id=f"no-op-{number}", name="tool.before", **style)
    return Engine(registry)


def ours(count: int, *, handlers: bool) -> Callable[[], Any]:
    from interpose import ToolCall

    engine, call = _engine(count, handlers=handlers), ToolCall("exec", {"command": "ls -la"})
    return lambda: engine.decide(call)


def stepped(make: Callable[[], Awaitable[Any]]) -> Callable[[], Any]:
    """An async call as a running loop makes it, without the loop's own start and stop."""

    def run() -> None:
        coroutine: Any = make()
        try:
            coroutine.send(None)
        except StopIteration:
            return
        raise RuntimeError("a no-op chain had to wait")

    return run


def ours_async(count: int) -> Callable[[], Any]:
    from interpose import ToolCall

    engine, call = _engine(count, handlers=False), ToolCall("exec", {"command": "ls -la"})
    return stepped(lambda: engine.adecide(call))


def with_pluggy(count: int) -> Callable[[], Any]:
    import pluggy

    spec, impl = pluggy.HookspecMarker("bench"), pluggy.HookimplMarker("bench")

    class Spec:
        @spec
        def before(self, call: Any) -> Any: ...

    class NoOp:
        @impl
        def before(self, call: Any) -> Any:  # noqa: ARG002 - pluggy passes by name
            return None

    manager = pluggy.PluginManager("bench")
    manager.add_hookspecs(Spec)
    for _ in range(count):
        manager.register(NoOp())
    call = {"command": "ls -la"}
    return lambda: manager.hook.before(call=call)


def with_fastmcp(count: int) -> Callable[[], Any]:
    from fastmcp.server.middleware import Middleware, MiddlewareContext
    from fastmcp.server.middleware.middleware import make_middleware_wrapper

    class NoOp(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            return await call_next(context)

    async def end(_context: Any) -> None:
        return None

    middlewares = [NoOp() for _ in range(count)]
    message = {"name": "exec", "arguments": {"command": "ls -la"}}

    async def run() -> None:
        chain: Any = end
        for middleware in reversed(middlewares):  # FastMCP builds its chain anew for every message
            chain = make_middleware_wrapper(middleware, chain)
        await chain(MiddlewareContext(message=message, method="tools/call"))

    return stepped(run)


def import_time() -> None:
    def p50(code: str) -> float:
        times = []
        for _ in range(15):
            start = perf_counter_ns()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(perf_counter_ns() - start)
        return statistics.median(times) / 1e6

    nothing, package = p50("pass"), p50("import interpose")
    print(f"\nimport interpose: {package:.0f} ms, a bare interpreter {nothing:.0f} ms: {package - nothing:.0f} ms more")


if __name__ == "__main__":
    main()
