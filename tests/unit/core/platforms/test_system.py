"""Where each system keeps our files, and that they are protected there."""

from __future__ import annotations

import pytest

from interpose.effects.paths.ours import could_be_ours, ours_of
from interpose.effects.systems import LINUX, MACOS, OTHER, System, system_named


@pytest.mark.parametrize("system", [LINUX, MACOS, OTHER], ids=lambda system: system.title)
def test_our_directories_are_protected_under_any_home(system: System) -> None:
    """On every system, as nobody can say where a command will run: the table of paths and this one agree."""
    for home in ("/Users/ann", "/home/ann"):
        for below in (system.config, system.state):
            found = ours_of(f"{home}/{below}/interpose/approvals.key")
            assert found is not None, below
            assert found.private, below
            assert could_be_ours(f"{home}/{below}/*/approvals.key", home), below
        rules = ours_of(f"{home}/{system.config}/interpose/policy/rules.yaml")
        assert rules is not None
        assert not rules.private, "rules may be read"


@pytest.mark.parametrize(("platform", "system"), [("linux", LINUX), ("darwin", MACOS), ("freebsd14", OTHER)])
def test_a_system_has_its_own_facts(platform: str, system: System) -> None:
    assert system_named(platform) is system
