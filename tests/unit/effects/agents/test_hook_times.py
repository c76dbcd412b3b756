"""What is known of hosts' patience agrees with what is written into their files, and with the docs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpose.core.config.load import load
from interpose.doors.hooks.clients.client_files import seconds_of, wait_of
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.hook_places import hooks_of
from interpose.effects.agents import hook_times
from interpose.effects.agents.agent import LONGEST, MARGIN
from interpose.effects.agents.hook_times import HOOK_TIMES

ROOT = Path(__file__).parents[4]


def test_every_host_has_its_time() -> None:
    assert set(HOOK_TIMES) == set(HOSTS)


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_that_is_told_no_timeout_is_not_kept_waiting(host: str) -> None:
    setup, time = HOSTS[host].facts.setup, HOOK_TIMES[host]
    told = setup.layout in ("groups", "flat") and bool(setup.timeout_key)
    if setup.layout == "plugin":
        told = True  # our own code, which ends when we say
    assert bool(time.waits) is told
    assert bool(time.longest) is told
    assert bool(time.why) is not told
    if told:
        assert time.longest <= min((event.most for event in setup.events if event.gate), default=LONGEST)


@pytest.mark.parametrize("host", [name for name in HOSTS if HOSTS[name].facts.setup.layout in ("groups", "flat")])
def test_a_host_gives_its_hook_more_than_the_hook_takes(host: str, tmp_path: Path) -> None:
    """INVARIANT of all hosts that run a call when its hook takes too long."""
    one, config = HOSTS[host], load(environ={"HOME": str(tmp_path)}).config
    setup = one.facts.setup
    if not setup.timeout_key:
        return
    takes = seconds_of(one, config) + wait_of(one, config)
    written = hooks_of(setup, "x", seconds_of(one, config), wait_of(one, config))
    events = written[setup.key] if setup.key else written
    for event in setup.events:
        if event.gate:
            [entry] = events[event.name]
            hook = entry["hooks"][0] if "hooks" in entry else entry
            assert hook[setup.timeout_key] / setup.timeout_unit >= takes + MARGIN, json.dumps(entry)


def test_the_docs_have_the_same_table() -> None:
    page = (ROOT / "docs" / "waiting.md").read_text()
    rows = "".join(f"| `{name}` | {time.waits:g} s | {time.longest} s |\n" for name, time in HOOK_TIMES.items())
    assert rows in page, rows


def test_a_host_that_nobody_knows_waits_for_nobody() -> None:
    assert hook_times.wait_for("someone", {}, 30, 300) == 0
