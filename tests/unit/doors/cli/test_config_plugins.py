"""Plugins in the configuration: those that are not there, and settings of their own. Each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.composition.test_plugins import distribution

PLUGIN = """
from interpose import Deny

def register(registry, settings):
    unknown = set(settings) - {"days", "why"}
    if unknown:
        raise ValueError(f"unknown key {min(unknown)!r}")
    days = tuple(settings.get("days", ("friday",)))
    @registry.on("tool.before", id="no-fridays")
    def check(input, output):
        output.block, output.block_reason = True, f"not on {', '.join(days)}"
"""
PLAIN = """
def register(registry):
    registry.add(id="plain", name="tool.before", handler=lambda input, output: None)
"""
BROKEN = """
def register(registry):
    raise KeyError("colour")

def twice(registry):
    for _ in range(2):
        registry.add(id="twice", name="tool.before", handler=lambda input, output: None)
"""
CALL = """
from interpose import open_engine
from interpose.testing import call
print(open_engine().run().before(call("exec", command="ls")).reason)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return distribution(
        tmp_path / "site", "quiet", points="no-fridays = quiet_plugin:register\nplain = plain_plugin:register\n"
        "broken = broken_plugin:register\ntwice = broken_plugin:twice",
        modules={"quiet_plugin": PLUGIN, "plain_plugin": PLAIN, "broken_plugin": BROKEN},
    )  # fmt: skip


def run(site: Path, settings: str, *words: str) -> tuple[int, str]:
    home = site.parent / "home"
    file = home / ".config/interpose/interpose.yaml"
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.write_text(settings)
    file.chmod(0o600)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "INTERPOSE_", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, *words], cwd=home, env=kept | {"HOME": str(home), "PYTHONPATH": str(site)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


CHECK = ("-m", "interpose", "config", "check")
WRONG = [
    (
        "no such plugin", "plugins: [no-mondays]\n", "interpose.yaml:1: plugins: ",
        "offered: broken, no-fridays, plain, twice",
    ),
    (
        "a key that the plugin does not know",
        "plugins: [no-fridays]\ninterceptors:\n  no-fridays:\n    settings: {dys: []}\n",
        "interpose.yaml:4: interceptors.no-fridays.settings: ", "unknown key 'dys'",
    ),
    (
        "a plugin without settings", "plugins: [plain]\ninterceptors:\n  plain: {settings: {x: 1}}\n",
        "interpose.yaml:3: interceptors.plain.settings: ", "takes no settings",
    ),
    (
        "a plugin that fails", "plugins: [broken]\n", "interpose.yaml:1: plugins: ",
        "'broken' (broken_plugin:register) can't be registered: 'colour'",
    ),
    (
        "an interceptor that can't be added", "plugins: [twice]\n", "interpose.yaml:1: plugins: ",
        "'twice' (broken_plugin:twice) can't be registered: ",
    ),
    (
        "settings that are no map", "plugins: [no-fridays]\ninterceptors:\n  no-fridays: {settings: [x]}\n",
        "interpose.yaml:3: interceptors.no-fridays.settings: ", "expected a map of the plugin's own keys",
    ),
    (
        "an interceptor that no plugin has", "plugins: [plain]\ninterceptors:\n  no-fridays: {settings: {days: []}}\n",
        "interpose.yaml:3: interceptors.no-fridays: ", "unknown interceptor 'no-fridays'",
    ),
    (
        "a built-in interceptor", "interceptors:\n  builtin:audit-log: {settings: {x: 1}}\n",
        "interpose.yaml:2: interceptors.builtin:audit-log.settings: ", "unknown key 'settings'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("note", "settings", "where", "why"), WRONG, ids=[each[0] for each in WRONG])
def test_what_is_wrong_is_said_with_file_and_key(note: str, settings: str, where: str, why: str, site: Path) -> None:
    code, said = run(site, settings, *CHECK)
    assert code == 78, said
    assert where in said, note
    assert why in said, note


def test_a_plugin_is_given_its_settings(site: Path) -> None:
    settings = "plugins: [no-fridays]\ninterceptors:\n  no-fridays:\n    settings: {days: [monday, sunday]}\n"
    assert run(site, settings, *CHECK)[0] == 0
    assert "not on monday, sunday" in run(site, settings, "-c", CALL)[1]
    assert "not on friday" in run(site, "plugins: [no-fridays]\n", "-c", CALL)[1]


def test_settings_are_not_shown(site: Path) -> None:
    settings = "plugins: [no-fridays]\ninterceptors:\n  no-fridays:\n    settings: {why: hunter2}\n"
    said = run(site, settings, "-m", "interpose", "config", "show")[1]
    assert "interceptors.no-fridays.settings" in said
    assert "hunter2" not in said


def test_settings_that_are_refused_end_in_a_line(site: Path) -> None:
    settings = "plugins: [no-fridays]\ninterceptors:\n  no-fridays: {settings: {dys: 1}}\n"
    code, said = run(site, settings, "-m", "interpose", "serve", "--port", "0")
    assert (code, "Traceback" in said) == (78, False), said
    assert "interceptors.no-fridays.settings" in said
