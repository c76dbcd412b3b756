"""What a policy costs: 50 CEL rules of which five apply to the tool, beside other CEL engines on the same five rules.

    python -m bench.policy

Ours is the whole decision of the policy interceptor: choosing the rules, the variables of a new call, five conditions,
and the report. The peers get their rules compiled, their variables ready as far as that is possible, and evaluate. All
of them must say the same about every case, and about calls on which each of the rules fires.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from bench.checks import require, require_equal
from bench.command_line import make_parser, run_main
from bench.processes import run_checked

PEERS = ("cel-python", "common-expression-language", "cel-expr-python==0.1.3", "msgspec", "google-re2", "PyYAML")
OURS = ("tree-sitter", "tree-sitter-javascript", "sqlglot")
ROUNDS, CALLS = 10, 60
RULES = (
    'has(args.target) && args.target.startsWith("prod-") && tool != "deploy"',
    'has(args.image) && args.image.matches("^(docker|ghcr)[.]io/[a-z]+/.*:latest$")',
    "has(args.replicas) && args.replicas > 50 && args.replicas < 10000",
    'has(args.labels) && args.labels.exists(l, l == "critical" || l.endsWith("-pii"))',
    'has(args.text) && (args.text.contains("BEGIN PRIVATE KEY") || args.text.matches("password *= *[a-z]+"))',
)
SMALL = {
    "target": "staging-eu", "image": "docker.io/acme/shop:1.4.2", "replicas": 3,
    "labels": ["team-a", "shop", "eu", "blue"], "text": "x" * 800,
}  # fmt: skip
LONG = "lorem ipsum " * 8_500
CASES: dict[str, dict[str, Any]] = {
    "1 KB of arguments": SMALL,
    "+ 100 KB text, untouched": {**SMALL, "blob": LONG},
    "+ 100 KB structure, untouched": {**SMALL, "blob": [{"id": n, "name": "x" * 30} for n in range(2000)]},
    "100 KB text, read by a rule": {**SMALL, "text": LONG},
}
FIRING: tuple[dict[str, Any], ...] = (
    {**SMALL, "target": "prod-eu"},
    {**SMALL, "image": "ghcr.io/acme/shop:latest"},
    {**SMALL, "replicas": 60},
    {**SMALL, "labels": ["critical"]},
    {**SMALL, "text": "password = hunter"},
)
"""Arguments on which one of the rules fires, in the order of the rules. The first needs another tool than `deploy`."""

Make = Callable[[dict[str, Any]], Callable[[], Any]]
"""Makes the decision about some arguments. What it gives is for `which_fired`."""
Engines = dict[str, Make]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    ours_alone: Engines = {"interpose": ours, "cel-expr-python (C++)": with_cel_expr}
    if options.inside:
        others: Engines = {"common-expression-language (Rust)": with_common, "cel-python (Python)": with_celpy}
        measure(ours_alone | others, ROUNDS * CALLS)
    elif options.smoke:
        measure(ours_alone, 3)
    else:
        measure_in_environment()


def measure_in_environment() -> None:
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as place:
        python = f"{place}/venv/bin/python"
        run_checked([sys.executable, "-m", "venv", f"{place}/venv"])
        run_checked([python, "-m", "pip", "install", "--quiet", *PEERS, *OURS])
        environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
        done = subprocess.run([python, "-m", "bench.policy", "--inside"], check=False, env=environment)
        require(done.returncode == 0, f"the measuring process ended with {done.returncode}")


def measure(engines: Engines, calls: int) -> None:
    for name, make in engines.items():
        require_right(name, make)
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}, p50 in microseconds for one decision\n")
    print(f"{'':34}" + "".join(f"{name:>32}" for name in CASES))
    for name, make in engines.items():
        print(f"{name:34}" + "".join(f"{median_us(make(args), calls):32.1f}" for args in CASES.values()))
    print(f"\nexec with five rules on effects, the command analysed before: {median_us(on_effects(), calls):.1f}")


def which_fired(said: Any) -> list[bool]:
    """Of each rule. Peers say so; ours reports its decisions."""
    if isinstance(said, list):
        return [bool(fired) for fired in said]
    rules = {decision.rule for decision in said.decisions}
    return [f"r{number}" in rules for number in range(len(RULES))]


def require_right(name: str, make: Make) -> None:
    """No rule fires on what is measured, and each of them can fire."""
    for case, args in CASES.items():
        require_equal(f"{name}, {case}", which_fired(make(args)()), [False] * len(RULES))
    for number, args in enumerate(FIRING):
        fires = number > 0  # the first does not, on this tool
        require_equal(
            f"{name}, on {args}", which_fired(make(args)()), [fires and number == rule for rule in range(len(RULES))]
        )


def median_us(call: Callable[[], Any], calls: int) -> float:
    call()
    times = []
    for _ in range(calls):
        start = perf_counter_ns()
        call()
        times.append(perf_counter_ns() - start)
    return statistics.median(times) / 1000


def _interceptor(tool: str, rules: tuple[str, ...]) -> Any:
    from interpose.rules.policy.interceptor import PolicyInterceptor
    from interpose.rules.policy.load import load_text

    lines = [f"  - {{id: r{n}, on: {{tools: [{tool}]}}, action: deny, when: '{rule}'}}" for n, rule in enumerate(rules)]
    lines += [
        f"  - {{id: other{n}, on: {{tools: [tool-{n}]}}, action: deny, when: '{RULES[n % 5]}'}}" for n in range(45)
    ]
    return PolicyInterceptor(load_text("version: 1\nrules:\n" + "\n".join(lines)))


def ours(args: dict[str, Any]) -> Callable[[], Any]:
    from interpose.core.types import ToolCall, freeze

    interceptor, frozen = _interceptor("deploy", RULES), freeze(args)
    return lambda: interceptor.intercept(ToolCall("deploy", frozen, "id"))


def on_effects() -> Callable[[], Any]:
    from interpose.core.types import ToolCall, freeze

    rules = tuple(
        f'effects.exists(e, e.kind == "{kind}" && e.certainty == "proven" && !e.recoverable)'
        for kind in ("fs.delete", "net.upload", "vcs.discard", "data.destroy", "infra.destroy")
    )
    interceptor = _interceptor("exec", rules)

    def decide(command: str) -> Callable[[], Any]:
        frozen = freeze({"command": command})
        return lambda: interceptor.intercept(ToolCall("exec", frozen, "id"))

    fires = which_fired(decide("rm -rf /")())
    require_equal("rules on effects that fire on rm -rf /", fires, [True, False, False, False, False])
    harmless = decide("git status && cat src/*.py | grep -n TODO > /tmp/todo.txt")
    require_equal("rules on effects that fire on git status", which_fired(harmless()), [False] * len(rules))
    return harmless


def with_cel_expr(args: dict[str, Any]) -> Callable[[], list[bool]]:
    from cel_expr_python import cel

    env = cel.NewEnv(variables={"args": cel.Type.Map(cel.Type.STRING, cel.Type.DYN), "tool": cel.Type.STRING})
    compiled = [env.compile(rule) for rule in RULES]

    def run() -> list[bool]:
        activation = env.Activation({"args": args, "tool": "deploy"})
        return [expression.eval(activation).value() for expression in compiled]

    return run


def with_common(args: dict[str, Any]) -> Callable[[], list[bool]]:
    import cel

    compiled = [cel.compile(rule) for rule in RULES]
    return lambda: [program.execute({"args": args, "tool": "deploy"}) for program in compiled]


def with_celpy(args: dict[str, Any]) -> Callable[[], list[bool]]:
    import celpy

    env = celpy.Environment()
    compiled = [env.program(env.compile(rule)) for rule in RULES]
    activation = celpy.json_to_cel({"args": args, "tool": "deploy"})
    return lambda: [bool(program.evaluate(activation)) for program in compiled]


if __name__ == "__main__":
    run_main(main)
