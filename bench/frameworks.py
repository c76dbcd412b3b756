"""What an adapter adds to a tool call that does nothing, per framework, beside the framework alone.

    python -m bench.frameworks [NAME ...]

A scripted model makes many calls in one turn, each way of deciding in turns, so that a noisy machine is noisy for all.
What a run costs besides its calls is taken off: it is measured with a single call. The best of all rounds counts.
Environments are those of `scripts/frameworks`; with --smoke, the frameworks that are in this one. Every call must reach
its tool and bring back its result, every guarded call must be decided, and in the ledger it must be recorded.
"""

from __future__ import annotations

import argparse
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

from bench.checks import CheckFailedError, require, require_equal, require_ledger
from bench.command_line import make_parser, run_main

ROUNDS, CALLS = 15, 100
SMOKE = 1, 2
SLOW = {"claude_agent_sdk": (4, 100)}
"""Frameworks whose every run starts a program: rounds and calls."""

HEADS = (f"{'no rules':>10}", f"{'all rules':>11}", f"{'ledger':>9}")

Options = dict[str, Any] | None


def main() -> None:
    from tests.frameworks.known import KNOWN

    names = [known.name for known in KNOWN]
    parser = make_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.names:
        if name not in names:
            parser.error(f"there is no framework {name}. There are: {', '.join(names)}")
    if options.inside:
        measure(options.names[0], *SLOW.get(options.names[0], (ROUNDS, CALLS)))
        return
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}, microseconds for one call, best of many\n")
    print(f"{'framework':20}{'alone':>9}" + "".join(f"{head}{'ratio':>7}" for head in HEADS))
    if options.smoke:
        here = [known.name for known in KNOWN if known.is_here]
        require(bool(here), "no framework is in this environment")
        for name in here:
            measure(name, *SMOKE)
        return
    for name in options.names or names:
        measure_in_environment(name)


def measure_in_environment(name: str) -> None:
    from tests.frameworks.environments import NoEnvironmentError, python_of
    from tests.frameworks.known import KNOWN, ROOT

    known = next(one for one in KNOWN if one.name == name)
    try:
        python = str(python_of(known.environment))
    except NoEnvironmentError as error:
        raise CheckFailedError(f"{name}: {error}") from error
    places = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    command = [python, "-W", "ignore", "-m", "bench.frameworks", "--inside", name]
    done = subprocess.run(
        command, check=False, env={**os.environ, **places}, cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    require(done.returncode == 0, f"{name} ended with {done.returncode}: {said}")


def measure(name: str, rounds: int, calls: int) -> None:
    from tests.frameworks.known import KNOWN

    known = next(one for one in KNOWN if one.name == name)
    driver = known.driver()
    mode = "sync" if "sync" in driver.modes else "async"
    with deciders(rounds * (calls + 2)) as ways:
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
def deciders(expected: int) -> Iterator[dict[str, Options]]:
    """None; an engine that has one interceptor that does nothing; the whole engine; the same with a ledger.

    Each must decide as many calls as are expected.
    """
    from interpose import Allow, Engine, create_interceptor_registry, open_engine
    from interpose.composition.build import open_service
    from tests.support.servers.servers import config_in

    decided: list[None] = []

    class Nothing:
        def intercept(self, _call: Any) -> Allow:
            decided.append(None)
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
        require_equal("calls that an engine without rules decided", len(decided), expected)
        require_ledger(Path(place, "ledger"), {"allow": expected})


def timed(driver: Any, mode: Any, options: Options, count: int) -> float:
    from tests.frameworks.playing import NoteTool, Script

    tool = NoteTool(lambda _text: "noted")
    script = Script(calls=tuple(f"milk {n}" for n in range(count)), options=options, mode=mode, tool=tool)
    play: Callable[[Any], Any] = driver.play
    start = perf_counter_ns()
    played = play(script)
    took = perf_counter_ns() - start
    require(played.error is None, f"the run failed: {played.error!r}")
    require_equal("texts that reached the tool", sorted(tool.ran), sorted(script.calls))
    require(len(played.seen) == count and all("noted" in seen for seen in played.seen), f"results: {played.seen[:3]}")
    return took


if __name__ == "__main__":
    run_main(main)
