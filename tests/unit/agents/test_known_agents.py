"""What is known of agents is written once: whatever else speaks about an agent agrees with its row in the table."""

from __future__ import annotations

import pytest

from interpose.agents.known_agents import BY_NAME, PROCESS_NAMES
from interpose.agents.off_flags import COMMANDS, FLAGS
from interpose.agents.off_switches import SWITCHES
from interpose.agents.off_variables import VARIABLES
from interpose.install.mcp_files import MCP_HOSTS
from interpose.paths import protected_place_of, tamper_of
from interpose.shell.commands import load
from interpose.shell.commands.shared.agent_starts import OTHERS_TOO
from interpose.shell.commands.shared.handler_table import HANDLERS
from interpose.surfaces.hosts.all_hosts import HOSTS

HOME, PROJECT = "/home/dev", "/home/dev/proj"


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
def test_a_terminal_of_an_agent_is_no_persons(name: str) -> None:
    assert {program[:15] for program in BY_NAME[name].programs} <= PROCESS_NAMES


@pytest.mark.parametrize("name", BY_NAME)
def test_the_programs_of_agents_have_a_handler(name: str) -> None:
    load()
    assert [
        program for program in BY_NAME[name].programs if program not in HANDLERS and program not in OTHERS_TOO
    ] == []


def test_every_table_speaks_of_known_agents() -> None:
    spoken = {row.host for table in (FLAGS, COMMANDS, VARIABLES, SWITCHES) for row in table}
    assert spoken <= {*BY_NAME, "vscode"}
    assert set(HOSTS) <= {*BY_NAME, "vscode"}
