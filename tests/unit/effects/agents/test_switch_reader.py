"""Every switch of the table is read in every file that it can stand in, and nothing else is taken for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.session_switches import _found as project_switches_of
from interpose.effects.agents import switch_reader
from interpose.effects.agents.agent import OURS, SettingsFile
from interpose.effects.agents.known_agents import AGENTS
from interpose.effects.agents.off_switches import SWITCHES, OffSwitch
from interpose.effects.agents.switch_reader import _toml, found_switches, is_such_file, switched_off_by

OFF: dict[str, Any] = {
    "true": True,
    "false": False,
    "ours": ["other", OURS],
    "not-ours": ["other"],
    "nowhere-ours": {"PreToolUse": []},
}
ON: dict[str, Any] = {
    "true": False,
    "false": True,
    "ours": ["other"],
    "not-ours": ["other", OURS],
    "nowhere-ours": {"PreToolUse": [{"hooks": [{"command": f"/x/{OURS}/hooks/openhands"}]}]},
}
EVERY = [(switch, file) for switch in SWITCHES for file in switch.files]
NAMES = [f"{switch.host} {switch.fact.spoken} {file.path}" for switch, file in EVERY]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(switch_reader, "SYSTEM", tmp_path / "system")
    (tmp_path / "home" / "project" / ".git").mkdir(parents=True)
    return tmp_path


def text_with(switch: OffSwitch, file: SettingsFile, value: Any) -> str:
    key = [part.replace("*", "some") for part in switch.fact.key]
    if file.form == "toml":
        table = ".".join(f'"{part}"' for part in key[:-1])
        return (f"[{table}]\n" if table else "") + f"{key[-1]} = {json.dumps(value)}\n"
    data = value
    for part in reversed(key):
        data = {part: data}
    return json.dumps(data)


def place_of(file: SettingsFile, machine: Path) -> Path:
    path = file.path.replace("*", "some")
    if path.startswith("~/"):
        return machine / "home" / path[2:]
    return machine / "system" / path[1:] if path.startswith("/") else machine / "home" / "project" / path


def found_in(machine: Path, directory: str = "project", **more: str) -> list[str]:
    home = machine / "home"
    switches = found_switches(home / directory, environ={"HOME": str(home), **more})
    return [f"{each.host} {each.key} {each.level}" for each in switches]


@pytest.mark.parametrize(("switch", "file"), EVERY, ids=NAMES)
def test_a_switch_is_found_where_it_stands(switch: OffSwitch, file: SettingsFile, machine: Path) -> None:
    path = place_of(file, machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_with(switch, file, OFF[switch.fact.off]), encoding="utf-8")
    assert f"{switch.host} {switch.fact.spoken} {file.level}" in found_in(machine)
    path.write_text(text_with(switch, file, ON[switch.fact.off]), encoding="utf-8")
    assert found_in(machine) == []


@pytest.mark.parametrize(("switch", "file"), [row for row in EVERY if row[0].fact.key])
def test_writing_it_is_seen_in_the_text_alone(switch: OffSwitch, file: SettingsFile) -> None:
    path = "/x/" + file.path.removeprefix("~/").replace("*", "some") if file.path[0] != "/" else file.path
    assert is_such_file(file, path)
    assert switched_off_by(path, text_with(switch, file, OFF[switch.fact.off])) is not None
    assert switched_off_by(path, text_with(switch, file, ON[switch.fact.off])) is None


@pytest.mark.parametrize(
    ("note", "text", "found"),
    [
        ("an empty one", "{}", True),
        ("hooks of somebody else", '{"stop": [{"hooks": [{"command": "make lint"}]}]}', True),
        (
            "ours among them",
            '{"stop": [], "hooks": {"PreToolUse": [{"hooks": [{"command": "/s/interpose/hooks/x"}]}]}}',
            False,
        ),
    ],
)
def test_a_file_that_takes_the_place_of_the_users(note: str, text: str, found: bool, machine: Path) -> None:
    file = machine / "home" / "project" / ".openhands" / "hooks.json"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    assert (found_in(machine) == ["openhands the whole file project"]) is found, note
    assert switched_off_by(str(file), text) is None, "it is asked about as any settings are"
    for each in found_switches(machine / "home" / "project", environ={"HOME": str(machine / "home")}):
        assert "interpose install openhands --project" in each.text
    assert project_switches_of(str(machine / "home" / "project")) == (), "other agents' sessions have nothing to fear"


READ_BY_AGENTS = [
    ("plain", '{"disableAllHooks": true}', True),
    ("a comment before it", '// x\n{/* y */"disableAllHooks": true}', True),
    ("a comma too many", '{"disableAllHooks": true,}', True),
    ("twice, the last counts", '{"disableAllHooks": false, "disableAllHooks": true}', True),
    ("twice, some take the first", '{"disableAllHooks": true, "disableAllHooks": false}', True),
    ("letters written otherwise", '{"disable\\u0041llHooks": true}', True),
    ("a byte order mark", '\ufeff{"disableAllHooks": true}', True),
    ("a word for it", '{"disableAllHooks": "true"}', True),
    ("in a comment only", '{"x": 1 // "disableAllHooks": true\n}', False),
    ("in a text only", '{"x": "\\"disableAllHooks\\": true"}', False),
    ("deeper than it counts", '{"x": {"disableAllHooks": true}}', False),
    ("not turned", '{"disableAllHooks": null}', False),
]


@pytest.mark.parametrize(("note", "text", "off"), READ_BY_AGENTS, ids=[row[0] for row in READ_BY_AGENTS])
def test_what_agents_take_is_taken(note: str, text: str, off: bool, machine: Path) -> None:
    file = machine / "home" / "project" / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    assert found_in(machine) == (["claude-code disableAllHooks project"] if off else []), note


@pytest.mark.parametrize(
    "text", ['{"disableAllHooks": tru', "[" * 100_000 + '"disableAllHooks"', '"disableAllHooks"\0']
)
def test_what_nobody_can_read_is_said(text: str, machine: Path) -> None:
    file = machine / "home" / "project" / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    (found,) = found_switches(machine / "home" / "project", environ={"HOME": str(machine / "home")})
    assert found.problem
    assert "can't be read" in found.text


def test_a_pipe_is_not_waited_for(machine: Path) -> None:
    import os

    place = machine / "home" / "project" / ".qwen"
    place.mkdir()
    os.mkfifo(place / "settings.json")
    (found,) = found_switches(machine / "home" / "project", environ={"HOME": str(machine / "home")})
    assert found.problem


def test_the_directories_above_count_as_far_as_the_repository_goes(machine: Path) -> None:
    home = machine / "home"
    (home / "project" / "deep" / "down").mkdir(parents=True)
    (home / "project" / ".codex").mkdir()
    (home / "project" / ".codex" / "config.toml").write_text("[features]\nhooks = false\n", encoding="utf-8")
    assert found_in(machine, "project/deep/down") == ["codex features.hooks project"]
    (home / "elsewhere" / "down").mkdir(parents=True)
    (home / "elsewhere" / ".codex").mkdir()
    (home / "elsewhere" / ".codex" / "config.toml").write_text("[features]\nhooks = false\n", encoding="utf-8")
    assert found_in(machine, "elsewhere/down") == []


def test_settings_that_were_moved(machine: Path) -> None:
    moved = machine / "moved"
    moved.mkdir()
    (moved / "settings.json").write_text('{"disableAllHooks": true}', encoding="utf-8")
    assert found_in(machine, CLAUDE_CONFIG_DIR=str(moved)) == ["claude-code disableAllHooks user"]
    named = {"GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(moved / "settings.json")}
    (moved / "settings.json").write_text('{"hooksConfig": {"enabled": false}}', encoding="utf-8")
    assert found_in(machine, **named) == ["gemini-cli hooksConfig.enabled managed"]


def test_hosts_are_known_agents_with_their_directories() -> None:
    known = {agent.name: agent for agent in AGENTS}
    assert {switch.host for switch in SWITCHES} <= HOSTS.keys()
    for name, host in HOSTS.items():
        user = next(file for file in host.facts.setup.files if file.scope == "user")
        holders = [place for agent in AGENTS for place in agent.directories]
        assert any(user.path.startswith(f"{place}/") or user.path == place for place in holders), name
        moves = ("COPILOT_HOME",) if name == "vscode" else known[name].moved_by  # its hooks are Copilot's
        assert user.moved_by in ("", "XDG_CONFIG_HOME", *moves), name


HIDDEN = '{"disableAll\\u0048ooks": true'
PADDED = [
    ("as it is", f"{HIDDEN}}}"),
    ("nested deeper than JSON is read", f'{HIDDEN}, "a": {"[" * 1000}{"]" * 1000}}}'),
    ("a number that is too long", f'{HIDDEN}, "n": {"1" * 5000}}}'),
    ("a mark before it", f"\ufeff{HIDDEN}}}"),
    ("words behind it", f"{HIDDEN}}} and more"),
    ("a text that is too long", f"{HIDDEN}}}{' ' * 300_000}"),
    ("a comment in between", '"disableAllHooks":\n /* no */ true'),
]


@pytest.mark.parametrize(("note", "text"), PADDED)
def test_padding_hides_no_switch(note: str, text: str) -> None:
    assert switched_off_by("/p/.claude/settings.local.json", text) is not None


@pytest.mark.parametrize("letter", ["\\u006f", "\\U0000006f", "\\x6f"])
def test_letters_by_their_codes_hide_no_switch_in_toml(letter: str) -> None:
    assert switched_off_by("/p/.codex/config.toml", f'[features]\n"ho{letter}ks" = false\n') is not None


def test_keys_of_many_parts_are_not_read() -> None:
    """Each part is looked up from the beginning: a hundred thousand would take a minute."""
    with pytest.raises(ValueError, match="parts"):
        _toml(".".join(["a"] * 100_000) + " = 1")
