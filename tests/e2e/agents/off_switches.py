"""The real agents with each of their off switches: what runs then, whether doctor says so, and what managed hooks hold.

`scripts/agents --switches` runs this without a network. It needs a machine of its own: /etc is a copy there (see
`with_own_system`), and this refuses to run where it isn't.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from tests.e2e.agents.behaviours import DENIED, POLICY
from tests.e2e.agents.home import Home, Run
from tests.e2e.agents.known import Agent

MARK = Path("/etc/interpose-agents-own-system")
"""Only a copy of /etc has it."""


class SwitchRow(Struct, frozen=True, kw_only=True):
    """One switch of an agent, turned off in a home whose hooks are installed."""

    host: str
    name: str
    files: Mapping[str, Any] = {}
    """Files with what is put into them: a table is merged into JSON, a text goes to the end. `~/` is the home."""
    words: tuple[str, ...] = ()
    """Options for the agent."""
    environment: Mapping[str, str] = {}


class SeenSwitch(Struct, frozen=True):
    """What was seen: whether the refused command ran, with our hooks in the user's file and in the managed one."""

    row: SwitchRow
    user: str
    managed: str
    doctor: str
    status: str


def _claude(name: str, **more: Any) -> SwitchRow:
    return SwitchRow(host="claude-code", name=name, **more)


_OFF = {"disableAllHooks": True}
_TRUSTED = {"~/.gemini/trustedFolders.json": {"PROJECT": "TRUST_FOLDER"}}
"""A person who opened the cloned repository said yes to it: before, Gemini CLI takes nothing from its files."""
_NO_HOOKS = "\n[features]\nhooks = false\n"

ROWS: tuple[SwitchRow, ...] = (
    _claude("disableAllHooks, user", files={"~/.claude/settings.json": _OFF}),
    _claude("disableAllHooks, project", files={".claude/settings.json": _OFF}),
    _claude("disableAllHooks, local", files={".claude/settings.local.json": _OFF}),
    _claude("--settings", words=("--settings", json.dumps(_OFF))),
    _claude("--setting-sources", words=("--setting-sources", "")),
    _claude("--bare", words=("--bare",)),
    _claude("--safe-mode", words=("--safe-mode",)),
    _claude("CLAUDE_CODE_SIMPLE", environment={"CLAUDE_CODE_SIMPLE": "1"}),
    SwitchRow(host="codex", name="features.hooks, user", files={"~/.codex/config.toml": _NO_HOOKS}),
    SwitchRow(host="codex", name="features.hooks, project", files={".codex/config.toml": _NO_HOOKS}),
    SwitchRow(host="codex", name="-c features.hooks=false", words=("-c", "features.hooks=false")),
    SwitchRow(host="codex", name="--disable hooks", words=("--disable", "hooks")),
    SwitchRow(
        host="gemini-cli",
        name="hooksConfig.enabled, user",
        files={"~/.gemini/settings.json": {"hooksConfig": {"enabled": False}}},
    ),
    SwitchRow(
        host="gemini-cli",
        name="hooksConfig.enabled, project",
        files={".gemini/settings.json": {"hooksConfig": {"enabled": False}}, **_TRUSTED},
    ),
    SwitchRow(
        host="gemini-cli",
        name="hooksConfig.disabled, project",
        files={".gemini/settings.json": {"hooksConfig": {"disabled": ["interpose"]}}, **_TRUSTED},
    ),
    SwitchRow(host="copilot", name="disableAllHooks, user", files={"~/.copilot/settings.json": _OFF}),
    SwitchRow(host="copilot", name="disableAllHooks, project", files={".github/copilot/settings.json": _OFF}),
    SwitchRow(
        host="copilot",
        name="disableAllHooks, hooks file",
        files={".github/hooks/off.json": {"version": 1, "hooks": {}, **_OFF}},
    ),
    SwitchRow(host="copilot", name="disableAllHooks, our file", files={"~/.copilot/hooks/interpose.json": _OFF}),
    SwitchRow(host="qwen-code", name="disableAllHooks, user", files={"~/.qwen/settings.json": _OFF}),
    SwitchRow(host="qwen-code", name="disableAllHooks, project", files={".qwen/settings.json": _OFF}),
    SwitchRow(host="qwen-code", name="--bare", words=("--bare",)),
    SwitchRow(host="qwen-code", name="--safe-mode", words=("--safe-mode",)),
    SwitchRow(host="opencode", name="--pure", words=("--pure",)),
    SwitchRow(host="opencode", name="OPENCODE_PURE", environment={"OPENCODE_PURE": "1"}),
)


def turn_off(home: Home, row: SwitchRow) -> None:
    """Turn the switch in an agent's files."""
    for name, content in row.files.items():
        path = home.home / name[2:] if name.startswith("~/") else home.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text() if path.exists() else ""
        if isinstance(content, str):
            path.write_text(before + content)
        else:
            text = json.dumps((json.loads(before) if before else {}) | content, indent=2)
            path.write_text(text.replace("PROJECT", str(home.project)))


def seen_with(row: SwitchRow, agent: Agent, parts: Mapping[str, Path], place: Path) -> SeenSwitch:
    """Two runs: with our hooks in the user's file, and with ours in the managed settings only."""
    with Home(place / "user", agent, parts) as home:
        home.configure(20, POLICY)
        home.install()
        turn_off(home, row)
        user = _ran(home, _started(home, row))
        status = _reported(home, "status")
        doctor = _reported(home, "doctor", agent.host)
    managed = "has none"
    if any(file.scope == "managed" for file in HOSTS[agent.host].facts.setup.files):
        with Home(place / "managed", agent, parts) as home:
            home.configure(20, POLICY)
            managed = _with_managed(home, row)
    return SeenSwitch(row, user, managed, doctor, status)


def _with_managed(home: Home, row: SwitchRow) -> str:
    _live_in(home.home)
    done = home.interpose("install", home.agent.host, "--managed", "--yes")
    if done.returncode:
        return f"NOT INSTALLED: {done.stderr.strip()[:200]}"
    try:
        turn_off(home, row)
        return _ran(home, _started(home, row))
    finally:
        gone = home.interpose("uninstall", home.agent.host, "--managed", "--yes")
        if gone.returncode:
            raise AssertionError(f"uninstall --managed: {gone.stdout}{gone.stderr}")


def _started(home: Home, row: SwitchRow) -> Run:
    started = home._started
    prompt = started.command.index("-p") if "-p" in started.command else len(started.command) - 1
    command = (*started.command[:prompt], *row.words, *started.command[prompt:])
    home._started = replace(started, command=command, environment={**started.environment, **row.environment})
    return home.run([home.agent.run(DENIED)])


def _ran(home: Home, run: Run) -> str:
    if (home.project / "denied.marker").exists():
        return "RUNS"
    if run.results:
        return "refused" if "nobody has read" in run.results[0] else f"not run: {run.results[0][:80]}"
    return f"did not get so far: {run.printed[-160:]!r}"


def _reported(home: Home, *words: str) -> str:
    told = json.loads(home.interpose(*words, "--json").stdout)
    found = told.get("unguarded") or [check for host in told.get("hosts", ()) for check in host.get("checks", ())]
    names = {
        each["name"] for each in found if each["level"] == "open" and each["name"] in ("off switch", "never asked")
    }
    return ", ".join(sorted(names)) or "SAYS NOTHING"


def _live_in(home: Path) -> None:
    """Managed hooks ask the system where their user lives."""
    passwd = Path("/etc/passwd")
    rest = [line for line in passwd.read_text().splitlines() if not line.startswith("root:")]
    passwd.write_text("\n".join([f"root:x:0:0:root:{home}:/bin/sh", *rest]) + "\n")


def with_own_system(command: Sequence[str], place: Path) -> list[str]:
    """A command that has a copy of /etc in place of this machine's, in the mount namespace that it is started in."""
    copy = place / "etc"
    script = 'cp -a /etc "$1" 2>/dev/null; touch "$1/$2" && mount --bind "$1" /etc && shift 2 && exec "$@"'
    return ["sh", "-c", script, "sh", str(copy), MARK.name, *command]


def run_rows(
    agents: Sequence[Agent], parts: Mapping[str, Path], place: Path, only: Sequence[str], say: Callable[[str], None]
) -> list[SeenSwitch]:
    """Every row of these agents, or those of the names in `only`; said as it is seen."""
    if not MARK.exists():
        raise SystemExit("off_switches writes to /etc: it runs only where that is a copy (scripts/agents --switches)")
    by_host = {agent.host: agent for agent in agents}
    rows = [row for row in ROWS if row.host in by_host and (not only or row.name in only)]
    seen: list[SeenSwitch] = []
    for at, row in enumerate(rows):
        seen.append(seen_with(row, by_host[row.host], parts, place / str(at)))
        last = seen[-1]
        reported = f"doctor: {last.doctor}; status: {last.status}"
        say(f"· {row.host}, {row.name}: {last.user}; managed: {last.managed}; {reported}")
    return seen


def table(seen: Sequence[SeenSwitch]) -> str:
    """For docs/agents/README.md."""
    lines = ["| agent | switch | hooks of the user | managed hooks | doctor | status |", "|---|---|---|---|---|---|"]
    for each in seen:
        row = each.row
        lines.append(f"| {row.host} | `{row.name}` | {each.user} | {each.managed} | {each.doctor} | {each.status} |")
    return "\n".join(lines)
