"""Frozen values: what an interceptor is shown can't be changed, and hostile nesting is refused."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections import OrderedDict
from typing import Any

import msgspec
import pytest

from interpose.core.types import (
    MAX_DEPTH,
    Allow,
    Confirm,
    Context,
    Deny,
    Finding,
    FrozenDict,
    FrozenList,
    Message,
    Params,
    PermissionRequest,
    ToolCall,
    Transform,
    Verdict,
    freeze,
    new_id,
    thaw,
)
from tests.support.timing.patience import PATIENCE


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"in": value}
    return value


def test_freeze_copies_deeply() -> None:
    original = {"list": [1, {"deep": ["x"]}], "tuple": (1, [2])}
    frozen = freeze(original)
    original["list"].append("later")  # type: ignore[attr-defined]
    assert frozen == {"list": [1, {"deep": ["x"]}], "tuple": (1, [2])}
    assert type(frozen["list"][1]["deep"]) is FrozenList
    assert type(frozen["tuple"]) is tuple


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("a", 2),
        lambda d: d.__delitem__("a"),
        lambda d: d.update(a=2),
        lambda d: d.pop("a"),
        lambda d: d.popitem(),
        lambda d: d.clear(),
        lambda d: d.setdefault("b", 1),
        lambda d: d.__ior__({"b": 1}),
        lambda d: d["list"].append(1),
        lambda d: d["list"].extend([1]),
        lambda d: d["list"].insert(0, 1),
        lambda d: d["list"].pop(),
        lambda d: d["list"].remove(1),
        lambda d: d["list"].sort(),
        lambda d: d["list"].reverse(),
        lambda d: d["list"].clear(),
        lambda d: d["list"].__setitem__(0, 9),
        lambda d: d["list"].__delitem__(0),
        lambda d: d["list"].__iadd__([1]),
        lambda d: d["list"].__imul__(2),
    ],
)
def test_frozen_refuses_every_change(change: Any) -> None:
    frozen = freeze({"a": 1, "list": [1, 2]})
    with pytest.raises(TypeError, match="read-only"):
        change(frozen)
    assert frozen == {"a": 1, "list": [1, 2]}


def test_thaw_is_a_deep_copy_that_may_change() -> None:
    frozen = freeze({"a": [{"b": (1, [2])}]})
    thawed = thaw(frozen)
    thawed["a"][0]["b"][1].append(3)
    thawed["new"] = 1
    assert type(thawed) is dict
    assert type(thawed["a"]) is list
    assert frozen == {"a": [{"b": (1, [2])}]}


def test_frozen_values_are_still_json_copyable_picklable_and_hashable() -> None:
    frozen = freeze({"a": [1, {"b": None}]})
    assert json.loads(json.dumps(frozen)) == {"a": [1, {"b": None}]}
    assert copy.deepcopy(frozen) == frozen
    assert type(pickle.loads(pickle.dumps(frozen))) is FrozenDict
    assert hash(frozen) == hash(freeze({"a": [1, {"b": None}]}))
    assert hash(freeze({"set": {1}})) == hash(freeze({"set": {1}}))


def test_freeze_takes_subclasses_of_dict_and_leaves_other_values_alone() -> None:
    marker = object()
    frozen = freeze({"ordered": OrderedDict(a=1), "other": marker})
    assert type(frozen["ordered"]) is FrozenDict
    assert frozen["other"] is marker
    assert freeze(frozen) is frozen


def test_nesting_up_to_the_limit_is_taken_and_deeper_is_refused() -> None:
    assert freeze(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(ValueError, match="nested deeper than 128"):
        freeze(nested(MAX_DEPTH + 1))


def test_nesting_of_lists_and_loops_is_refused_without_a_recursion_error() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested deeper"):
        ToolCall("exec", {"x": deep})
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with pytest.raises(ValueError, match="nested deeper"):
        ToolCall("exec", loop)
    while deep:  # taken apart by hand: freeing it would recurse as deep
        deep = deep[0]


@pytest.mark.parametrize("arguments", [None, [], "rm", 3, object(), [("a", 1)]])
def test_arguments_must_be_a_dict(arguments: Any) -> None:
    with pytest.raises(TypeError, match="arguments of tool 'exec' must be a dict"):
        ToolCall("exec", arguments)


@pytest.mark.parametrize("name", [None, 3, b"exec", ["exec"]])
def test_the_name_must_be_a_text(name: Any) -> None:
    with pytest.raises(TypeError, match="name of a tool must be a str"):
        ToolCall(name, {})


def test_a_call_never_shares_the_callers_arguments() -> None:
    given = {"command": "ls", "env": {"A": "1"}}
    call = ToolCall("exec", given)
    given["env"]["A"] = "2"  # type: ignore[index]
    assert call.arguments == {"command": "ls", "env": {"A": "1"}}
    with pytest.raises(AttributeError):
        call.name = "read"  # type: ignore[misc]


def test_a_changed_call_is_a_new_call_with_the_same_identity() -> None:
    call = ToolCall("exec", {"command": "ls"}, context=Context(agent_id="a"), original_name="Bash")
    other = call.with_arguments({"command": "pwd"})
    assert call.arguments == {"command": "ls"}
    assert other == ToolCall("exec", {"command": "pwd"}, call.call_id, call.context, call.metadata, "Bash")


def test_ids_are_random_hex() -> None:
    assert len({new_id() for _ in range(100)}) == 100
    assert len(ToolCall("exec").call_id) == 32


@pytest.mark.parametrize(
    ("key", "agent"),
    [
        ("agent:research:main", "research"),
        ("agent:research", "research"),
        ("agent::x", "main"),
        ("agent", "main"),
        ("main", "main"),
        ("", "main"),
        ("telegram:42", "main"),
    ],
)
def test_the_agent_of_a_session_key(key: str, agent: str) -> None:
    context = Context.of_session_key(key, cwd="/w")
    assert (context.session_id, context.agent_id, context.cwd) == (key, agent, "/w")


def test_message_and_params_freeze_what_they_carry() -> None:
    bag = {"a": [1]}
    message, params = Message("hi", bag), Params(extras=bag)
    bag["a"].append(2)
    assert message.metadata == {"a": [1]}
    assert params.extras == {"a": [1]}


def test_a_permission_request_shows_the_call_that_would_run() -> None:
    request = PermissionRequest("sure?", ToolCall("exec", {"command": "ls"}))
    assert (request.tool, request.arguments) == ("exec", {"command": "ls"})
    about_text = PermissionRequest("sure?", Message("hi"))
    assert (about_text.tool, about_text.arguments) == ("", {})


def test_findings_of_old_records_have_no_detail() -> None:
    old = b'{"interceptor":"policy:judge","said":"deny","reason":"No (Judge: why)","rule":"r","severity":"error"}'
    found = msgspec.json.decode(old, type=Finding)
    assert (found.reason, found.detail, found.summary) == ("No (Judge: why)", "", "")


@pytest.mark.parametrize(
    ("outcome", "decision", "allowed", "reason"),
    [
        ("allow", Allow(), True, ""),
        ("rewrite", Transform("x", "tidied"), True, "tidied"),
        ("ask", Confirm("sure?"), False, "sure?"),
        ("deny", Deny("no"), False, "no"),
    ],
)
def test_verdict_words(outcome: Any, decision: Any, allowed: bool, reason: str) -> None:
    verdict: Verdict[str] = Verdict(outcome=outcome, decision=decision, payload="x")
    assert (verdict.allowed, verdict.reason) == (allowed, reason)


FORKING = """
import os
from interpose.core.types import new_id
ids = {new_id() for _ in range(1000)}
assert len(ids) == 1000 and all(len(one) == 32 for one in ids)
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, new_id().encode())
    os._exit(0)
child = os.read(reading, 32).decode()
os.wait()
ids |= {new_id() for _ in range(1000)}
assert len(ids) == 2000 and child not in ids
"""


def test_no_two_processes_give_out_the_same_id() -> None:
    subprocess.run([sys.executable, "-c", FORKING], check=True, timeout=PATIENCE)
