"""Modules that are loaded when they are needed: what a plain hook loads, and that a broken one refuses the call.

The package is run from a copy in which single modules are spoilt, as a half-written update or a full disk leaves them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import interpose
from tests.support.timing.patience import PATIENCE

PACKAGE = Path(interpose.__file__).parent

HOOK = """
import sys
sys.path.insert(0, sys.argv[1])
from interpose.doors.cli.hook import main
sys.exit(main(["claude-code", "--in-process"]))
"""

LOADED = """
import sys
from interpose.doors.hooks.clients import child_process

def start(work, deadline):  # here instead of in a child, so that what it loads can be seen
    said = []
    work(said.append)
    return lambda: said[0]

child_process.start_in_child = start
from interpose.doors.cli.hook import main
code = main(["claude-code", "--in-process"])
sys.stdout.flush()
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""

HEAVY = {
    "asyncio", "cel_expr_python", "concurrent.futures", "dataclasses", "email", "http", "httptools", "inspect",
    "interpose.people.approvals.desk", "interpose.people.approvals.seal", "interpose.engine.flow.streamed_calls",
    "interpose.record.ledger.retention", "interpose.rules.policy.parsing",
    "interpose.doors.hooks.hosts.codex", "interpose.doors.http_server", "logging",
    "pkgutil", "random", "sqlglot", "ssl", "subprocess", "tempfile", "tree_sitter", "typing_extensions", "yaml",
}  # fmt: skip
"""None of these is needed to decide about `ls`."""

BARE = "import pathlib, sys; print(*sys.modules, file=sys.stderr)"
"""What every Python program with paths loads. Versions of Python differ in it."""

MOST = 331
"""Modules that a plain hook loads beyond those, with some room. They were 403 once."""


def event(command: str) -> bytes:
    return json.dumps(
        {"session_id": "s1", "cwd": "/home/dev/proj", "hook_event_name": "PreToolUse", "tool_name": "Bash",
         "tool_use_id": "toolu_01", "tool_input": {"command": command}}
    ).encode()  # fmt: skip


def ran(code: str, home: Path, command: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "-I", "-c", code, *args], input=event(command), capture_output=True, env=environment,
        check=False, timeout=PATIENCE,
    )  # fmt: skip


def test_a_plain_hook_loads_little(tmp_path: Path) -> None:
    """The second one: the first finds out what the others are spared."""
    for _ in range(2):
        done = ran(LOADED, tmp_path, "ls")
        assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.decode().split())
    assert sorted(HEAVY & loaded) == []
    beyond = loaded - set(ran(BARE, tmp_path, "ls").stderr.decode().split())
    assert len(beyond) <= MOST, f"{len(beyond)} modules"
    assert "interpose.effects.programs.git.git" not in loaded


LATE = [
    ("the gates of secrets", "reading/secrets/scanner.py", "ls"),
    ("the table of what gates need", "reading/secrets/kinds/needed.py", "ls"),
    ("the host", "doors/hooks/hosts/claude_code.py", "ls"),
    ("the family of a command", "effects/programs/git/git.py", "git status"),
    ("the ledger", "record/ledger/writer.py", "ls"),
    ("the rules", "rules/policy/evaluate.py", "ls"),
    ("the compiler of conditions", "rules/cel/compiler.py", "ls"),
    ("the store", "record/store/sqlite.py", "ls"),
    ("what compiles patterns late", "effects/late_patterns.py", "ls"),
    ("what makes a room's names late", "core/late.py", "ls"),
    ("the file of the agent that asks", "effects/agents/hosts/claude-code.json", "ls"),
    ("the file of another agent", "effects/agents/hosts/kiro.json", "ls"),
    ("the file of those without hooks", "effects/agents/without_hooks.json", "ls"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("package") / "lib"
    shutil.copytree(PACKAGE, place / "interpose")
    return place


def answer(done: subprocess.CompletedProcess[bytes]) -> str:
    """allow, or deny: by the code that hosts take for a no, or by their own words."""
    if done.returncode == 2 and done.stderr:
        return "deny"
    if done.returncode == 0:
        said = json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] if done.stdout else "allow"
        return str(said)
    return f"code {done.returncode}"


@pytest.mark.parametrize(("module", "command"), [each[1:] for each in LATE], ids=[each[0] for each in LATE])
@pytest.mark.parametrize("spoilt", [b"raise ImportError('spoilt')\n", b"def half(:\n"], ids=["fails", "half"])
def test_a_module_that_can_not_be_loaded_refuses(
    module: str, command: str, spoilt: bytes, copy: Path, tmp_path: Path
) -> None:
    """Also when everything was known from before: what is spared then must not be what would have refused."""
    assert answer(ran(HOOK, tmp_path, command, str(copy))) == "allow"
    file = copy / "interpose" / module
    whole = file.read_bytes()
    file.write_bytes(spoilt)
    try:
        done = ran(HOOK, tmp_path, command, str(copy))
    finally:
        file.write_bytes(whole)
    said = answer(done)
    if module.endswith("/__init__.py") or module == "core/late.py":
        assert said in ("deny", "code 1"), done  # nothing of ours runs at all: the line around it refuses
    else:
        assert said == "deny", done


def test_a_question_whose_desk_can_not_be_opened_is_a_refusal(copy: Path, tmp_path: Path) -> None:
    (tmp_path / ".config/interpose").mkdir(parents=True)
    (tmp_path / ".config/interpose/interpose.yaml").write_text("approvals: {ask: queue}\n", encoding="utf-8")
    asked = "npm publish"
    before = ran(HOOK, tmp_path, asked, str(copy))
    file = copy / "interpose/people/approvals/desk.py"
    whole = file.read_bytes()
    file.write_bytes(b"raise ImportError('spoilt')\n")
    try:
        done = ran(HOOK, tmp_path, asked, str(copy))
    finally:
        file.write_bytes(whole)
    assert (answer(before), answer(done)) == ("deny", "deny")
    assert b"Nobody can be asked now" in before.stdout
    assert b"Nobody can be asked now" not in done.stdout
