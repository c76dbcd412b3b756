from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from interpose.core.types import Allow, Confirm, Context, EffectKind, FrozenDict, ToolCall
from interpose.rules.guards import ConditionalPermission
from interpose.rules.guards.conditional_permission import DEFAULT_FIELDS, MAX_PATTERN, EffectCondition
from interpose.testing import ScriptedEngine, assert_allowed, assert_asked, call
from tests.support.timing.growth import grows_linearly

REMOVAL = {"command": "echo `rm a`"}


def containing(tool: str, pattern: str) -> str:
    return f"Tool '{tool}' wants to perform operation containing '{pattern}'. Allow?"


def ask(guard: ConditionalPermission, tool: str, arguments: dict[str, Any]) -> Allow | Confirm:
    return guard.intercept(ToolCall(tool, arguments, context=Context(cwd="/workspace/project")))


@pytest.mark.parametrize(
    ("note", "pattern", "arguments"),
    [
        ("in the command", "rm", {"command": "rm -rf build"}),
        ("in a query", "drop table", {"query": "DROP TABLE users"}),
        ("in code", "delete", {"code": "delete x"}),
        ("in a script", "delete", {"script": "x; DELETE"}),
        ("in any other argument", "delete", {"note": "please Delete it"}),
        ("deep inside", "rm", {"a": [{"b": ["x", "rm y"]}]}),
        ("a key", "delete", {"delete": True}),
        ("a number", "42", {"n": 42}),
        ("words with more between them", "drop table", {"query": "drop \t\n table x"}),
        ("on a line of its own", "rm", {"x": "ls\nrm y"}),
        ("after an escape", "rm", {"x": "\x1brm y"}),
        ("in quotes", "rm", {"x": '"rm"'}),
        ("after a backslash", "rm", {"x": "\\rm y"}),
        ("given as words", "rm -rf", {"command": ["rm", "-rf", "build"]}),
        ("across the punctuation of JSON", '"force":true', {"force": True}),
        ("ends with no letter", "rm -", {"command": "rm -x"}),
        ("starts with no letter", "--force", {"command": "push --force"}),
        ("the second time it is a word", "rm", {"command": "farm; rm x"}),
        ("another alphabet", "ÜBER", {"command": "über alles"}),
        ("a value of one's own", "broken", {"x": OSError("is broken")}),
    ],
)
def test_words_are_found(note: str, pattern: str, arguments: dict[str, Any]) -> None:
    guard = ConditionalPermission((pattern,))
    decision = ask(guard, "x", arguments)
    assert isinstance(decision, Confirm), note
    assert decision.message == containing("x", pattern.casefold()), note


@pytest.mark.parametrize(
    ("note", "pattern", "arguments"),
    [
        ("inside another word", "rm", {"command": "cd farm && make format"}),
        ("inside a key", "delete", {"delete_flag": False}),
        ("inside a number", "1", {"timestamp": 1700000000}),
        ("begins another word", "drop", {"query": "droplet"}),
        ("ends another word", "rm", {"command": "alarm"}),
        ("beside an underscore", "rm", {"command": "x rm_old"}),
        ("a real backslash and a letter", "eed", {"x": "\\need"}),
        ("known limit: letters apart", "rm -rf", {"command": "r m -rf /"}),
        ("known limit: quotes inside", "rm -rf", {"command": "r''m -rf /"}),
        ("nothing", "rm", {}),
    ],
)
def test_other_words_are_not(note: str, pattern: str, arguments: dict[str, Any]) -> None:
    assert ask(ConditionalPermission((pattern,)), "x", arguments) == Allow(), note


def test_built_step_by_step_and_what_is_searched_first() -> None:
    assert ConditionalPermission(("drop",)).fields_to_check == ("command", "query", "code", "script")
    built = ConditionalPermission.builder().add_pattern("drop").add_pattern("rm").check_field("sql").build()
    assert (built.dangerous_patterns, built.fields_to_check) == (("drop", "rm"), ("sql",))
    for field in ("command", "query"):
        assert isinstance(ConditionalPermission(("drop",)).intercept(ToolCall("x", {field: "drop it"})), Confirm)


def test_the_first_pattern_in_the_first_field_is_named() -> None:
    guard = ConditionalPermission.builder().add_pattern("b").add_pattern("a").check_field("two").build()
    assert guard.conditions.fields == ("two",)
    decision = ask(guard, "x", {"one": "b", "two": "a"})
    assert isinstance(decision, Confirm)
    assert decision.message == containing("x", "a")


def test_patterns_are_trimmed_and_empty_ones_dropped() -> None:
    guard = ConditionalPermission.builder().add_pattern("  RM  -RF ").add_pattern(" ").add_pattern("rm -rf").build()
    assert guard.conditions.patterns == ("rm -rf",)
    assert guard.conditions.fields == DEFAULT_FIELDS


@pytest.mark.parametrize(
    ("kind", "details", "tool", "arguments"),
    [
        ("fs.delete", {"recursive": True}, "exec", {"command": "rm -fr build"}),
        ("fs.delete", {"recursive": True}, "exec", {"command": "find . -delete"}),
        ("fs.delete", {"recursive": True}, "exec", {"command": "r''m -rf /"}),
        ("fs.delete", {"recursive": False}, "exec", {"command": "rm x"}),
        ("fs.delete", {}, "exec", {"command": ["rm", "x"]}),
        ("fs.delete", {}, "exec", {"command": "$COMMAND x"}),
        ("fs.delete", {}, "apply_patch", {"input": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}),
        ("vcs.publish", {"forced": True}, "exec", {"command": "git push -f"}),
        ("fs.write", {}, "write", {"path": "a", "content": "x"}),
        ("fs.write", {}, "exec", {"command": "echo x > a"}),
        ("fs.read", {}, "read", {"path": "a"}),
        ("net.download", {}, "web_fetch", {"url": "https://example.com"}),
    ],
)
def test_effects_are_asked_about(
    kind: EffectKind, details: dict[str, Any], tool: str, arguments: dict[str, Any]
) -> None:
    guard = ConditionalPermission.builder().on_effect(kind, **details).build()
    decision = ask(guard, tool, arguments)
    assert isinstance(decision, Confirm)
    assert decision.message.startswith(f"Tool '{tool}' wants to perform operation ")
    assert decision.message.endswith(". Allow?")


@pytest.mark.parametrize(
    ("kind", "details", "tool", "arguments"),
    [
        ("fs.delete", {"recursive": True}, "exec", {"command": "rm x"}),
        ("fs.delete", {}, "exec", {"command": "echo rm -rf /"}),
        ("fs.delete", {}, "write", {"path": "a", "content": "rm -rf /"}),
        ("fs.write", {}, "read", {"path": "a"}),
        ("fs.delete", {}, "my_tool", {"description": "rm x"}),
        ("fs.delete", {}, "exec", {}),
    ],
)
def test_other_effects_are_not(kind: EffectKind, details: dict[str, Any], tool: str, arguments: dict[str, Any]) -> None:
    assert ask(ConditionalPermission.builder().on_effect(kind, **details).build(), tool, arguments) == Allow()


def test_the_question_names_the_effect() -> None:
    guard = ConditionalPermission.builder().on_effect("fs.delete", recursive=True).build()
    decision = ask(guard, "exec", {"command": "rm -r build"})
    assert decision == Confirm(
        "Tool 'exec' wants to perform operation with effect 'fs.delete' on '/workspace/project/build'. Allow?",
        "conditional-permission", part="/workspace/project/build",
    )  # fmt: skip


def test_arguments_that_cannot_be_read_are_asked_about() -> None:
    value = FrozenDict()
    for _ in range(100_000):
        value = FrozenDict({"a": value})
    decision = ask(ConditionalPermission(("rm",)), "x", value)
    assert decision == Confirm(
        "Tool 'x' has arguments that cannot be checked: it is nested too deeply. Allow?", "conditional-permission"
    )


def test_a_call_seen_before_is_the_same_question_only_if_all_of_it_is_the_same() -> None:
    guard = ConditionalPermission(("true", "/x/b"), effects=(EffectCondition("fs.delete"),))
    assert ask(guard, "x", {"n": "1"}) == ask(guard, "x", {"n": 1}) == Allow()
    assert isinstance(ask(guard, "x", {"n": True}), Confirm)
    assert ask(guard, "x", {"n": "1"}) == Allow()
    assert isinstance(ask(guard, "exec", {"command": "rm a"}), Confirm)
    assert isinstance(ask(guard, "exec", {"command": "rm a"}), Confirm)
    assert isinstance(ask(guard, "y", {"command": "rm a"}), Confirm)
    assert ask(guard, "y", {"comment": "rm a"}) == Allow()
    elsewhere = guard.intercept(ToolCall("exec", {"command": "rm a"}, context=Context(cwd="/elsewhere")))
    assert isinstance(elsewhere, Confirm)
    assert elsewhere.part == "/elsewhere/a"
    by_shell = [guard.intercept(ToolCall("exec", REMOVAL, original_name=shell)) for shell in ("Bash", "PowerShell")]
    assert [type(decision) for decision in by_shell] == [Confirm, Allow]


@pytest.mark.parametrize("piece", ["r", "a a", "rmr", '\\"\n', "a", "a "])
def test_time_grows_with_the_text_only(piece: str) -> None:
    guard = ConditionalPermission(("rm", "a" * MAX_PATTERN, "a " * 100, '\\"'))
    number = count()

    def search(size: int) -> None:
        text = piece * (size // len(piece))
        ask(guard, "x", {"command": text, "other": text, "number": next(number)})  # none is remembered

    assert grows_linearly(search, 50_000)


@pytest.mark.parametrize(
    ("patterns", "what"),
    [
        ((), "at least one pattern"),
        (("", "  "), "at least one pattern"),
        (("x" * (MAX_PATTERN + 1),), "characters"),
        (("rm", 5), "must be texts"),
        ("rm", "not one text"),
    ],
)
def test_a_broken_configuration_is_an_error(patterns: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        ConditionalPermission(patterns)


def test_a_builder_with_nothing_to_ask_about_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one pattern or effect"):
        ConditionalPermission.builder().check_field("command").build()
    with pytest.raises(ValueError, match=r"there is no effect 'fs\.remove'; effects: "):
        ConditionalPermission.builder().on_effect("fs.remove")  # type: ignore[arg-type]  # that is the point


def test_the_engine_asks_and_runs_what_was_agreed_to() -> None:
    guard = ConditionalPermission.builder().add_pattern("deploy").build()
    assert_asked(ScriptedEngine(guard).decide(call(command="deploy now")), message=containing("exec", "deploy"))
    assert_allowed(ScriptedEngine(guard).decide(call(command="redeployed")))
    scripted = ScriptedEngine(guard, approvals=[True, False])
    scripted.run(call(command="deploy now"))
    scripted.run(call(command="deploy again"))
    assert scripted.executed == [{"command": "deploy now"}]
