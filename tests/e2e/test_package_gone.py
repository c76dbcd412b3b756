"""The package is removed, and its hooks are not: every agent is refused, and told which file to clean."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

import interpose
from interpose.core.config.load import load
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.events import Reply
from interpose.doors.hooks.install.canary import canary, understood
from interpose.doors.hooks.install.doctor import _commands
from interpose.doors.hooks.install.places import target_of
from interpose.record.ledger.canaries import ALLOWED
from tests.e2e.processes import clean_environment
from tests.support.timing.patience import PATIENCE

GONE = "its program is gone from this machine. Install it again, or"
CLEAN = {"cline": "remove its scripts from", "opencode": "remove", "openclaw": "remove"}
HOOK = "Denied by the Interpose hook in"
PLUGINS = {
    "opencode": """
import { Interpose } from "PLACE";
const hooks = await Interpose({ directory: "/" });
await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, { args: { command: "true" } });
""",
    "openclaw": """
import plugin from "PLACE/index.js";
const hooks = {};
plugin.register({ on: (name, handler) => (hooks[name] = handler) });
await hooks["before_tool_call"]({ toolName: "exec", toolCallId: "c", params: { command: "true" } }, {});
""",
}


class Left(Struct, frozen=True):
    """What is left of an installation: a home with hooks in it, and the package in a place of its own."""

    home: Path
    package: Path
    python: Path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Left]:
    """Every agent's hooks, installed from an environment with a copy of the package.

    No server is started, as one is being started already: it would answer when the package is gone, too.
    """
    root = tmp_path_factory.mktemp("gone")
    home, environment = root / "home", root / "env"
    home.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    site = next((environment / "lib").glob("python*/site-packages"))
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    package = site / "interpose"
    shutil.copytree(Path(interpose.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    python = environment / "bin" / "python"
    for name in HOSTS:
        words = [str(python), "-I", "-m", "interpose", "install", name, "--yes", "--json"]
        subprocess.run(words, env=clean_environment(home), cwd=home, check=True, capture_output=True)
    lock = Path(load(environ=clean_environment(home)).config.hooks.socket).with_name("start.lock")
    lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield Left(home, package, python)


@pytest.fixture(params=["package", "environment"])
def gone(request: pytest.FixtureRequest, installed: Left, monkeypatch: pytest.MonkeyPatch) -> Iterator[Left]:
    """`pip uninstall` removes the package; `pipx uninstall` removes all of its environment."""
    place = installed.package if request.param == "package" else installed.python.parents[1]
    aside = place.rename(place.with_name("aside"))
    for name, value in clean_environment(installed.home).items():
        monkeypatch.setenv(name, value)
    yield installed
    aside.rename(place)


@pytest.mark.parametrize("name", [name for name in HOSTS if name not in PLUGINS])
def test_a_hook_refuses_and_names_the_file(name: str, gone: Left) -> None:
    host = HOSTS[name]
    target = target_of(host.facts, "user", gone.home)
    (words,) = _commands(host, target)
    body = canary(host, ALLOWED)
    done = subprocess.run(words, input=body, capture_output=True, cwd="/", check=False, timeout=PATIENCE)
    said = done.stderr.decode().strip()
    assert understood(host, body, Reply(done.stdout, said, done.returncode))[0] == "refused", done
    if done.stdout:
        text = json.loads(done.stdout)["errorMessage"]
        assert text.endswith(f"{GONE} {CLEAN[name]} {target.path}")
    else:
        why, hook = said.splitlines()
        assert why == f"Interpose denied this: {GONE} take this hook out of your agent's settings"
        assert hook.startswith(f"{HOOK} {target.path}. ")
    assert "printf" not in said


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("name", sorted(PLUGINS))
def test_a_plugin_throws_and_names_itself(name: str, gone: Left) -> None:
    place = target_of(HOSTS[name].facts, "user", gone.home).path
    says = place.parent / "package.json"
    if not says.exists():  # Bun and newer Nodes see by themselves that it is a module, Debian 12's Node does not
        says.write_text('{"type": "module"}')
    main = gone.home / "main.mjs"
    main.write_text(PLUGINS[name].replace("PLACE", str(place)))
    done = subprocess.run(["node", str(main)], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode != 0
    assert f"Error: Interpose refused this: {GONE} {CLEAN[name]} {place}\n" in done.stderr


def test_with_the_package_nothing_of_this_is_said(installed: Left, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = clean_environment(installed.home) | {"PATH": os.environ["PATH"]}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name in ("claude-code", "cline"):
        host = HOSTS[name]
        (words,) = _commands(host, target_of(host.facts, "user", installed.home))
        body = canary(host, ALLOWED)
        done = subprocess.run(words, input=body, capture_output=True, cwd="/", check=False, timeout=PATIENCE)
        assert understood(host, body, Reply(done.stdout, done.stderr.decode(), done.returncode))[0] == "allowed"
