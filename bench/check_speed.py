"""How long one decision takes: new short commands, commands seen before, and one of 640 segments; beside our peers.

One decision is one call through the engine as it is shipped, from call to verdict. The guards alone are a line of their
own, as peers have no rules.

python -m bench.check_speed            (--no-peers: only ourselves)
python -m bench.check_speed --against PATH   beside another checkout of ours, in turns in the same run, as a ratio
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench import peers
from bench.checks import require, require_verdicts
from bench.command_line import make_parser, run_main
from bench.processes import run_checked
from interpose import Context, Engine, ToolCall, Verdict, open_engine
from interpose.composition.build import open_guards

SHORT = [
    "ls -la src", "git status", "git diff HEAD~{n}", "npm test", "rm -rf build{n}", "cat README.md | head -{n}",
    "grep -rn pattern{n} src", "python3 -m pytest tests/test_{n}.py -x", "cd packages/p{n} && npm run build",
    "docker ps -a", "curl -s https://example.com/{n} | jq .name", "git commit -m 'change {n}'", "mkdir -p out/{n}",
    "find . -name '*.py' -newer f{n}", "echo done > log{n}.txt", "sudo systemctl status svc{n}", "git push origin b{n}",
    "sed -i 's/a{n}/b/' src/app.py", "kubectl get pods -n ns{n}", "for f in a b c; do wc -l $f{n}; done",
]  # fmt: skip
ASKED = ("rm -rf build{n}",)
"""Those of them that are asked about. The others are allowed."""
ROUNDS, SMOKE_ROUNDS = 100, 2
COMPARED = 3
LONG_RUNS = 5
CONTROLS = ("ls -la", "rm -rf /")
"""Commands that show whether a peer decides at all: it allows the first and objects to the second."""


def short_commands(rounds: int) -> dict[str, str]:
    """Short commands, another one of each shape for each round, with the outcome that they have."""
    shapes = [(shape, "ask" if shape in ASKED else "allow") for shape in SHORT]
    return {shape.replace("{n}", str(n)): outcome for n in range(rounds) for shape, outcome in shapes}


def long_command(run: int) -> str:
    """A command of 640 segments and 10 KB; a new one for each run."""
    return "; ".join(f"echo part {run}{n:03}" for n in range(640))


_NAH = """
import json, sys, time, statistics
from nah.bash import classify_command
*controls, commands = json.load(sys.stdin)
def p50(texts):
    spent = []
    for text in texts:
        start = time.perf_counter_ns(); classify_command(text); spent.append(time.perf_counter_ns() - start)
    return statistics.median(spent) / 1000
said = [classify_command(control).final_decision == "allow" for control in controls]
print(json.dumps([said, p50(commands[5:]), p50(commands[5:]), p50(commands[:5])]))
"""

_AGENT_OS = """
import json, sys, time, statistics
from agent_os.policies import PolicyEvaluator, PolicyDocument
from agent_os.policies.schema import PolicyRule, PolicyCondition, PolicyAction, PolicyOperator
patterns = [r"rm\\s+-rf\\s+/", r"curl.*\\|\\s*(ba)?sh", r"mkfs", r"dd\\s+.*of=/dev/", r"chmod\\s+777",
            r"git\\s+push.*--force", r"git\\s+reset\\s+--hard", r"DROP\\s+TABLE", r"shutdown", r"nc\\s+-l"]
rules = [PolicyRule(name=f"r{i}", condition=PolicyCondition(field="command", operator=PolicyOperator.MATCHES, value=p),
                    action=PolicyAction.DENY, priority=i) for i, p in enumerate(patterns)]
evaluator = PolicyEvaluator(policies=[PolicyDocument(name="bench", version="1.0", rules=rules)])
*controls, commands = json.load(sys.stdin)
def p50(texts):
    spent = []
    for text in texts:
        start = time.perf_counter_ns(); evaluator.evaluate({"tool_name": "exec", "command": text})
        spent.append(time.perf_counter_ns() - start)
    return statistics.median(spent) / 1000
said = [evaluator.evaluate({"tool_name": "exec", "command": control}).allowed for control in controls]
print(json.dumps([said, p50(commands[5:]), p50(commands[5:]), p50(commands[:5])]))
"""


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--against", type=Path, help="another checkout of ours")
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    rounds = SMOKE_ROUNDS if options.smoke else ROUNDS
    if options.bare:
        with tempfile.TemporaryDirectory() as home:
            os.environ["HOME"] = home
            print(*_ours(open_engine, rounds), *_ours(open_guards, rounds))
        return
    if options.against is not None:
        _compare(options.against)
        return
    print(f"{datetime.now(UTC):%Y-%m-%d}, p50 of one decision in microseconds, {rounds * len(SHORT)} commands")
    print(f"{'':34} {'new':>10} {'seen':>10} {'640 parts':>12}")
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home  # no rules and configuration but the shipped ones
        _line("interpose, whole engine", *_ours(open_engine, rounds))
        _line("interpose, guards only", *_ours(open_guards, rounds))
    if not (options.no_peers or options.smoke):
        _peers(rounds)


def _peers(rounds: int) -> None:
    commands = [*(long_command(run) for run in range(LONG_RUNS)), *_all_commands(rounds)]
    with tempfile.TemporaryDirectory() as place:
        for name, script, note in (
            (peers.NAH, _NAH, ""),
            (peers.AGENT_OS, _AGENT_OS, " (10 patterns)"),
        ):
            python = peers.python_with(Path(place), name, "pyyaml")
            if isinstance(python, str):
                print(f"left out: {python}")
                continue
            done = run_checked([str(python), "-c", script], input=json.dumps([*CONTROLS, commands]))
            said, new, seen, long = json.loads(done.stdout)
            require(said == [True, False], f"{name} does not decide: of {CONTROLS} it allows {said}")
            _line(name + note, new, seen, long)


def _compare(other: Path) -> None:
    """Both checkouts in turns, each in processes of their own: the machine is as busy for one as for the other."""
    found: dict[Path, list[list[float]]] = {Path.cwd(): [], other.resolve(): []}
    for _ in range(COMPARED):
        for place, runs in found.items():
            environment = os.environ | {"PYTHONPATH": f"{place / 'src'}{os.pathsep}{Path.cwd()}"}
            command = [sys.executable, "-m", "bench.check_speed", "--bare"]
            done = run_checked(command, env=environment)
            runs.append([float(number) for number in done.stdout.split()])
    ours, theirs = ([min(column) for column in zip(*runs, strict=True)] for runs in found.values())
    ratios = [one / two for one, two in zip(ours, theirs, strict=True)]
    print(f"{datetime.now(UTC):%Y-%m-%d}, p50 of one decision in microseconds, the best of {COMPARED} runs in turns")
    print(f"{'':34} {'new':>10} {'seen':>10} {'640 parts':>12}")
    for name, first in (("whole engine", 0), ("guards only", 3)):
        for said, values in ((f"{name}, here", ours), (f"{name}, {other.name}", theirs), (f"{name}, ratio", ratios)):
            print(f"{said:34} {values[first]:10.2f} {values[first + 1]:10.2f} {values[first + 2]:12.2f}")


def _line(name: str, new: float, seen: float, long: float) -> None:
    print(f"{name:34} {new:10.1f} {seen:10.1f} {long:12.1f}")


def _all_commands(rounds: int) -> list[str]:
    """The same as often as an agent types them: what has no number in it comes again in every round."""
    return [shape.replace("{n}", str(n)) for n in range(rounds) for shape in SHORT]


def _ours(opened: Callable[[], Engine], rounds: int) -> tuple[float, float, float]:
    engine, place = opened(), f"/workspace/{opened.__name__}"  # a directory of its own: nothing was seen there before
    outcomes = short_commands(rounds)
    for command in SHORT:
        engine.decide(_call(command, "/elsewhere"))
    new = _p50(engine, place, list(outcomes), list(outcomes.values()))
    every = _all_commands(rounds)
    seen = _p50(engine, place, every, [outcomes[command] for command in every])
    long = [long_command(run) for run in range(LONG_RUNS)]
    return new, seen, _p50(engine, place, long, ["allow"] * len(long))


def _call(command: str, place: str) -> ToolCall:
    return ToolCall("exec", {"command": command}, "bench", Context(cwd=place))


def _p50(engine: Engine, place: str, commands: list[str], outcomes: list[str]) -> float:
    spent: list[int] = []
    verdicts: list[Verdict[ToolCall]] = []
    for call in [_call(command, place) for command in commands]:
        start = time.perf_counter_ns()
        verdict = engine.decide(call)
        spent.append(time.perf_counter_ns() - start)
        verdicts.append(verdict)
    require_verdicts(place, verdicts, outcomes)
    return statistics.median(spent) / 1000


if __name__ == "__main__":
    run_main(main)
