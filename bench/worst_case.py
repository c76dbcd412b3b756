"""What the most expensive calls cost: families of hostile text (`bench.hostile_families`).

One row is the slowest of several sizes of one family, from as long as a command may be to a sixteenth of it: what is
refused at once for its size may take longest a little below. A call goes through the engine as it is shipped; printed
are its size, its processor time, how many short commands that is, and the verdict with its rule. Results of tools are
searched for secrets; they are rows of their own. The last lines name the worst of each kind.

python -m bench.worst_case [PART OF A FAMILY'S NAME ...]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.hostile_families import COMMAND, COMMANDS, TEXTS
from interpose import Context, Engine, ToolCall, open_engine
from interpose.secrets import Redactor

RESULT = 3_900_000
"""Characters of a tool's result."""
_PARTS = (1, 2, 4, 8, 16)
_SHORT = "ls -la src{n}"


def command_seconds(engine: Engine, command: str) -> tuple[float, str]:
    """How long one command takes, and what is said about it."""
    call = ToolCall("exec", {"command": command}, "bench", Context(cwd="/workspace/project"))
    start = time.thread_time()
    verdict = engine.decide(call)
    spent = time.thread_time() - start
    return spent, f"{verdict.outcome} {verdict.decided_by.rule if verdict.decided_by else ''}"


def _text_seconds(redactor: Redactor, text: str) -> tuple[float, str]:
    start = time.thread_time()
    found = redactor.redact(text).found
    return time.thread_time() - start, f"{len(found)} found" + (f", {found[0].kind}" if found else "")


def main() -> None:
    """Print the table."""
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, XDG_CONFIG_HOME=f"{home}/c", XDG_STATE_HOME=f"{home}/s")
        Path(home, "c").mkdir()
        engine, redactor = open_engine(), Redactor()
        redactor.redact("password=a")
        command_seconds(engine, "ls")
        short = statistics.median(command_seconds(engine, _SHORT.replace("{n}", str(n)))[0] for n in range(200))
        print(f"a short command: {short * 1e6:.0f} us")
        print(f"{'family':34} {'size':>9} {'ms':>9} {'x short':>9}  verdict")
        worst: dict[str, tuple[float, str]] = {}
        for name, make in COMMANDS.items():
            if not wanted or any(part in name for part in wanted):
                commands = {make(COMMAND // part)[:COMMAND] for part in _PARTS}
                rows = [(*command_seconds(engine, command), command) for command in commands]
                spent, said, command = max(rows)
                _line(name, short, command, spent, said)
                worst["commands"] = max(worst.get("commands", (0.0, "")), (spent, name))
        for name, make in TEXTS.items():
            if not wanted or any(part in name for part in wanted):
                result = make(RESULT)
                spent, said = _text_seconds(redactor, result)
                _line(f"result: {name}", short, result, spent, said)
                worst["results"] = max(worst.get("results", (0.0, "")), (spent, name))
        for kind, (spent, name) in worst.items():
            print(f"worst of {kind}: {spent * 1000:.0f} ms, {spent / short:.0f} short commands ({name})")


def _line(name: str, short: float, text: str, spent: float, said: str) -> None:
    print(f"{name:34} {len(text):9} {spent * 1000:9.1f} {spent / short:9.0f}  {said}", flush=True)


if __name__ == "__main__":
    main()
