"""A home directory with one agent and our hooks in it, put there by `interpose install`; and one run of that agent."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from tests.e2e import terminals
from tests.e2e.agents import mcp_server
from tests.e2e.agents.dialects import ToolUse, Turn
from tests.e2e.agents.fake_model import FakeModel
from tests.e2e.agents.known import Agent, Around, Started
from tests.e2e.agents.terminal import Terminal
from tests.e2e.processes import clean_environment
from tests.support.timing.patience import PATIENCE

LONGEST_SCREEN, STARTS_IN, ANSWERS_IN = 120.0, 60.0, 8.0
"""Seconds for a run in a terminal: at most, until the model is first asked, and from then until something moves."""


class Run(Struct, frozen=True):
    """What became of one run. `results` are what the model was shown, one for each step that it took."""

    results: tuple[str, ...]
    seconds: tuple[float, ...]
    """How long each step took, seen from the model."""
    exit_code: int | None
    """None if it had to be stopped."""
    printed: str
    took: float
    asked: int = 0
    """How many steps the model took."""


class Home:
    """Entered, it has an agent with its settings and a model; left, the server that our hook started is stopped."""

    def __init__(
        self, root: Path, agent: Agent, parts: Mapping[str, Path], *, wrapped: bool = False, proxied: bool = False
    ) -> None:
        """`wrapped`: its MCP server stands behind `interpose mcp wrap`; `proxied`: its model, behind a proxy."""
        self.agent, self._parts, self._wrapped, self._proxied = agent, parts, wrapped, proxied
        self._proxy: subprocess.Popen[str] | None = None
        self.home, self.project = root / "home", root / "project"
        self._environment = clean_environment(self.home)
        self._model = FakeModel()

    def __enter__(self) -> Self:
        self.project.mkdir(parents=True)
        self._model.__enter__()
        notes: tuple[str, ...] = (sys.executable, mcp_server.__file__, str(self.project))
        if self._wrapped:
            notes = (sys.executable, "-m", "interpose", "wrap", "--name", "notes", "--", *notes)
        self._notes = notes
        self._started = self.agent.start(self._parts, Around(self._model.url, notes, str(self.project)))
        for path, content in self._started.files.items():
            self.write(path, content)
        return self

    def _put_behind_proxy(self) -> None:
        """As a user would do it: with the agent as the proxy's command, or with the address of a proxy that runs."""
        ours = (sys.executable, "-m", "interpose", "proxy")
        if self.agent.by_variable:
            self._started = replace(self._started, command=(*ours, "--", *self._started.command))
            return
        command = [*ours, "--port", "0", "--upstream", f"openai={self._model.url}"]
        self._proxy = subprocess.Popen(
            command, cwd=self.project, env=self._environment, stdout=subprocess.PIPE, text=True
        )
        assert self._proxy.stdout is not None
        address = next(line.split()[1] for line in self._proxy.stdout if line.split()[:1] == ["openai"])
        started = self.agent.start(self._parts, Around(address, self._notes, str(self.project)))
        for path, content in started.files.items():
            self.write(path, content)

    def __exit__(self, *_error: object) -> None:
        self._model.__exit__()
        if self._proxy is not None:
            self._proxy.terminate()
            self._proxy.communicate(timeout=PATIENCE)
        with suppress(OSError, ValueError, IndexError):
            os.kill(int(self.address.read_text().split()[1]), signal.SIGKILL)

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program in this home is given."""
        return self._environment

    @property
    def client(self) -> Path:
        """The program that the host runs for each event."""
        return self.home / ".local" / "state" / "interpose" / "hooks" / self.agent.host

    @property
    def socket(self) -> Path:
        """Where a server listens for hooks."""
        return Path(self._environment["XDG_RUNTIME_DIR"]) / "interpose" / "hook.sock"

    @property
    def address(self) -> Path:
        """Where a server says its port and its process."""
        return self.socket.with_name("hook.addr")

    def model_saw(self, text: str) -> bool:
        """Whether the model was ever sent a text, by a person or by the agent."""
        return any(text in json.dumps(body, ensure_ascii=False) for _, body in self._model.requests)

    @property
    def requests(self) -> tuple[Any, ...]:
        """What the model was sent, in order."""
        return tuple(body for _, body in self._model.requests if body is not None)

    def sub_agent(self, told: str, steps: Sequence[Turn]) -> None:
        """What the model of a sub-agent wants that is told this before all else."""
        self._model.sub_agents[told] = tuple(steps)

    def sub_results(self, told: str) -> tuple[str, ...]:
        """What the model of that sub-agent was shown."""
        return tuple(self._model.sub_results.get(told, ()))

    @property
    def started(self) -> Started:
        """How the agent is started."""
        return self._started

    def wish(self, steps: Sequence[ToolUse]) -> None:
        """What the model wants of an agent that somebody else starts."""
        self._model.steps = tuple(steps)

    @property
    def results(self) -> tuple[str, ...]:
        """What the model was shown of it."""
        return tuple(self._model.results)

    def write(self, path: str, content: Any) -> None:
        """A file of the home; what is no text as JSON."""
        place = self.home / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))

    def configure(self, deadline: int, policy: str, more: str = "", *, wait: int = 0) -> None:
        """Write our own configuration and rules. Hooks `wait` so long for a person."""
        hooks = f"hooks:\n  deadline: {deadline}\n  wait: {{all: {wait}}}\n"
        self.write(".config/interpose/interpose.yaml", f"{hooks}{more}")
        self.write(".config/interpose/policy/agents.yaml", policy)

    @property
    def hooks_file(self) -> Path:
        """The agent's own file, into which our hooks go."""
        user = next(file for file in HOSTS[self.agent.host].facts.setup.files if file.scope == "user")
        return self.home / user.path.removeprefix("~/")

    def interpose(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Our command line, as a user would use it."""
        command = [sys.executable, "-m", "interpose", *words]
        return subprocess.run(
            command,
            check=False,
            cwd=self.project,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def install(self) -> None:
        """Put our hooks into the agent."""
        done = self.interpose("install", self.agent.host, "--user", "--yes")
        if done.returncode or not self.client.exists():
            raise AssertionError(f"install {self.agent.host} ended with {done.returncode}: {done.stdout}{done.stderr}")

    def run(
        self, steps: Sequence[ToolUse], arguments: Sequence[str] = (), *, screen: bool = False, typed: bool = False
    ) -> Run:
        """The agent, with a model that wants these tools one after the other. Once for a home.

        `arguments` take the place of those that the agent is started with otherwise; `screen`: in a terminal; `typed`:
        without a screen, but started by a shell that a person types into, so that whoever runs us is no agent.
        """
        self._model.steps = tuple(steps)
        if self._proxied:
            self._put_behind_proxy()
        begun = monotonic()
        command = self._started.command
        if arguments:
            command = (*command[: self._started.program], *arguments)
        start = self._in_a_terminal if screen else self._typed if typed else self._headless
        code, printed = start(command)
        took = monotonic() - begun
        return Run(
            tuple(self._model.results), tuple(self._model.seconds), code, printed, took, self._model.asked
        )  # fmt: skip

    def _headless(self, command: Sequence[str]) -> tuple[int | None, str]:
        # A session of its own, so that whatever the agent started ends with it.
        agent = subprocess.Popen(
            command,
            cwd=self.project,
            env={**self._environment, **self._started.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        code: int | None = None
        try:
            printed, _ = agent.communicate(timeout=self.agent.longest)
            code = agent.returncode
        except subprocess.TimeoutExpired:
            os.killpg(agent.pid, signal.SIGKILL)
            printed, _ = agent.communicate()
        return code, printed.decode(errors="replace")

    def _typed(self, command: Sequence[str]) -> tuple[int | None, str]:
        printed = self.home / "printed"
        with terminals.Terminal({**self._environment, **self._started.environment}, self.project) as shell:
            shell.type(f"{shlex.join(command)} >{printed} 2>&1 </dev/null; echo co''de:$?:\n")
            try:
                shell.until("code:", self.agent.longest)
                code: int | None = int(shell.until(":"))
            except AssertionError:
                code = None
        return code, printed.read_text(errors="replace") if printed.exists() else ""

    def _in_a_terminal(self, command: Sequence[str]) -> tuple[int | None, str]:
        """Until the model has all results, or nothing moves any more: then the agent waits for a person."""
        with Terminal(command, self.project, {**self._environment, **self._started.environment}) as terminal:
            ends, seen, quiet = monotonic() + LONGEST_SCREEN, -1, monotonic() + STARTS_IN
            screens = dict(self.agent.first_screens)
            while terminal.alive() and monotonic() < min(ends, quiet):
                if len(self._model.results) >= len(self._model.steps):
                    return None, terminal.text()
                if (now := self._model.asked + len(self._model.results)) != seen:
                    seen, quiet = now, monotonic() + (ANSWERS_IN if now else STARTS_IN)
                for text in [text for text in screens if text in terminal.text()]:
                    terminal.press(screens.pop(text))
                    quiet = monotonic() + 2 * ANSWERS_IN
                sleep(0.2)
            return None if terminal.alive() else 0, terminal.text()
