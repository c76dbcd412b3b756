"""What is known of agents is written once: every list that speaks about agents agrees with the files of the agents."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from interpose.core.tools import KNOWN_TOOL_NAMES
from interpose.doors.hooks.hosts import all_hosts
from interpose.doors.hooks.hosts.all_hosts import HOSTS, host_named
from interpose.doors.hooks.install.mcp_files import MCP_HOSTS, mcp_host
from interpose.effects.agents import agent as schema
from interpose.effects.agents.agent import Agent, AgentFileError, agent_of_host, every_agent, has_hooks
from interpose.effects.agents.hook_times import HOOK_TIMES
from interpose.effects.agents.known_agents import AGENTS, ALIASES, BY_NAME, HOST_NAMES, MARKS, PROCESS_NAMES
from interpose.effects.agents.off_flags import is_off_command, off_flags_in
from interpose.effects.agents.off_switches import SWITCHES
from interpose.effects.agents.off_variables import OFF_VARIABLES
from interpose.effects.agents.switch_reader import is_such_file, names_switch
from interpose.effects.handler_table import HANDLERS
from interpose.effects.paths import protected_place_of, secret_of, tamper_of
from interpose.effects.programs import load
from interpose.effects.programs.shared.agent_starts import OTHERS_TOO
from interpose.rules.governance.roles.host_tools import HOST_TOOLS
from tests.support.timing.patience import PATIENCE

HOME, PROJECT = "/home/dev", "/home/dev/proj"
FILES = Path(schema.__file__).parent


def _placed(path: str) -> str:
    path = path.replace("*", "x")
    return path.replace("~", HOME, 1) if path[0] == "~" else path if path[0] == "/" else f"{PROJECT}/{path}"


INSTALLED = sorted({(host.facts.name, file.path) for host in HOSTS.values() for file in host.facts.setup.files})
SERVERS = sorted({(host.name, file.path) for host in MCP_HOSTS.values() for file in host.files})
SETTINGS = sorted({(switch.host, file.path) for switch in SWITCHES for file in switch.files})


@pytest.mark.parametrize(("host", "path"), INSTALLED)
def test_what_install_writes_is_protected(host: str, path: str) -> None:
    inside = _placed(path)
    assert tamper_of(inside, HOME) is not None, (host, inside)
    assert tamper_of(f"{inside}/PreToolUse", HOME) is not None or "." in inside.rpartition("/")[2], (host, inside)


@pytest.mark.parametrize(("host", "path"), SERVERS)
def test_files_of_tool_servers_are_protected(host: str, path: str) -> None:
    assert tamper_of(_placed(path), HOME) is not None, (host, path)


@pytest.mark.parametrize(
    ("host", "path"),
    [row for row in SETTINGS if not row[1].lower().endswith(("code/user/settings.json", ".vscode/settings.json"))],
)
def test_files_with_switches_are_protected(host: str, path: str) -> None:
    """VS Code's own settings hold much else: there the switch itself counts (switch_reader.py)."""
    assert tamper_of(_placed(path), HOME) is not None, (host, path)


@pytest.mark.parametrize("name", BY_NAME)
def test_directories_are_protected(name: str) -> None:
    known = BY_NAME[name]
    for place in known.directories:
        assert protected_place_of(_placed(place), HOME) is not None, place
    for place in known.in_projects:
        assert protected_place_of(f"{PROJECT}/{place}", HOME) is not None, place


@pytest.mark.parametrize("name", BY_NAME)
def test_logins_are_secrets(name: str) -> None:
    for pattern in BY_NAME[name].credentials:
        assert secret_of(f"{HOME}/{pattern}", HOME) is not None, pattern


@pytest.mark.parametrize("name", BY_NAME)
def test_a_terminal_of_an_agent_is_no_persons(name: str) -> None:
    assert {program[:15] for program in BY_NAME[name].programs} <= PROCESS_NAMES
    assert set(BY_NAME[name].marks) <= set(MARKS)


@pytest.mark.parametrize("name", BY_NAME)
def test_the_programs_of_agents_have_a_handler(name: str) -> None:
    load()
    assert [
        program for program in BY_NAME[name].programs if program not in HANDLERS and program not in OTHERS_TOO
    ] == []


@pytest.mark.parametrize("name", HOST_NAMES)
def test_every_list_has_what_the_file_of_a_host_says(name: str) -> None:
    known = agent_of_host(name)
    hooks, facts = known.hooks, HOSTS[name].facts
    assert hooks is not None
    assert known == BY_NAME[name]
    assert known.name == name, "the file is called as the agent"
    assert all(getattr(facts, field) == getattr(hooks, field) for field in ("evidence", "asks", "rewrites", "replaces"))
    assert (facts.name, facts.title) == (known.name, known.title)
    assert facts.setup == replace(hooks.setup, program=facts.setup.program)
    assert facts.setup.program == hooks.setup.program or facts.setup.program == known.programs[0]
    assert {**facts.points, **hooks.points} == facts.points
    assert bool(HOOK_TIMES[name].longest) is hooks.setup.takes_timeout
    for other in (name, *known.aliases, name.upper()):
        assert host_named(other) is HOSTS[name]
        assert mcp_host(other) is MCP_HOSTS.get(name)
    assert (name in MCP_HOSTS) is (known.tool_servers is not None)
    assert (name in HOST_TOOLS) is (known.tools is not None)
    assert set(HOST_TOOLS.get(name, ())) <= set(KNOWN_TOOL_NAMES)
    assert {switch.fact for switch in SWITCHES if switch.host == name} == set(known.off_keys)
    for row in known.off_keys:
        for file in known.settings_files:
            found = [each for each in SWITCHES if each.fact == row and file in each.files]
            assert bool(found) is (not row.files or file.path in row.files)
        assert set(row.files) <= {file.path for file in known.settings_files}
    for option in known.off_options:
        value = {"one-of": "hooks", "assigns-false": "features.hooks=false", "settings": '{"disableAllHooks": true}'}
        for word in option.names:
            told = [word] if option.when == "given" else [word, value.get(option.when, "elsewhere")]
            assert [found for found, _ in off_flags_in(name, told)] == [option]
    assert all(is_off_command(name, command.split()) for command in known.off_commands)
    assert all(OFF_VARIABLES[variable.name] is variable for variable in BY_NAME[name].off_variables)


def test_no_list_has_an_agent_of_its_own() -> None:
    assert tuple(HOSTS) == HOST_NAMES == tuple(HOOK_TIMES)
    assert {file.stem for file in (FILES / "hosts").iterdir()} == set(HOST_NAMES)
    for names in (HOST_TOOLS, MCP_HOSTS, {switch.host: 0 for switch in SWITCHES}):
        assert names.keys() <= BY_NAME.keys()


def test_a_host_without_words_of_its_own_has_no_module() -> None:
    folder = Path(all_hosts.__file__).parent
    codecs = {name for name in HOST_NAMES if (folder / f"{name.replace('-', '_')}.py").exists()}
    assert codecs == {agent.name for agent in AGENTS if agent.hooks and agent.hooks.codec}
    assert all(agent.hooks.codec for agent in AGENTS if agent.hooks and agent.hooks.wire == "own")


def _claimed(*rows: dict[str, Agent]) -> Iterator[str]:
    for table in rows:
        yield from table


def test_no_two_agents_claim_the_same() -> None:
    assert len(BY_NAME) == len(AGENTS)
    for claims in ("programs", "packages", "aliases", "moved_by", "marks", "editors"):
        every = [word for agent in AGENTS for word in getattr(agent, claims)]
        assert len(every) == len(set(every)), claims
    assert not ALIASES.keys() & BY_NAME.keys()


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_a_file_makes_sense(agent: Agent) -> None:
    """What the schema can't say. Each message names the fact that is wrong."""
    assert agent.name == agent.name.lower(), "name: small letters, digits and hyphens"
    assert set(agent.shared_names) <= set(agent.programs), "shared_names: some of its programs"
    assert agent.only_app is False or not (agent.programs or agent.directories), "only_app: it has a life of its own"
    for place in agent.directories:
        assert place.startswith(("~/", "/")), f"directories: {place} is neither in a home nor absolute"
    for place in agent.in_projects:
        assert not place.startswith(("~", "/")), f"in_projects: {place} is not in a project"
    for pattern in (*agent.settings, *agent.servers, *agent.credentials):
        assert pattern == pattern.lower(), f"{pattern}: patterns are in small letters"
        assert " " not in pattern, f"{pattern}: a blank is written %20"
    if (hooks := agent.hooks) is None:
        return
    setup, events = hooks.setup, {event.name for event in hooks.setup.events}
    points = HOSTS[agent.name].facts.points
    assert events <= points.keys(), "setup.events: each is known by its point"
    assert setup.layout == "plugin" or any(event.gate for event in setup.events), "setup.events: one decides"
    assert all(points[event.name] in _GATES for event in setup.events if event.gate), "setup.events: gate"
    for fact in ("asks", "rewrites", "replaces", "hears", "prompts", "says_it_asks", "sets_model", "commands"):
        assert set(getattr(hooks, fact)) <= points.keys(), f"{fact}: names events of its points"
    assert {*hooks.gates, *hooks.prints} <= points.keys()
    assert bool(hooks.gates) is (hooks.wire == "exit-code" or agent.name == "windsurf"), "gates: for exit codes"
    assert setup.program or agent.programs, "setup.program: nobody can ask its version"
    assert (setup.layout == "plugin") is bool(setup.plugin), "setup.plugin: the program of a plugin"
    assert set(hooks.because) <= set(hooks.__struct_fields__), "because: speaks of a fact"
    for file in setup.files:
        assert (file.scope == "managed") is file.path.startswith("/"), f"setup.files: {file.path} is not {file.scope}"
        assert (file.scope == "user") is file.path.startswith("~/"), f"setup.files: {file.path} is not {file.scope}"
        assert file.path.startswith(file.root or file.path), f"setup.files: {file.root} is not the root of {file.path}"
        assert set(file.also_run_by) <= set(HOST_NAMES), "setup.files: also_run_by names hosts"


_GATES = ("tool.before", "permission.ask", "message.before")

WRONG = [
    ("a word that nobody knows", '{"name": "x", "title": "X", "program": ["x"]}', "unknown field `program`"),
    ("another type", '{"name": "x", "title": "X", "programs": "x"}', "Expected `array`, got `str` - at `$.programs`"),
    ("a word that is none of them", '{"name": "x", "title": "X", "hooks": {"evidence": "guess", "wire": "own"}}',
     "Invalid enum value 'guess' - at `$.hooks.evidence`"),
    ("half of it", '{"name": "x"}', "missing required field `title`"),
    ("a setup without files", '{"name": "x", "title": "X", "hooks": {"evidence": "run", "wire": "own", "setup": {}}}',
     "missing required field `layout` - at `$.hooks.setup`"),
    ("no JSON", '{"name": "x", ', "Input data was truncated"),
    ("no text", b'{"name": "\xff"}', "can't decode byte 0xff"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "text", "said"), WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_file_is_told_by_its_name_and_place(
    note: str, text: str | bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_HERE", tmp_path)
    (tmp_path / "hosts").mkdir()
    (tmp_path / "without_hooks.json").write_text("[]")
    file = tmp_path / "hosts" / "x.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    for read in (lambda: agent_of_host("x"), every_agent):
        with pytest.raises(AgentFileError) as caught:
            read()
        assert str(file) in str(caught.value), note
        assert said in str(caught.value), note


@pytest.mark.parametrize("name", ["", "../hosts/kiro", "/etc/passwd", "kiro.json", "kiro/", ".", "goose", "KIRO\0"])
def test_no_name_leads_to_another_file(name: str) -> None:
    assert not has_hooks(name)
    assert HOSTS.get(name) is None


def test_words_that_speak_of_switches_are_known() -> None:
    for switch in SWITCHES:
        if any("hook" in part.lower() for part in switch.fact.key[-1:]) and switch.fact.key != ("hooks",):
            assert names_switch(".".join(switch.fact.key)), switch.fact.spoken
        assert all(is_such_file(file, _placed(file.path)) for file in switch.files)


NEWCOMER = """
import json, os, pathlib, sys
from interpose.effects.agents import agent
agent._HERE = pathlib.Path(sys.argv[1])
from interpose.effects.agents.hook_times import HOOK_TIMES
from interpose.effects.agents.off_variables import off_variable
from interpose.effects.agents.switch_reader import switched_off_by
from interpose.core.config.load import load
from interpose.rules.guards.command_safety_guard import CommandSafetyGuard
from interpose.rules.governance.roles.host_tools import host_names
from interpose.doors.hooks.install.mcp_files import mcp_host
from interpose.doors.hooks.install.places import target_of
from interpose.doors.hooks.install.plan import plan_install
from interpose.effects.paths import protected_place_of, secret_of, tamper_of
from interpose.people.presence.agents import PROCESS_NAMES
from interpose.doors.hooks.hosts.all_hosts import HOSTS, host_named
home = os.environ["HOME"]
host = host_named("newcomer-cli")
judge = CommandSafetyGuard(profile="balanced", workspace="", home=home).judge
print(json.dumps({
    "listed": list(HOSTS)[-1], "waits": HOOK_TIMES["newcomer"].waits,
    "reads": host.read(host.facts.setup.canary).tool.name,
    "writes": str(plan_install(target_of(host.facts, "user", pathlib.Path(home)), load()).changes[-1].path),
    "tampers": [bool(tamper_of(home + path, home)) for path in ("/.newcomer/hooks.json", "/.newcomer/mcp.json")],
    "protects": bool(protected_place_of(home + "/.newcomer", home)),
    "hides": bool(secret_of(home + "/.newcomer/login.json", home)),
    "its terminal": "newcomer" in PROCESS_NAMES,
    "off": [bool(off_variable("NEWCOMER_PLAIN", "1")),
            bool(switched_off_by("/p/.newcomer/settings.json", '{"noHooks": true}'))],
    "its tools": host_names("read", "newcomer"), "its servers": mcp_host("newcomer").files[0].path,
    "its starts": [judge(line, home, home).decision for line in ("newcomer --plain", "newcomer --version")],
}))
"""


def test_a_new_file_is_all_that_a_host_needs(tmp_path: Path) -> None:
    """No list is edited by hand: a file brings an agent into each of them."""
    shutil.copytree(FILES / "hosts", tmp_path / "agents" / "hosts")
    shutil.copy(FILES / "without_hooks.json", tmp_path / "agents")
    file = json.loads((FILES / "hosts" / "droid.json").read_text(encoding="utf-8").replace("factory", "newcomer"))
    file |= {
        "name": "newcomer", "title": "Newcomer", "listed": 99, "aliases": ["newcomer-cli"], "programs": ["newcomer"],
        "packages": [], "credentials": [".newcomer/login.json"], "off_variables": [{"name": "NEWCOMER_PLAIN"}],
        "off_options": [{"names": ["--plain"], "shown": "--plain"}],
        "off_keys": [{"key": ["noHooks"], "off": "true", "means": "it runs no hook at all"}],
    }  # fmt: skip
    (tmp_path / "agents" / "hosts" / "newcomer.json").write_text(json.dumps(file), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", NEWCOMER, str(tmp_path / "agents")], capture_output=True, check=False, timeout=PATIENCE,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == {
        "listed": "newcomer", "waits": 240.0, "reads": "exec", "writes": str(tmp_path / ".newcomer" / "hooks.json"),
        "tampers": [True, True], "protects": True, "hides": True, "its terminal": True, "off": [True, True],
        "its tools": ["Read"], "its servers": "~/.newcomer/mcp.json", "its starts": ["ask", "allow"],
    }  # fmt: skip
