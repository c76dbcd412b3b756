"""What one decision costs with every built-in guard switched on: new short commands, and commands seen before.

python -m bench.all_guards [--by-guard]

The audit log makes a record for each call, which a handler drops. Beside it: a bare call, and the engine without
interceptors.
"""

from __future__ import annotations

import logging
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter_ns
from typing import Any

from bench.check_speed import ROUNDS, SHORT, SMOKE_ROUNDS, short_commands
from bench.checks import require_equal, require_verdicts
from bench.command_line import make_parser, run_main
from interpose import Context, Engine, ToolCall, add_builtin_interceptors, create_interceptor_registry
from interpose.rules.guards import AuditLog, ConditionalPermission, FileSecurity, InputLimits, Metrics, PathSandbox

NEW_LIMIT, SEEN_LIMIT = 200, 15
FILES = ["src/module_{n}.py", "docs/page-{n}.md", "package.json", "tests/unit/test_{n}.py"]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--by-guard", action="store_true", help="which guard takes how much of it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        rounds = SMOKE_ROUNDS if options.smoke else ROUNDS
        measure(os.path.realpath(place), rounds, by_guard=options.by_guard or options.smoke)


def measure(place: str, rounds: int, *, by_guard: bool) -> None:
    context = Context(cwd=place, agent_id="main")
    texts = short_commands(rounds)
    commands = [ToolCall("Bash", {"command": text}, f"call-{n}", context) for n, text in enumerate(texts)]
    names = dict.fromkeys(shape.replace("{n}", str(n)) for n in range(rounds) for shape in FILES)
    reads = [ToolCall("Read", {"file_path": name}, f"read-{n}", context) for n, name in enumerate(names)]
    empty, full = Engine(create_interceptor_registry()), all_guards(place)
    for call in (*commands[: len(SHORT)], *reads[: len(FILES)]):
        full.decide(call)
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}, p50 of one decision in microseconds\n")
    print(f"{'':40} {'new':>8} {'seen':>8}")
    line("bare function call", bare, commands)
    allowed = ["allow"] * 2 * len(commands)
    require_verdicts("no interceptors", line("engine without interceptors, command", empty.decide, commands), allowed)
    # The permission that is configured below asks about publishing, too.
    outcomes = ["ask" if text.startswith("git push") else outcome for text, outcome in texts.items()]
    said = line(f"all guards, command (at most {NEW_LIMIT}, {SEEN_LIMIT})", full.decide, commands[len(SHORT) :])
    require_verdicts("all guards", said, outcomes[len(SHORT) :] * 2)
    said = line("all guards, file", full.decide, reads[len(FILES) :])
    require_verdicts("all guards, file", said, ["allow"] * len(said))
    outside = full.decide(ToolCall("Read", {"file_path": "/etc/hosts"}, "outside", context))
    require_equal("reading outside of the sandbox", outside.outcome, "deny")
    if by_guard:
        shares(full, commands)


def all_guards(place: str) -> Engine:
    """The guards that are on by default, secret redaction of results among them, and the six that are configured."""
    registry = add_builtin_interceptors(create_interceptor_registry())
    log = logging.getLogger("bench.audit")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(logging.NullHandler())
    permission = (
        ConditionalPermission.builder().add_pattern("drop table").add_pattern("deploy").add_pattern("shutdown")
        .on_effect("fs.delete", recursive=True).on_effect("vcs.publish").build()
    )  # fmt: skip
    for priority, tools, guard in (
        (90, None, InputLimits(100_000)),
        (80, "^(read|write|edit|apply_patch|grep|list|glob)$", PathSandbox((place,))),
        (70, "^(write|edit|apply_patch)$", FileSecurity(("/etc", "/usr"))),
        (60, None, permission),
        (-10, None, AuditLog(logger=log)),
        (-20, None, Metrics()),
    ):
        registry.add(
            id=guard.id, name="tool.before", priority=priority, tool_matcher=tools, interceptor=guard,
            guard=priority > 0,
        )  # fmt: skip
    return Engine(registry)


def bare(call: ToolCall) -> ToolCall:
    return call


def line(name: str, decide: Callable[[ToolCall], Any], calls: list[ToolCall]) -> list[Any]:
    """Print how long the calls take when they are new and when they were seen. What was decided, in this order."""
    said: list[Any] = []
    new = p50(decide, calls, said)
    print(f"{name:40} {new:8.1f} {p50(decide, calls, said):8.1f}")
    return said


def p50(decide: Callable[[ToolCall], Any], calls: list[ToolCall], said: list[Any]) -> float:
    spent = []
    for call in calls:
        start = perf_counter_ns()
        verdict = decide(call)
        spent.append(perf_counter_ns() - start)
        said.append(verdict)
    return statistics.median(spent) / 1000


def shares(engine: Engine, calls: list[ToolCall]) -> None:
    """The time of each interceptor that decides, on commands seen before. Observers are in the total alone."""
    spent: dict[str, list[int]] = {}
    for call in calls:
        for guard, elapsed in engine.decide(call).timings:
            spent.setdefault(guard, []).append(elapsed)
    print()
    for guard, times in spent.items():
        require_equal(f"calls that {guard} decided", len(times), len(calls))
        print(f"{guard:40} {'':8} {statistics.median(times) / 1000:8.1f}")


if __name__ == "__main__":
    run_main(main)
