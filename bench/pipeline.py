"""What the pipeline itself costs: no-op interceptors, beside a bare call and the same chain in FastMCP and pluggy.

    python -m bench.pipeline

Everything is measured in one process of a temporary environment, in turns, so that a noisy machine is noisy for all.
With --smoke that is this process, without FastMCP.
"""

from __future__ import annotations

import argparse
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

from bench.checks import CheckFailedError, require, require_equal
from bench.command_line import make_parser, run_main
from bench.processes import run_checked

COUNTS = (1, 10, 20, 40)
ROUNDS, CALLS, IMPORTS = 12, 400, 15
PEERS = ("fastmcp", "pluggy", "msgspec")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        measure(ROUNDS * CALLS, {"FastMCP middleware": with_fastmcp})
    elif options.smoke:
        measure(3, {})
        import_time(1)
    else:
        measure_in_environment()
        import_time(IMPORTS)


def measure_in_environment() -> None:
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as place:
        python = f"{place}/venv/bin/python"
        run_checked([sys.executable, "-m", "venv", f"{place}/venv"])
        run_checked([python, "-m", "pip", "install", "--quiet", *PEERS])
        environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
        done = subprocess.run([python, "-m", "bench.pipeline", "--inside"], check=False, env=environment)
        require(done.returncode == 0, f"the measuring process ended with {done.returncode}")


Runner = Callable[[int], Callable[[], Any]]
"""Makes a call through so many interceptors."""


def measure(calls: int, more: dict[str, Runner]) -> None:
    runners: dict[str, Runner] = {
        "bare function call": bare,
        "interpose, class style": lambda count: ours(count, handlers=False),
        "interpose, handler style": lambda count: ours(count, handlers=True),
        "interpose, async": ours_async,
        "pluggy": with_pluggy,
        **more,
    }
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}, p50 in microseconds for one call\n")
    print(f"{'no-op interceptors':26}" + "".join(f"{count:>9}" for count in COUNTS) + f"{'each':>9}")
    for name, make in runners.items():
        p50 = [median_us(make(count), calls) for count in COUNTS]
        each = (p50[-1] - p50[0]) / (COUNTS[-1] - COUNTS[0])
        print(f"{name:26}" + "".join(f"{value:9.2f}" for value in p50) + f"{each:9.2f}")


def median_us(call: Callable[[], Any], calls: int) -> float:
    times = []
    for _ in range(calls):
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
    _require_all_ran(engine.decide(call), count)
    return lambda: engine.decide(call)


def _require_all_ran(verdict: Any, count: int) -> None:
    require_equal("the outcome of a no-op chain", verdict.outcome, "allow")
    require_equal("interceptors that failed", len(verdict.errors), 0)
    require_equal("interceptors that ran", len(verdict.timings), count)


def stepped(make: Callable[[], Awaitable[Any]]) -> Callable[[], Any]:
    """An async call as a running loop makes it, without the loop's own start and stop."""

    def run() -> Any:
        coroutine: Any = make()
        try:
            coroutine.send(None)
        except StopIteration as ended:
            return ended.value
        raise CheckFailedError("a no-op chain had to wait")

    return run


def ours_async(count: int) -> Callable[[], Any]:
    from interpose import ToolCall

    engine, call = _engine(count, handlers=False), ToolCall("exec", {"command": "ls -la"})
    run = stepped(lambda: engine.adecide(call))
    _require_all_ran(run(), count)
    return run


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
    require_equal("plugins of pluggy", len(manager.hook.before.get_hookimpls()), count)
    return lambda: manager.hook.before(call=call)


def with_fastmcp(count: int) -> Callable[[], Any]:
    from fastmcp.server.middleware import Middleware, MiddlewareContext
    from fastmcp.server.middleware.middleware import make_middleware_wrapper

    passed: list[Any] = []

    class NoOp(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            return await call_next(context)

    class Counting(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            passed.append(context)
            return await call_next(context)

    async def end(_context: Any) -> str:
        return "the end"

    middlewares: list[Middleware] = [Counting() for _ in range(count)]
    message = {"name": "exec", "arguments": {"command": "ls -la"}}

    async def run() -> Any:
        chain: Any = end
        for middleware in reversed(middlewares):  # FastMCP builds its chain anew for every message
            chain = make_middleware_wrapper(middleware, chain)
        return await chain(MiddlewareContext(message=message, method="tools/call"))

    step = stepped(run)
    require_equal("the result of FastMCP's chain", step(), "the end")
    require_equal("middlewares of FastMCP that ran", len(passed), count)
    middlewares[:] = [NoOp() for _ in range(count)]
    return step


def import_time(rounds: int) -> None:
    def p50(code: str) -> float:
        times = []
        for _ in range(rounds):
            start = perf_counter_ns()
            run_checked([sys.executable, "-c", code])
            times.append(perf_counter_ns() - start)
        return statistics.median(times) / 1e6

    nothing, package = p50("pass"), p50("import interpose")
    print(f"\nimport interpose: {package:.0f} ms, a bare interpreter {nothing:.0f} ms: {package - nothing:.0f} ms more")


if __name__ == "__main__":
    run_main(main)
