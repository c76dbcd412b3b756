"""Homes of users who have settings of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from interpose.core.config.load import Loaded, load
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install import own_environment
from interpose.doors.hooks.install.apply import apply
from interpose.doors.hooks.install.places import InstallTarget, Scope, target_of
from interpose.doors.hooks.install.plan import Plan, plan_install, plan_uninstall
from interpose.effects.agents.agent import Looseness
from interpose.effects.environment.verified import verify

VARIABLES = (
    "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "INTERPOSE_CONFIG_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME",
    "COPILOT_HOME",
)  # fmt: skip


def new_home(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home that is the home of this process."""
    path.mkdir(parents=True, exist_ok=True)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.setattr(own_environment, "verify", _verify_once)
    return path


_verify_once = cache(verify)
"""Every file of this environment is hashed once, and not by every test that runs doctor."""


def answered(typed: str | None) -> Callable[[str], str]:
    """What a person types at a terminal; None closes it."""

    def read(_prompt: str) -> str:
        if typed is None:
            raise EOFError
        return typed

    return read


def target(name: str, scope: Scope = "user", project: Path = Path("/nowhere")) -> InstallTarget:
    return target_of(HOSTS[name].facts, scope, project)


def loose(where: InstallTarget) -> InstallTarget:
    """The same place of a host that reads comments, trailing commas and a byte order mark: editing is one for all."""
    facts = where.facts
    takes: tuple[Looseness, ...] = ("comment", "trailing comma", "byte order mark")
    return replace(where, facts=replace(facts, setup=replace(facts.setup, takes=takes)))


def installed(where: InstallTarget, loaded: Loaded | None = None, *, fail_open: bool = False) -> Plan:
    loaded = loaded or load()
    plan = plan_install(where, loaded, fail_open=fail_open)
    apply(plan, loaded.places)
    return plan


def uninstalled(where: InstallTarget, loaded: Loaded | None = None) -> Plan:
    loaded = loaded or load()
    plan = plan_uninstall(where, loaded)
    apply(plan, loaded.places)
    return plan


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything under a directory, but for our own state."""
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
        if not path.is_relative_to(root / ".local")
    }
