"""What the most expensive calls cost: families of hostile text (`bench.hostile_families`).

One row is the slowest of several sizes of one family, from as long as a command may be to a sixteenth of it: what is
refused at once for its size may take longest a little below. A call goes through the engine as it is shipped; printed
are its size, its processor time, how many short commands that is, and the verdict with its rule. Results of tools are
searched for secrets; they are rows of their own. The last lines name the worst of each kind. An interceptor that fails
on a text, or a text that no call has, fails the benchmark.

python -m bench.worst_case [PART OF A FAMILY'S NAME ...]
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.checks import require, require_equal
from bench.command_line import make_parser, run_main
from bench.hostile_families import COMMAND, COMMANDS, TEXTS
from interpose import Context, Engine, ToolCall, open_engine
from interpose.reading.secrets import Redactor

RESULT = 3_900_000
"""Characters of a tool's result."""
SMOKE_DIVISOR = 100
"""Smokes play every family, with texts that are so much shorter."""
_PARTS = (1, 2, 4, 8, 16)
_SHORT = "ls -la src{n}"


def command_seconds(engine: Engine, command: str) -> tuple[float, str]:
    """How long one command takes, and what is said about it."""
    call = ToolCall("exec", {"command": command}, "bench", Context(cwd="/workspace/project"))
    start = time.thread_time()
    verdict = engine.decide(call)
    spent = time.thread_time() - start
    require(not verdict.errors, f"interceptors failed on {command[:80]!r}: {verdict.errors}")
    require(bool(command), "a family made an empty command")
    return spent, f"{verdict.outcome} {verdict.decided_by.rule if verdict.decided_by else ''}"


def _text_seconds(redactor: Redactor, text: str) -> tuple[float, str]:
    start = time.thread_time()
    found = redactor.redact(text).found
    spent = time.thread_time() - start
    require(bool(text), "a family made an empty result")
    return spent, f"{len(found)} found" + (f", {found[0].kind}" if found else "")


def main() -> None:
    """Print the table."""
    parser = make_parser(__doc__)
    parser.add_argument("wanted", nargs="*", metavar="PART OF A FAMILY'S NAME")
    options = parser.parse_args()
    divisor, samples = (SMOKE_DIVISOR, 3) if options.smoke else (1, 200)
    commands, results = _chosen(COMMANDS, options.wanted), _chosen(TEXTS, options.wanted)
    require(bool(commands or results), f"no family has {' or '.join(options.wanted)} in its name")
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, XDG_CONFIG_HOME=f"{home}/c", XDG_STATE_HOME=f"{home}/s")
        Path(home, "c").mkdir()
        engine, redactor = open_engine(), Redactor()
        redactor.redact("password=a")
        _require_deciding(engine, redactor)
        short = statistics.median(command_seconds(engine, _SHORT.replace("{n}", str(n)))[0] for n in range(samples))
        print(f"a short command: {short * 1e6:.0f} us")
        print(f"{'family':34} {'size':>9} {'ms':>9} {'x short':>9}  verdict")
        worst: dict[str, tuple[float, str]] = {}
        for name, make in commands.items():
            made = {make(COMMAND // part // divisor)[:COMMAND] for part in (_PARTS if divisor == 1 else (1,))}
            spent, said, command = max((*command_seconds(engine, command), command) for command in made)
            _line(name, short, command, spent, said)
            worst["commands"] = max(worst.get("commands", (0.0, "")), (spent, name))
        for name, make in results.items():
            result = make(RESULT // divisor)
            spent, said = _text_seconds(redactor, result)
            _line(f"result: {name}", short, result, spent, said)
            worst["results"] = max(worst.get("results", (0.0, "")), (spent, name))
        for kind, (spent, name) in worst.items():
            print(f"worst of {kind}: {spent * 1000:.0f} ms, {spent / short:.0f} short commands ({name})")


def _chosen(families: dict[str, Callable[[int], str]], wanted: list[str]) -> dict[str, Callable[[int], str]]:
    return {name: make for name, make in families.items() if not wanted or any(part in name for part in wanted)}


def _require_deciding(engine: Engine, redactor: Redactor) -> None:
    """What is measured is an engine that decides, and a redactor that finds something."""
    require_equal("the verdict on ls", command_seconds(engine, "ls")[1].strip(), "allow")
    require_equal("the verdict on rm -rf /", command_seconds(engine, "rm -rf /")[1], "deny delete-system")
    require_equal("secrets in a key", len(redactor.redact("AK" + "IA" + "Z7QLDN3XVB5MPT2K").found), 1)


def _line(name: str, short: float, text: str, spent: float, said: str) -> None:
    print(f"{name:34} {len(text):9} {spent * 1000:9.1f} {spent / short:9.0f}  {said}", flush=True)


if __name__ == "__main__":
    run_main(main)
