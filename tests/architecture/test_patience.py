"""No test fails because the machine is busy: what waits for something that must come waits with the one PATIENCE."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
STARTS = ("subprocess.run", "subprocess.check_output", "http.client.HTTPConnection", "socket.create_connection")
"""Calls whose `timeout` ends what is still working. Others may have a timeout that is itself what the test is about."""
TOO_SHORT = 120


def _impatient(source: str) -> list[int]:
    """Lines on which a program or an answer is given up on after a number of seconds of their own."""
    found: list[int] = []
    if "timeout=" not in source:
        return found
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called not in STARTS and not called.endswith(".communicate"):
            continue
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg == "timeout" and isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                found += [node.lineno] if value.value < TOO_SHORT else []
    return found


def test_nothing_is_given_up_on_early() -> None:
    found = {str(path): _impatient(path.read_text(encoding="utf-8")) for path in sorted(TESTS.rglob("*.py"))}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_what_would_be_found() -> None:
    source = "subprocess.run(['ls'], timeout=60)\nprocess.communicate(b'', timeout=9.5)\nlock.acquire(timeout=1)\n"
    assert _impatient(source) == [1, 2]
