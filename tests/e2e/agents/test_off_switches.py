"""The rows that `scripts/agents --switches` runs: each is a switch of the table, and this machine is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from interpose.effects.agents.off_flags import off_flags_in
from interpose.effects.agents.off_variables import off_in_environment
from interpose.effects.agents.switch_reader import found_switches
from tests.e2e.agents.home import Home
from tests.e2e.agents.known import AGENTS
from tests.e2e.agents.off_switches import MARK, ROWS, SeenSwitch, SwitchRow, run_rows, table, turn_off


def home_in(path: Path) -> Home:
    return cast("Home", SimpleNamespace(home=path / "home", project=path / "home" / "project"))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.host} {row.name}" for row in ROWS])
def test_a_row_turns_a_switch_that_is_known(row: SwitchRow, tmp_path: Path) -> None:
    home = home_in(tmp_path)
    (home.project / ".git").mkdir(parents=True)
    turn_off(home, row)
    found: list[Any] = list(found_switches(home.project, host=row.host, environ={"HOME": str(home.home)}))
    found += off_flags_in(row.host, row.words)
    found += off_in_environment(row.host, row.environment)
    assert found


def test_what_a_file_had_stays_in_it(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    file = home.home / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"hooks": {"Stop": []}}')
    turn_off(home, ROWS[0])
    assert json.loads(file.read_text()) == {"hooks": {"Stop": []}, "disableAllHooks": True}


def test_every_agent_that_is_run_has_rows() -> None:
    assert {row.host for row in ROWS} == {agent.host for agent in AGENTS}
    assert len({(row.host, row.name) for row in ROWS}) == len(ROWS)


def test_it_does_not_run_on_this_machine(tmp_path: Path) -> None:
    assert not MARK.exists()
    with pytest.raises(SystemExit, match="copy"):
        run_rows(AGENTS, {}, tmp_path, (), print)


def test_the_table() -> None:
    shown = table([SeenSwitch(ROWS[0], "RUNS", "refused", "off switch", "off switch")])
    assert "| claude-code | `disableAllHooks, user` | RUNS | refused | off switch | off switch |" in shown
