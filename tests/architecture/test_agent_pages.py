"""The pages about agents say what the code does: tables and files are compared with the facts of each host."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import get_args

import pytest

import interpose
from interpose.agents.known_agents import BY_NAME
from interpose.agents.off_flags import COMMANDS, FLAGS
from interpose.agents.off_switches import SWITCHES
from interpose.agents.off_variables import VARIABLES
from interpose.config.load import load
from interpose.install.places import target_of
from interpose.install.plan import plan_install
from interpose.surfaces.hosts.all_hosts import HOSTS
from interpose.surfaces.hosts.events import Evidence, HostFacts
from tests.unit.install.homes import VARIABLES as PLACES

PAGES = Path(__file__).parents[2] / "docs" / "agents"
FILE_BLOCK = re.compile(r"^```(?:json|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def row_of(facts: HostFacts) -> str:
    yes = {True: "yes", False: "no"}
    results = "MCP tools" if facts.replaces_tools else yes[bool(facts.replaces)]
    cells = (
        f"[{facts.title}]({facts.name}.md)", f"`{facts.name}`", facts.evidence, yes[bool(facts.asks)],
        yes[bool(facts.rewrites)], results,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def test_the_table_has_every_host() -> None:
    rows = [line for line in page("README").splitlines() if line.startswith("| [")]
    assert rows == [row_of(host.facts) for host in HOSTS.values()]


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_the_page_of_a_host(name: str) -> None:
    facts, text = HOSTS[name].facts, page(name)
    assert text.startswith(f"# {facts.title}\n")
    assert f"(`{facts.evidence}`)" in text
    assert ("**experimental**" in text) is facts.experimental
    for event in (*facts.asks, *facts.rewrites, *facts.replaces):
        assert f"`{event}`" in text
    for said in (*facts.setup.opens_on, facts.setup.afterwards, *(f"`{file.path}`" for file in facts.setup.files)):
        assert said in text


ENVIRONMENT = "/home/you/.local/share/interpose/env"


def written_for_you(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What `interpose install` writes in the home /home/you, where no file of this agent is: text by path."""
    for variable in PLACES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/home/you")
    plan = plan_install(target_of(HOSTS[name].facts, "user", Path("/home/you")), load())
    package = Path(interpose.__file__).parent
    return {
        str(change.path): (change.after or b"").decode()
        .replace(sys.executable, f"{ENVIRONMENT}/bin/python")
        .replace(str(package), f"{ENVIRONMENT}/lib/python3.13/site-packages/interpose")
        for change in plan.changes
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", [name for name in sorted(HOSTS) if HOSTS[name].facts.setup.layout in ("groups", "flat", "scripts")]
)
def test_the_file_of_a_host(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows it byte for byte."""
    (shown,) = FILE_BLOCK.findall(page(name))
    place = target_of(HOSTS[name].facts, "user", Path("/home/you"), {"HOME": "/home/you"}).path
    texts = [text for path, text in written_for_you(name, monkeypatch).items() if Path(path).is_relative_to(place)]
    assert set(texts) == {shown}


def switches_of(name: str) -> str:
    """A row of the table of off switches."""
    keys = dict.fromkeys(switch.spoken_key for switch in SWITCHES if switch.host == name)
    flags = [flag.shown for flag in FLAGS if flag.host == name]
    commands = [" ".join(command.words) for command in COMMANDS if command.host == name]
    off = [variable.name for variable in VARIABLES if variable.host == name]
    moved = BY_NAME[name].moved_by if name in BY_NAME else ()
    cells = [", ".join(f"`{text.replace('`', '')}`" for text in cell) for cell in (keys, flags, commands, off, moved)]
    return f"| {HOSTS[name].facts.title} | {' | '.join(cells)} |"


def test_the_table_has_every_switch() -> None:
    text = page("README")
    for name in HOSTS:
        assert switches_of(name) in text, switches_of(name)


MODES = "| mode | its events say | what it makes of `ask` | what we answer | known from |"
LEFT_TO_IT, REFUSED = "`ask`", ("refused, waits in our queue", "as above")
HANDED_OVER = "refused, waits in our queue; ordinary questions get `ask` with `hooks.ask: host`"


def modes_on(name: str) -> list[list[str]]:
    """The rows of a page's table of modes."""
    section = page(name).split("## Modes\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    assert rows[0] == MODES
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[2:]]


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_the_modes_of_a_host(name: str) -> None:
    """A question is left to a host in the modes of its facts, and in no other that its page names."""
    facts, rows = HOSTS[name].facts, modes_on(name)
    left = {
        word for _, said, _, answer, _ in rows if answer == LEFT_TO_IT for word in said.replace("`", "").split(", ")
    }
    assert left == ({word or "nothing" for word in facts.asks_in} if facts.asks else set())
    handed = {said.replace("`", "") for _, said, _, answer, _ in rows if answer == HANDED_OVER}
    assert handed == set(facts.hands_over_in)
    assert all(answer in (LEFT_TO_IT, HANDED_OVER, *REFUSED) for _, _, _, answer, _ in rows)
    assert all(known in get_args(Evidence) for _, _, _, _, known in rows)
    assert any(known == facts.evidence for _, _, _, _, known in rows) or facts.evidence == "source"
