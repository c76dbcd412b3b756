"""Digests of steps: what makes two calls the same, what never leaves a trace, and how long hostile text takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.core.types import Context, ToolCall, ToolOutcome
from interpose.rules.governance.sessions.sessions import SeenStep
from interpose.rules.governance.stalls.step_digests import digest, step_of
from interpose.rules.governance.stalls.volatile_text import unnumbered, untimed
from tests.support.timing.growth import grows_linearly

CONTEXT = Context(session_id="s", cwd="/work/project")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def step(name: str, arguments: dict[str, Any], result: Any = "", **outcome: Any) -> SeenStep:
    call = ToolCall(name, arguments, context=CONTEXT)
    return step_of(call, ToolOutcome(call, result, **outcome), "/home/u", key=b"k")


def shell(command: str, result: Any = "", **outcome: Any) -> SeenStep:
    return step("exec", {"command": command}, result, **outcome)


SAME_SHAPE = [
    ("a counter", "make # 1", "make # 22"),
    ("a time", "log 2026-11-17T22:00:01Z x", "log 2026-11-18T02:10:41.123+01:00 x"),
    ("an id", "get 0b007181-29e0-4e8d-a51c-0825b3d38c7a", "get 69df11fa-cfcd-469a-92ad-1e2158025e09"),
    ("a hash", "show 459baa1f03cd77e1", "show 0045bb8c9d11aa20"),
]


@pytest.mark.parametrize(("note", "one", "other"), SAME_SHAPE, ids=[row[0] for row in SAME_SHAPE])
def test_the_same_shape(note: str, one: str, other: str) -> None:
    assert shell(one).shape == shell(other).shape
    assert shell(one).exact != shell(other).exact


OTHER_SHAPE = [
    ("another word", "make all", "make some"),
    ("another file by number", "cat a1.txt", "cat a2.txt"),
    ("another written file by number", "touch x1", "touch x2"),
]


@pytest.mark.parametrize(("note", "one", "other"), OTHER_SHAPE, ids=[row[0] for row in OTHER_SHAPE])
def test_another_shape(note: str, one: str, other: str) -> None:
    assert shell(one).shape != shell(other).shape


SAME_TARGET = [
    ("options in another order", "rm -rf build", "rm -r -f ./build/"),
    ("another program", "rm -rf build", "find build -delete"),
    ("as root", "rm -rf build", "sudo rm -rf build"),
    ("with a harmless neighbour", "rm -rf build", "cat README; rm -rf build"),
    ("another way to force", "git push --force origin main", "git push origin +main"),
    ("by its absolute path", "rm -rf build", "rm -rf /work/project/build"),
]


@pytest.mark.parametrize(("note", "one", "other"), SAME_TARGET, ids=[row[0] for row in SAME_TARGET])
def test_the_same_target(note: str, one: str, other: str) -> None:
    assert shell(one, denied=True).target == shell(other, denied=True).target


def test_a_file_tool_and_a_command_have_the_same_target() -> None:
    assert step("write", {"file_path": "a.txt", "content": "x"}).target == shell("echo x > a.txt").target
    assert shell("rm -rf build").target != shell("rm -rf dist").target
    assert shell("rm -rf build").target != shell("touch build").target


SAME_RESULT = [
    ("how long it took", "5 passed in 0.12s", "5 passed in 1.07s"),
    ("a time of the clock", "done at 22:10:01", "done at 23:11:59"),
    ("a host's own number", "Chunk ID: 459baa\nok", "Chunk ID: 77cc01\nok"),
    ("a temporary name", "in /tmp/tmpk3j9xab1/a", "in /tmp/tmpq8w2zzk7/a"),
]


@pytest.mark.parametrize(("note", "one", "other"), SAME_RESULT, ids=[row[0] for row in SAME_RESULT])
def test_the_same_result(note: str, one: str, other: str) -> None:
    assert shell("x", one).result == shell("x", other).result


def test_a_result_that_repeats_the_counter_of_its_call_is_the_same() -> None:
    assert shell("try 7", "try 7 failed softly").result == shell("try 8", "try 8 failed softly").result
    assert shell("try", "7 left").result != shell("try", "6 left").result


ERRORS: list[tuple[str, Any, dict[str, Any], bool]] = [
    ("the transport says so", "fatal: boom", {"is_error": True}, True),
    ("a code beside an output", {"stdout": "fatal: boom", "exit_code": 2}, {}, True),
    ("a code in metadata", {"output": "fatal: boom", "metadata": {"exit": 1}}, {}, True),
    ("Claude Code", "Exit code 1\nfatal: boom", {"is_error": True}, True),
    ("Codex", "Chunk ID: 1\nProcess exited with code 1\nOutput:\nfatal: boom", {}, True),
    ("Copilot", {"content": "fatal: boom\n<shellId: 0 completed with exit code 3>"}, {}, True),
    ("Qwen Code", {"output": "Command: x\nOutput: fatal: boom\nExit Code: 1\nSignal: (none)"}, {}, True),
    ("MCP", {"content": [{"type": "text", "text": "fatal: boom"}], "isError": True}, {}, True),
    ("code 0", {"stdout": "fatal: boom", "exit_code": 0}, {}, False),
    ("a code and no word", {"stdout": "", "stderr": "", "exit_code": 1}, {}, False),
    ("grep that finds nothing, as Claude Code says it", "Exit code 1", {"is_error": True}, False),
    ("diff that finds something", {"stdout": "1c1\n< a\n---\n> b", "exit_code": 1}, {}, False),
    ("what waits and has not ended", {"stdout": "3 of 7 replicas are there", "exit_code": 1}, {}, False),
    ("text about codes", "The exit code 1 means that nothing was found, and 2 that it failed.", {}, False),
]


@pytest.mark.parametrize(("note", "result", "outcome", "want"), ERRORS, ids=[row[0] for row in ERRORS])
def test_what_is_an_error(note: str, result: Any, outcome: dict[str, Any], want: bool) -> None:
    found = shell("x", result, **outcome)
    assert (bool(found.error), bool(found.result)) == (want, not want)


def test_a_text_of_another_tool_is_no_error_of_a_shell() -> None:
    assert not step("read", {"path": "log"}, "Process exited with code 1").error


def test_what_another_tool_calls_an_error_is_one() -> None:
    assert step("mcp__x__y", {}, "boom", is_error=True).error


def test_a_vague_error_belongs_to_its_call() -> None:
    one, other = ({"stdout": "failed", "exit_code": code} for code in (1, 2))
    assert shell("diff a b", one).error != shell("cmp a b", one).error
    assert shell("diff a b", one).error == shell("diff a b", other).error


def test_nothing_of_a_value_is_kept_and_without_the_key_nothing_can_be_guessed() -> None:
    found = step("exec", {"command": "login hunter2-secret"}, "token=hunter2-secret")
    assert "hunter2" not in repr(found)
    call = ToolCall("exec", {"command": "login hunter2-secret"}, context=CONTEXT)
    other = step_of(call, ToolOutcome(call, "token=hunter2-secret"), "/home/u", key=b"another")
    kept = {found.exact, found.shape, found.target, found.result}
    assert not kept & {other.exact, other.shape, other.target, other.result}


@given(JSON, JSON)
def test_any_json_has_a_digest_whatever_order_its_keys_have(arguments: Any, result: Any) -> None:
    given = {"one": arguments, "other": result}
    turned = dict(reversed(given.items()))
    assert step("mcp__x__y", given, result) == step("mcp__x__y", turned, result)


@pytest.mark.parametrize(
    "value", [10**5000, object(), b"x" * 100, float("nan"), "\ud800", {"a": {1: 2}}, [[[[]]]], iter(())],
    ids=["a long number", "an object", "bytes", "no number", "half a letter", "other keys", "lists", "a stream"],
)  # fmt: skip
def test_any_value_has_a_digest(value: Any) -> None:
    assert len(step("mcp__x__y", {"value": 1}, value).result) == 16


def test_long_texts_differ_in_their_middle() -> None:
    one, other = "a" * 100_000, "a" * 50_000 + "b" + "a" * 49_999
    assert shell("x", one).result != shell("x", other).result
    assert shell("x", one).result == shell("x", one).result


HOSTILE = {
    "digits": lambda size: "1" * size,
    "dots": lambda size: "1." * (size // 2),
    "hex": lambda size: "a1" * (size // 2),
    "times": lambda size: "2026-11-17T22:" * (size // 14),
    "tmp": lambda size: "tmp" * (size // 3),
    "dashes": lambda size: "0b007181-" * (size // 9),
    "exit code": lambda size: "exit code " * (size // 10),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_take_no_longer_than_others(kind: str) -> None:
    made = {size: HOSTILE[kind](size) for size in (20_000, 80_000)}
    assert grows_linearly(lambda size: (untimed(made[size]), unnumbered(made[size])), 20_000)
    assert grows_linearly(lambda size: shell("x", made[size], is_error=True), 20_000)


def test_reported_texts_have_a_digest_without_their_numbers() -> None:
    assert digest("line 12: unused") == digest("line 40: unused")
    assert digest("a", "b") != digest("ab", "")
