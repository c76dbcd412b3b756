"""A command that names what guards an agent is a question, whatever its program is called and wherever the name is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.effects.agents.known_agents import AGENTS
from interpose.effects.handler_table import HANDLERS
from interpose.effects.programs import load
from interpose.effects.shell.protected_places import EXACT, READERS
from interpose.rules.guards.command_safety_guard import CommandSafetyGuard

HOME, CWD = "/home/dev", "/home/dev/proj"
GUARD = CommandSafetyGuard(home=HOME)

FILES = sorted(
    {
        f"{HOME}/{pattern}x.js" if pattern.endswith("/") else f"{HOME}/{pattern}"
        for agent in AGENTS
        for pattern in (*agent.settings, *agent.servers)
        if pattern[0] != "/" and "%20" not in pattern
    }
)
DIRECTORIES = sorted(
    {place.replace("~", HOME, 1) for agent in AGENTS for place in agent.directories if place[0] == "~"}
)


def _from_inside(program: str, path: str) -> str:
    directory, _, name = path.rpartition("/")
    return f"cd {directory} && {program} -o {name}"


def _through_link(program: str, path: str) -> str:
    directory, _, name = path.rpartition("/")
    return f"ln -s {directory} here && {program} here/{name}"


def _by_pattern(program: str, path: str) -> str:
    directory, _, name = path.rpartition("/")
    return f"{program} {directory}/{name[:3]}*"


SPELLINGS: tuple[Callable[[str, str], str], ...] = (
    lambda program, path: f"{program} {path}",
    lambda program, path: f"{program} a b {path} c",
    lambda program, path: f"{program} --to={path}",
    lambda program, path: f"{program} -o{path}",
    lambda program, path: f"{program} -o {path} x",
    lambda program, path: f"{program} of={path}",
    lambda program, path: f"{program} @{path}",
    lambda program, path: f"{program} src:{path}",
    lambda program, path: f"{program} one,{path}",
    lambda program, path: f"{program} ~{path.removeprefix(HOME)}",
    lambda program, path: f'{program} "$HOME{path.removeprefix(HOME)}"',
    lambda program, path: f"{program} '{path}'",
    lambda program, path: f"{program} {HOME}/proj/..{path.removeprefix(HOME)}",
    lambda program, path: f"d={path.rpartition('/')[0]}; {program} $d/{path.rpartition('/')[2]}",
    lambda program, path: f"{program} $(echo {path})",
    lambda program, path: f"TRACE={path} {program}",
    lambda program, path: f"echo {path} | xargs {program}",
    lambda program, path: f"nice timeout 9 {program} {path}",
    lambda program, path: f"(exec {program} {path})",
    _from_inside,
    _through_link,
    _by_pattern,
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    load()
    name = draw(st.from_regex(r"[a-z][a-z0-9_-]{2,11}", fullmatch=True))
    return name if name not in HANDLERS and name not in READERS | EXACT else f"{name}-zz"


@settings(max_examples=300, deadline=None)
@given(programs(), st.sampled_from(FILES), st.sampled_from(SPELLINGS))
def test_settings_that_are_named_are_a_question(program: str, path: str, spelled: Callable[[str, str], str]) -> None:
    command = spelled(program, path)
    assert GUARD.judge(command, CWD, HOME).decision != "allow", command


@settings(max_examples=100, deadline=None)
@given(programs(), st.sampled_from([*DIRECTORIES, HOME, "/home/dev/.config"]), st.sampled_from(SPELLINGS[:13]))
def test_directories_of_settings_are_a_question(program: str, path: str, spelled: Callable[[str, str], str]) -> None:
    command = spelled(program, path)
    assert GUARD.judge(command, CWD, HOME).decision != "allow", command


@pytest.mark.parametrize(
    "program", sorted(READERS - {"[[", "source", ".", "export", "declare", "typeset", "readonly", "set"})
)
def test_readers_read(program: str) -> None:
    command = f"{program} {HOME}/.claude/settings.json"
    assert GUARD.judge(command, CWD, HOME).decision == "allow", command


def test_no_program_is_both_a_reader_and_exact() -> None:
    assert not READERS & EXACT


@pytest.mark.parametrize("program", sorted(EXACT))
def test_an_exact_program_has_a_handler(program: str) -> None:
    load()
    assert program in HANDLERS


@pytest.mark.parametrize("padding", ["x", ".x", "~/x"])
def test_many_words_before_a_protected_place_hide_nothing(padding: str) -> None:
    command = f"frobnicate {f'{padding} ' * 900}~/.claude/settings.json"
    assert GUARD.judge(command, CWD, HOME).decision != "allow"
