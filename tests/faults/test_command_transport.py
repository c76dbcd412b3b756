"""A judge that is a program: no shell, bounded, and gone with its children when the time is up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from interpose.core.types import ToolCall
from interpose.rules.policy.judge.command_transport import MAX_BYTES
from interpose.rules.policy.judge.judge import Judge
from interpose.rules.policy.judge.rulings import Failed, Objects, Permits
from tests.support.peers.judges import KEY, ai_rule

BOMB = ToolCall("exec", {"command": "make bomb"})

ALLOW = """
import json, sys
question = json.load(sys.stdin)
rules = question["schema"]["properties"]["verdicts"]["items"]["properties"]["rule"]["enum"]
allowed = "bomb" not in question["user"]
print(json.dumps({"verdicts": [{"rule": rule, "allowed": allowed, "reason": question["model"]} for rule in rules]}))
"""


def settings(code: str, *arguments: str, **fields: Any) -> dict[str, Any]:
    return {"provider": "command", "command": [sys.executable, "-c", code, *arguments], **fields}


def said(shared: dict[str, Any], call: ToolCall = BOMB, **environ: str) -> Any:
    judge = Judge([ai_rule()], shared, environ=environ)
    return asyncio.run(judge.judge(call, [ai_rule()]))[0].ruling


def test_the_question_goes_in_and_the_answer_comes_out() -> None:
    assert said(settings(ALLOW, model="small")) == Objects("small")
    assert said(settings(ALLOW, model="small"), ToolCall("exec", {"command": "make cake"})) == Permits("small")


def test_there_is_no_shell(tmp_path: Path) -> None:
    code = f"import sys; assert sys.argv[1:] == ['; touch {tmp_path}/x', '$(id)']" + ALLOW
    assert said(settings(code, f"; touch {tmp_path}/x", "$(id)", model="m")) == Objects("m")
    assert list(tmp_path.iterdir()) == []


def test_variables_are_filled_in_and_not_shown() -> None:
    code = f"import sys; assert sys.argv[1] == '{KEY}'; sys.exit(3)"
    ruling = said(settings(code, "${K}"), K=KEY)
    assert ruling == Failed(f"command {Path(sys.executable).name}: the command ended with exit code 3")


def test_it_does_not_start_where_the_agent_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    assert said(settings(ALLOW, model="m")) == Objects("m")


BROKEN = [
    ("says nothing", "pass", "the answer is no JSON"),
    ("garbage", "print('yes')", "the answer is no JSON"),
    ("words after", ALLOW + "print('done')", "the answer is no JSON"),
    ("no verdicts", "print('{}')", "the answer has another form than was asked for"),
    ("fails after a good answer", ALLOW + "sys.exit(1)", "the command ended with exit code 1"),
    ("kills itself", "import os; os.kill(os.getpid(), 9)", "the command ended with exit code -9"),
    ("does not read", "import os; os.close(0); print('{}')", "the answer has another form than was asked for"),
    ("writes too much", f"print('x' * {MAX_BYTES + 9})", f"answered with more than {MAX_BYTES} bytes"),
    ("writes without end", "while True: print('x' * 65536)", f"answered with more than {MAX_BYTES} bytes"),
    ("complains without end", "import sys\nfor _ in range(99): sys.stderr.write('x' * 65536)", "no JSON"),
]


@pytest.mark.parametrize(("note", "code", "why"), BROKEN, ids=[note for note, *_ in BROKEN])
def test_a_broken_program_is_a_failure(note: str, code: str, why: str) -> None:
    large = ToolCall("exec", {"command": "x" * 90_000})
    ruling = said(settings(code, model="m"), large)
    assert isinstance(ruling, Failed), note
    assert why in ruling.why


def test_a_program_that_is_not_there() -> None:
    ruling = said({"provider": "command", "command": ["/nowhere/judge"]})
    assert ruling == Failed("command judge: the command does not start (FileNotFoundError)")


@pytest.mark.parametrize("leader", ["stays", "goes"])
def test_the_whole_group_ends_at_the_deadline(tmp_path: Path, leader: str) -> None:
    """A child that holds the output open keeps nobody waiting, and does not live on.

    The child holds a lock on a fifo's other end: reading it ends when the child is gone.
    """
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    child = f"import signal; f = open({str(fifo)!r}, 'w'); f.write('up'); f.flush(); signal.pause()"
    wait = "import signal; signal.pause()" if leader == "stays" else ""
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}])\n{wait}"
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    try:
        start = monotonic()
        ruling = said(settings(code, timeout=2.0))
        assert ruling == Failed("no verdict within 2 s")
        assert monotonic() - start < 20
        received = b""
        while part := os.read(reader, 100):
            received += part
        assert received in (b"up", b""), "the end of file comes when nobody holds the fifo any more"
    finally:
        os.close(reader)


def test_a_child_that_left_the_group_holds_no_place(tmp_path: Path) -> None:
    """It keeps the pipes open for as long as it likes; the only place is free again at the deadline all the same."""
    pid_file = tmp_path / "pid"
    leaves = f"import os, signal; os.setsid(); open({str(pid_file)!r}, 'w').write(str(os.getpid())); signal.pause()"
    code = f"""
import json, subprocess, sys
if "cake" not in json.load(sys.stdin)["user"]:
    subprocess.Popen([sys.executable, "-c", {leaves!r}])
print(json.dumps({{"verdicts": [{{"rule": "no-bombs", "allowed": True, "reason": ""}}]}}))
"""
    judge = Judge([ai_rule()], settings(code, timeout=3.0, concurrency=1))
    rulings = [
        asyncio.run(judge.judge(ToolCall("exec", {"command": command}), [ai_rule()]))[0].ruling
        for command in ("make bomb", "make cake")
    ]
    os.kill(int(pid_file.read_text()), signal.SIGKILL)
    assert rulings == [Failed("no verdict within 3 s"), Permits("")]


def test_the_question_is_the_whole_question(tmp_path: Path) -> None:
    seen = tmp_path / "question"
    code = f"import sys; open({str(seen)!r}, 'w').write(sys.stdin.read())"
    said(settings(code, model="m", parameters={"depth": 2}))
    question = json.loads(seen.read_text())
    assert set(question) == {"model", "parameters", "system", "user", "schema"}
    assert question["parameters"] == {"depth": 2}
