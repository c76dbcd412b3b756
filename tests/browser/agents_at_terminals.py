"""An agent that runs our hook as Claude Code does, in a terminal of its own: no browser is its child."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

from tests.e2e.terminals import PYTHON, Terminal
from tests.support.hosts.hooked import Hooks

_PROGRAM = """\
import pathlib, subprocess, sys
for line in sys.stdin:
    event = pathlib.Path(line.strip())
    done = subprocess.run(sys.argv[1:], stdin=event.open(), capture_output=True)
    event.with_suffix(".out").write_bytes(done.stdout)
    print("co" + "de:%d:" % done.returncode, flush=True)
"""


class HookedAgent:
    """Started by a person in a terminal. Ends with the test."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks, self._count = hooks, 0
        self._terminal = Terminal(hooks.environment, hooks.home)

    def __enter__(self) -> Self:
        program = self._hooks.home / "agent.py"
        program.write_text(_PROGRAM, encoding="utf-8")
        self._terminal.__enter__()
        self._terminal.type(f"stty -echo; {PYTHON} {program} {self._hooks.bash}\n")
        return self

    def __exit__(self, *error: object) -> None:
        self._terminal.__exit__(*error)

    def begin(self, event: bytes) -> Path:
        """Put an event to the hook, which may wait for a person. Where its answer will be."""
        self._count += 1
        file = self._hooks.home / f"event{self._count}.json"
        file.write_bytes(event)
        self._terminal.type(f"{file}\n")
        return file.with_suffix(".out")

    def answer(self, place: Path) -> dict[str, Any]:
        """What the hook said to its agent, as soon as it does."""
        self._terminal.until("code:")
        assert self._terminal.until(":") == "0"
        text = place.read_text(encoding="utf-8")
        return json.loads(text).get("hookSpecificOutput", {}) if text else {}

    def says(self, event: bytes) -> dict[str, Any]:
        """Both at once, for a hook that does not wait."""
        return self.answer(self.begin(event))
