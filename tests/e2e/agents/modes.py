"""The modes of each agent, and what becomes of a question in them.

Each mode is run twice: with a hook that always says `ask`, which shows what the host makes of the word, and with ours,
which shows what holds. A row of `MODES` is data: how the agent is started, and whether it has a screen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.events import HostFacts
from tests.e2e.agents import faults
from tests.e2e.agents.behaviours import ASKED, Seen
from tests.e2e.agents.dialects import ToolUse
from tests.e2e.agents.home import Home, Run
from tests.e2e.agents.known import PROMPT, Agent


class AgentMode(Struct, frozen=True, kw_only=True):
    """One way to start an agent. `arguments` follow its program; `screen`: in a terminal, where nobody answers."""

    name: str
    arguments: tuple[str, ...]
    screen: bool = False


class Wish(Struct, frozen=True, kw_only=True):
    """What the model wants, about which a person has to be asked; and whether it was done."""

    column: str
    steps: Callable[[Home], tuple[ToolUse, ...]]
    """The last one is asked about; those before it prepare it."""
    done: Callable[[Home], bool]
    about: Callable[[HostFacts], bool] = lambda _facts: True
    """Whether this host is worth the try."""


def _claude(screen: bool, *words: str) -> tuple[str, ...]:
    return (*words, PROMPT) if screen else ("-p", PROMPT, *words)


def _claude_modes() -> tuple[AgentMode, ...]:
    rows = {
        "manual": ("--permission-mode", "manual"),
        "acceptEdits": ("--permission-mode", "acceptEdits"),
        "plan": ("--permission-mode", "plan"),
        "auto": ("--permission-mode", "auto"),
        "dontAsk": ("--permission-mode", "dontAsk"),
        "bypassPermissions": ("--dangerously-skip-permissions",),
    }
    return tuple(
        AgentMode(name=f"{name}{', -p' if not screen else ''}", arguments=_claude(screen, *words), screen=screen)
        for screen in (True, False)
        for name, words in rows.items()
    )


_TRUSTED = ("--dangerously-bypass-hook-trust",)
_BYPASS = "--dangerously-bypass-approvals-and-sandbox"

MODES: Mapping[str, tuple[AgentMode, ...]] = {
    "claude-code": _claude_modes(),
    "codex": (
        AgentMode(name="on-request", arguments=(*_TRUSTED, "-a", "on-request", PROMPT), screen=True),
        AgentMode(name="never", arguments=(*_TRUSTED, "-a", "never", PROMPT), screen=True),
        AgentMode(name="approve-for-me", arguments=(*_TRUSTED, "--approve-for-me", PROMPT), screen=True),
        AgentMode(name="bypass", arguments=(*_TRUSTED, _BYPASS, PROMPT), screen=True),
        AgentMode(name="exec", arguments=("exec", *_TRUSTED, "--skip-git-repo-check", PROMPT)),
        AgentMode(name="exec, bypass", arguments=("exec", *_TRUSTED, _BYPASS, "--skip-git-repo-check", PROMPT)),
    ),
    "gemini-cli": (
        *(
            AgentMode(name=name, arguments=("--skip-trust", "--approval-mode", name, "-i", PROMPT), screen=True)
            for name in ("default", "auto_edit", "yolo", "plan")
        ),
        *(
            AgentMode(name=f"{name}, -p", arguments=("--skip-trust", "--approval-mode", name, "-p", PROMPT))
            for name in ("default", "yolo")
        ),
    ),
    "copilot": (
        *(
            AgentMode(name=name, arguments=(*words, "-i", PROMPT), screen=True)
            for name, words in {
                "interactive": (),
                "plan": ("--plan",),
                "allow-all-tools": ("--allow-all-tools",),
                "yolo": ("--yolo",),
                "autopilot": ("--autopilot",),
                "autopilot, yolo": ("--autopilot", "--yolo"),
            }.items()
        ),
        AgentMode(name="-p", arguments=("-p", PROMPT)),
        AgentMode(name="-p, allow-all-tools", arguments=("-p", PROMPT, "--allow-all-tools")),
        AgentMode(name="-p, yolo", arguments=("-p", PROMPT, "--yolo")),
        AgentMode(name="-p, assisted", arguments=("-p", PROMPT, "--experimental", "--assisted-approval")),
    ),
    "qwen-code": (
        *(
            AgentMode(name=name, arguments=("--approval-mode", name, "-i", PROMPT), screen=True)
            for name in ("default", "plan", "auto-edit", "auto", "yolo")
        ),
        *(
            AgentMode(name=f"{name}, -p", arguments=("--approval-mode", name, "-p", PROMPT))
            for name in ("default", "auto", "yolo")
        ),
    ),
    "opencode": (
        AgentMode(name="run", arguments=("run", "--model", "fake/fake", PROMPT)),
        AgentMode(name="run --auto", arguments=("run", "--auto", "--model", "fake/fake", PROMPT)),
        AgentMode(name="screen", arguments=("--model", "fake/fake", "--prompt", PROMPT), screen=True),
    ),
}

_ASK_NESTED = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
                                      "permissionDecisionReason": "asked by the probe"}}  # fmt: skip

SAYS_ASK: Mapping[str, Any] = {
    "claude-code": _ASK_NESTED,
    "qwen-code": _ASK_NESTED,
    "codex": _ASK_NESTED,
    "copilot": {"permissionDecision": "ask", "permissionDecisionReason": "asked by the probe"},
    "gemini-cli": {"decision": "ask", "systemMessage": "asked by the probe"},
}
"""The word in the host's own language. A host without one is not here."""


def _own_settings(home: Home) -> tuple[ToolUse, ...]:
    path = str(home.hooks_file)
    read = (home.agent.read(path),) if home.agent.read is not None else ()
    return (*read, home.agent.write(path, "{}"))


def _has_a_check_of_paths(facts: HostFacts) -> bool:
    """Of its own, which answers in the place of the question."""
    return facts.name == "claude-code"


WISHES = (
    Wish(
        column="a command",
        steps=lambda home: (home.agent.run(ASKED),),
        done=lambda home: (home.project / "asked.marker").exists(),
    ),
    Wish(
        column="its own settings",
        steps=_own_settings,
        done=lambda home: home.hooks_file.exists() and home.hooks_file.read_text().strip() == "{}",
    ),
    Wish(
        column="a git hook",
        steps=lambda home: (home.agent.write(str(home.project / ".git" / "hooks" / "pre-commit"), "true"),),
        done=lambda home: (home.project / ".git" / "hooks" / "pre-commit").exists(),
        about=_has_a_check_of_paths,
    ),
    Wish(
        column="~/.bashrc",
        steps=lambda home: (home.agent.write(str(home.home / ".bashrc"), "true"),),
        done=lambda home: (home.home / ".bashrc").exists(),
        about=_has_a_check_of_paths,
    ),
    Wish(
        column="an open shell",
        steps=lambda home: (home.agent.run("touch opened.marker; sh", tty=True),),
        done=lambda home: (home.project / "opened.marker").exists(),
        about=lambda facts: bool(facts.unasked_input),
    ),
)


class Trial(Struct, frozen=True, kw_only=True):
    """A wish in a mode, with a hook that says `ask` or with ours."""

    mode: AgentMode
    wish: Wish
    probe: bool

    @property
    def column(self) -> str:
        """What is wished, and who was asked."""
        return f"{self.wish.column}, {'`ask`' if self.probe else 'ours'}"

    @property
    def name(self) -> str:
        """For a directory."""
        words = f"{self.mode.name} {self.wish.column} {'probe' if self.probe else 'ours'}"
        return "".join(letter if letter.isalnum() else "-" for letter in words)


def trials(agent: Agent) -> tuple[Trial, ...]:
    """All that is tried with an agent. A host that has no word for a question is tried with our hook alone."""
    ways = (True, False) if agent.host in SAYS_ASK else (False,)
    wishes = [wish for wish in WISHES if wish.about(HOSTS[agent.host].facts)]
    return tuple(
        Trial(mode=mode, wish=wish, probe=probe) for mode in MODES[agent.host] for wish in wishes for probe in ways
    )


def tried(trial: Trial, home: Home) -> tuple[Seen, Run, list[str]]:
    """What became of the wish, and the modes that the host's events named."""
    (home.project / ".git" / "hooks").mkdir(parents=True)
    home.configure(20, "version: 1\nrules: []\n")
    home.install()
    steps = trial.wish.steps(home)
    log = home.home / "events.jsonl"
    fault = faults.saying(SAYS_ASK[home.agent.host], log) if trial.probe else faults.nothing
    with fault(home):
        run = home.run(steps, trial.mode.arguments, screen=trial.mode.screen)
    return judged(trial, run, done=trial.wish.done(home), steps=len(steps)), run, modes_in(log)


def judged(trial: Trial, run: Run, *, done: bool, steps: int) -> Seen:
    """INVARIANT: with our hook nothing runs that a person has to be asked about, as nobody is there to say yes."""
    if done:
        return Seen("RUNS", good=trial.probe)
    if len(run.results) >= steps:
        return Seen("refused")
    if run.asked < steps and run.asked and not trial.probe and trial.mode.screen:
        return Seen("asks about reading it")
    if run.asked < steps:
        return Seen("never came to it", good=False)
    return Seen("asks" if trial.mode.screen and run.exit_code is None else "the run ended")


def modes_in(log: Path) -> list[str]:
    """The words for its mode that a host's events about calls had."""
    found: dict[str, None] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if "tool_input" in event or "toolArgs" in event:
            found[str(event.get("permission_mode", "(none)"))] = None
    return list(found)
