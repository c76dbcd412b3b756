"""What an adapter adds to a tool call that does nothing, per framework, beside the framework alone.

    python -m bench.frameworks [NAME ...]

A scripted model makes many calls in one turn, each way of deciding in turns, so that a noisy machine is noisy for all.
What a run costs besides its calls is taken off: it is measured with a single call. The best of all rounds counts.
Environments are those of `scripts/frameworks`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter_ns
from typing import Any

ROUNDS, CALLS = 15, 100
SLOW = {"claude_agent_sdk": (4, 100)}
"""Frameworks whose every run starts a program: rounds and calls."""

HEADS = (f"{'no rules':>10}", f"{'all rules':>11}", f"{'ledger':>9}")

Options = dict[str, Any] | None


def main() -> None:
    if "--inside" in sys.argv:
        measure(sys.argv[-1])
        return
    from tests.frameworks.environments import python_of
    from tests.frameworks.known import KNOWN, ROOT

    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}, microseconds for one call, best of many\n")
    print(f"{'framework':20}{'alone':>9}" + "".join(f"{head}{'ratio':>7}" for head in HEADS))
    places = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    for known in KNOWN:
        if known.name in (sys.argv[1:] or [known.name]):
            inside = ("-W", "ignore", "-m", "bench.frameworks", "--inside", known.name)
            command = [str(python_of(known.environment)), *inside]
            subprocess.run(command, check=True, env={**os.environ, **places}, cwd=ROOT, stderr=subprocess.DEVNULL)


def measure(name: str) -> None:
    from tests.frameworks.known import KNOWN

    known = next(one for one in KNOWN if one.name == name)
    driver = known.driver()
    mode = "sync" if "sync" in driver.modes else "async"
    rounds, calls = SLOW.get(name, (ROUNDS, CALLS))
    with deciders() as ways:
        times: dict[tuple[str, int], list[float]] = {}
        for _ in range(rounds):
            for way, options in ways.items():
                for count in (1, calls + 1):
                    times.setdefault((way, count), []).append(timed(driver, mode, options, count))
        each = {way: (min(times[way, calls + 1]) - min(times[way, 1])) / calls / 1000 for way in ways}
    alone = each["alone"]
    wide = (("none", 10), ("all", 11), ("ledger", 9))
    print(
        f"{name:20}{alone:>9.0f}" + "".join(f"{each[way]:>{width}.0f}{each[way] / alone:>6.1f}x" for way, width in wide)
    )


@contextmanager
def deciders() -> Iterator[dict[str, Options]]:
    """Nobody; an engine that has one interceptor that does nothing; the whole engine; the same with a ledger."""
    from interpose import Allow, Engine, create_interceptor_registry, open_engine
    from interpose.build import open_service
    from tests.servers import config_in

    class Nothing:
        def intercept(self, _call: Any) -> Allow:
            return Allow()

    registry = create_interceptor_registry()
    registry.add(id="nothing", name="tool.before", interceptor=Nothing())
    with tempfile.TemporaryDirectory() as place:
        config = config_in(Path(place))
        with open_service(config, follow=False) as service:
            yield {
                "alone": None,
                "none": {"engine": Engine(registry)},
                "all": {"engine": open_engine(config)},
                "ledger": {"engine": service},
            }


def timed(driver: Any, mode: Any, options: Options, count: int) -> float:
    from tests.frameworks.playing import NoteTool, Script

    tool = NoteTool(lambda _text: "noted")
    script = Script(calls=tuple(f"milk {n}" for n in range(count)), options=options, mode=mode, tool=tool)
    play: Callable[[Any], Any] = driver.play
    start = perf_counter_ns()
    played = play(script)
    took = perf_counter_ns() - start
    assert played.error is None, played.error
    assert len(tool.ran) == count
    return took


if __name__ == "__main__":
    main()
