"""One decision in process, p50 and p99 of many mixed calls: commands, file tools and tools of MCP servers.

python -m bench.mixed_calls [CALLS]

The engine is the one that is shipped, with 50 rules of a user and without a ledger. One call in five has words of its
own, the others come again. Time is processor time of the thread, so other work on the machine counts
little. A verdict that is not the expected one fails the benchmark.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.checks import require_equal, require_present, require_verdicts
from bench.command_line import make_parser, run_main
from interpose import Context, Engine, ToolCall, open_engine

CALLS, SMOKE_CALLS = 100_000, 500
RULES = 50
PLACE = "/workspace/project"
DENIED, ASKED, ALLOWED = "deny", "ask", "allow"

MIX: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("exec", {"command": "git status"}, ALLOWED),
    ("exec", {"command": "git diff HEAD~{n} -- src"}, ALLOWED),
    ("exec", {"command": "python3 -m pytest tests/test_{n}.py -x | tail -{n}"}, ALLOWED),
    ("exec", {"command": "cd packages/p{n} && npm run build && ls -la dist"}, ALLOWED),
    ("exec", {"command": "for f in a b c; do wc -l src/$f{n}.py; done"}, ALLOWED),
    ("exec", {"command": "rm -rf build{n}"}, ASKED),
    ("exec", {"command": "rm -rf /usr/lib{n} /usr"}, DENIED),
    ("read", {"path": "src/module_{n}.py"}, ALLOWED),
    ("write", {"path": "src/module_{n}.py", "content": "value = {n}\n" * 40}, ALLOWED),
    ("mcp__tracker__create_issue", {"title": "Problem {n}", "body": "It fails in line {n}. " * 10}, ALLOWED),
)
"""Tools, arguments, and the outcome of each."""


def write_rules(place: Path) -> None:
    """Rules that look at every command and match none of these."""
    rules = "".join(
        f"  - id: bench-{number}\n    on: {{tools: [exec]}}\n    action: deny\n"
        f"    when: command.exists(c, c.name == 'absent-{number}')\n"
        for number in range(RULES)
    )
    place.mkdir(parents=True)
    file = place / "bench.yaml"
    file.write_text(f"version: 1\nrules:\n{rules}", encoding="utf-8")
    file.chmod(0o600)


def make_calls(count: int) -> list[tuple[ToolCall, str]]:
    """Mixed calls with their outcomes, in an order that is always the same."""
    rng = random.Random(1)
    calls = []
    for number in range(count):
        tool, arguments, outcome = MIX[number % len(MIX)]
        n = str(number if rng.random() < 0.2 else number % 40)
        filled = {name: value.replace("{n}", n) for name, value in arguments.items()}
        calls.append((ToolCall(tool, filled, "bench", Context(cwd=PLACE)), outcome))
    rng.shuffle(calls)
    return calls


def require_rules(engine: Engine) -> None:
    """The rules are the engine's: a directory that nothing reads would make it faster than it is."""
    verdict = engine.decide(ToolCall("exec", {"command": f"absent-{RULES - 1}"}, "bench", Context(cwd=PLACE)))
    decided_by = require_present(verdict.decided_by, f"no rule decided: {verdict.outcome}")
    require_equal("the rule that decides", decided_by.rule, f"bench-{RULES - 1}")


def measure(engine: Engine, calls: list[tuple[ToolCall, str]]) -> list[int]:
    """Nanoseconds of each decision. Each must have the outcome that its call is listed with."""
    spent, verdicts = [], []
    for call, _ in calls:
        start = time.thread_time_ns()
        verdict = engine.decide(call)
        spent.append(time.thread_time_ns() - start)
        verdicts.append(verdict)
    require_verdicts("mixed calls", verdicts, [outcome for _, outcome in calls])
    return spent


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("calls", type=int, nargs="?", default=CALLS)
    options = parser.parse_args()
    count = SMOKE_CALLS if options.smoke else options.calls
    with tempfile.TemporaryDirectory() as home:
        config = Path(home, ".config", "interpose")
        os.environ.update(HOME=home, XDG_CONFIG_HOME=str(config.parent), XDG_STATE_HOME=f"{home}/state")
        write_rules(config / "policy")
        engine = open_engine()
        require_rules(engine)
        measure(engine, make_calls(len(MIX)))
        spent = measure(engine, make_calls(count))
    p50, p99 = statistics.median(spent) / 1e6, statistics.quantiles(spent, n=100)[98] / 1e6
    print(f"{datetime.now(UTC):%Y-%m-%d}, {len(spent):,} calls, {RULES} rules beside the shipped ones")
    print(f"p50 {p50:.3f} ms, p99 {p99:.3f} ms of processor time")


if __name__ == "__main__":
    run_main(main)
