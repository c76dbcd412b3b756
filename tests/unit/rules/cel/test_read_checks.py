"""What does not load: each mistake is refused where it stands, with what was expected."""

from __future__ import annotations

import pytest

from interpose.core.errors import PolicyError
from interpose.rules.policy.load import load_text

RULE = """version: 1
rules:
  - id: probe
    on: {{point: {point}, tools: {tools}}}
    when: |-
      {when}
    action: deny
"""


def problem_with(when: str, tools: str = "[exec]", point: str = "tool.before") -> str:
    try:
        load_text(RULE.format(when=when.replace("\n", "\n      "), tools=tools, point=point))
    except PolicyError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("note", "when", "want"),
    [
        ("unknown variable", "nope == 1", "unknown variable or function 'nope'"),
        ("unknown function", 'tool.shout() == "x"', "unknown variable or function 'shout'"),
        ("a text is no condition", "tool", "expected a condition that is true or false"),
        ("what may be a bool is none yet", 'get(args, "x", true)', "expected a condition that is true or false"),
        ("a type that does not fit", "tool > 3", "no matching overload"),
        ("syntax", "tool ==", "Syntax error"),
        ("a field that effects do not have", 'effects.exists(e, e.knid == "x")', "effect has no 'knid'"),
        ("a field that commands do not have", 'command.exists(c, c.nmae == "x")', "command has no 'nmae'"),
        ("a field behind filter", 'effects.filter(e, e.forced)[0].knid == "x"', "effect has no 'knid'"),
        ("a field of the call", 'call.foo == "x"', "call has no 'foo'"),
        ("has() of a field that can't be", "has(agent.nick)", "agent has no 'nick'"),
        ("loops in loops in loops", "paths.all(a, paths.all(b, paths.all(c, a + b == c)))", "runaway comprehension"),
        ("a pattern that is none", 'tool.matches("(")', "is no RE2 pattern"),
        ("a pattern with look-ahead", 'tool.matches("(?=x)")', "is no RE2 pattern"),
        ("numbers without a sign", "uint(3) == 3u", "not supported"),
        ("functions we do not have", '"%d".format([1]) == "1"', "not supported"),
        ("steps that double", "args.?a" + ".optMap(t, t)" * 300 + ".hasValue()", "more than 4 of optMap"),
        ("more that double", "args.?a" + ".optFlatMap(t, args.?b)" * 5 + ".hasValue()", "more than 4 of optMap"),
        ("deep sums", "1" + " + 1" * 2400 + " > 0", "nested too deeply"),
        ("too long", "tool == '" + "x" * 11000 + "'", "longer than"),
        ("a result before there is one", 'result.text == "x"', "unknown variable or function 'result.text'"),
    ],
)
def test_mistakes_do_not_load(note: str, when: str, want: str) -> None:
    told = problem_with(when)
    assert want in told, f"{note}: {told}"
    assert told.startswith("policy.yaml:5: rule 'probe': when: "), told


@pytest.mark.parametrize(
    ("note", "when"),
    [
        ("bare", 'args.x == "y"'),
        ("by index", 'args["x"] == "y"'),
        ("tested elsewhere", 'has(args.y) && args.x == "y"'),
        ("tested the wrong way round", '!has(args.x) && args.x == "y"'),
        ("or protects nothing", 'has(args.x) || args.x == "y"'),
        ("a test in another branch", 'has(args.x) ? tool == "a" : args.x == "y"'),
        ("only its parent is tested", 'has(args.x) && args.x.y == "z"'),
        ("has() of a child reads the parent", "has(args.x.y)"),
        ("in a loop", "paths.exists(p, p == args.x)"),
        ("what a loop over arguments yields", "has(args.l) && args.l.exists(e, e.path == '/')"),
        ("a loop variable of the same name is another thing", 'has(args.x) && paths.exists(args, args.x == "y")'),
        ("behind get()", 'get(args, "m", {}).x == 1'),
    ],
)
def test_an_argument_that_may_be_missing_needs_a_test(note: str, when: str) -> None:
    assert problem_with(when), note


@pytest.mark.parametrize(
    ("note", "when"),
    [
        ("tested before", 'has(args.x) && args.x == "y"'),
        ("tested after: && is commutative", 'args.x == "y" && has(args.x)'),
        ("with in", '"x" in args && args.x == "y"'),
        ("with the other has", 'has(args, "x") && args.x == "y"'),
        ("a negated or", '!has(args.x) || args.x == "y"'),
        ("deeper", 'has(args.x) && has(args.x.y) && args.x.y == "z"'),
        ("with a default", 'get(args, "x", "") == "y"'),
        ("as an optional", 'args.?x.orValue("") == "y"'),
        ("in the right branch", 'has(args.x) ? args.x == "y" : tool == "b"'),
        ("the other branch of a negation", '!has(args.x) ? tool == "b" : args.x == "y"'),
        ("around a loop", "has(args.l) && args.l.exists(e, has(e.path) && e.path == '/')"),
        ("what the tool always has", 'args.command.contains("x")'),
        ("two loops", "paths.exists(a, paths.exists(b, a != b))"),
        ("three loops, one over a list that is written out", 'paths.exists(a, paths.all(b, ["x"].all(c, a + b != c)))'),
    ],
)
def test_what_is_protected_loads(note: str, when: str) -> None:
    assert problem_with(when) == "", note


@pytest.mark.parametrize(
    ("note", "tools", "loads"),
    [
        ("every tool", "null", False),
        ("another tool", "[read]", False),
        ("one of two has it", "[exec, read]", False),
        ("a group of which one has it", '["group:runtime"]', False),
        ("a glob", '["ex*"]', False),
        ("an alias of a tool that has it", "[Bash]", True),
    ],
)
def test_what_a_tool_always_has_depends_on_the_tools(note: str, tools: str, loads: bool) -> None:
    assert (problem_with('args.command == "x"', tools) == "") is loads, note


@pytest.mark.parametrize(
    "text", ["(" * 5000, "!" * 9000 + "true", "[" * 4000, "true && " * 1200 + "true", "-" * 5000 + "1 > 0"]
)
def test_hostile_expressions_are_conditions_or_errors(text: str) -> None:
    told = problem_with(text)
    assert told == "" or told.startswith("policy.yaml:5: rule 'probe': when: "), told


def test_the_line_of_a_mistake_inside_an_expression_is_told() -> None:
    told = problem_with('tool == "a" ||\n  nope')
    assert "line 2, column 3 of the expression" in told
