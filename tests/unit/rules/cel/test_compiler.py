"""Our evaluator against the engine that checks the expressions: both say the same, or both fail."""

from __future__ import annotations

import random
from typing import Any

import pytest

from interpose.rules.cel.checker import ExpressionError, check, environment
from interpose.rules.cel.compiler import DEADLINE, MAX_STEPS, STEPS, close
from interpose.rules.cel.runtime_values import EvaluationError
from tests.unit.rules.cel.expressions import DATA, VARIABLES, expression

FAILED = "failed"


def ours(text: str, data: dict[str, Any]) -> Any:
    scope = {**data, STEPS: MAX_STEPS, DEADLINE: None}
    try:
        return close(check(text, VARIABLES).syntax.root)(scope)
    except EvaluationError:
        return FAILED


def theirs(text: str, data: dict[str, Any]) -> Any:
    engine = environment(tuple(VARIABLES.items()))
    try:
        answer = engine.compile(text).eval(engine.Activation(data))
    except RuntimeError:
        return FAILED
    return FAILED if answer.type().name() == "ERROR" else answer.plain_value()


@pytest.mark.parametrize("seed", range(20))
def test_random_expressions_mean_the_same(seed: int) -> None:
    rng = random.Random(seed)
    compared = 0
    for _ in range(150):
        text = expression(rng)
        try:
            check(text, VARIABLES)
        except ExpressionError:
            continue
        compared += 1
        assert ours(text, DATA) == theirs(text, DATA), text
    assert compared > 75


@pytest.mark.parametrize(
    "text",
    [
        "7 / 2 == 3 && -7 / 2 == -3 && -7 % 2 == -1 && 7 % -2 == 1",
        "9223372036854775807 + 1 == 0",
        "-9223372036854775808 / -1 == 0",
        "-9223372036854775808 % -1 == 0",
        "1 / 0 == 1",
        "1.0 / 0.0 > 1e308",
        "0.0 / 0.0 == 0.0 / 0.0",
        "dyn(1) == dyn(1.0) && dyn(1) != dyn(true) && dyn(1) != dyn('1')",
        "[1, 2.0] == [1.0, 2]",
        "dyn({'a': 1}) == dyn({'a': 1.0})",
        "dyn(true) in [1, 0]",
        "args.missing == 1 || true",
        "true || args.missing == 1",
        "args.missing == 1 && false",
        "args.missing == 1 && true",
        "dyn('x') && true",
        "false && dyn('x')",
        "effects.all(e, e.size > 2)",
        "effects.exists(e, e.size > 2)",
        "effects.exists(e, e.size > 9)",
        "effects.map(e, e.size) == [3]",
        "paths.filter(p, p.startsWith('/')).size() == 2",
        "paths.exists(p, paths.exists(q, p != q && p.endsWith('.pem')))",
        "paths.map(p, paths.map(p, size(p))).size() == 3",
        "paths.exists(tool, tool == 'relative') && tool == 'exec'",
        "args.exists(k, k == 'text')",
        "size('Grüße') == 5 && 'Grüße'.substring(2, 4) == 'üß'",
        "'a,b,,c'.split(',') == ['a', 'b', '', 'c'] && 'abc'.split('', 2) == ['a', 'bc']",
        "'aaa'.replace('a', 'b', 2) == 'bba' && 'abc'.indexOf('c') == 2 && 'abcabc'.lastIndexOf('c') == 5",
        "'abc'.charAt(3) == ''",
        "'abc'.substring(2, 1) == ''",
        "int('12') == 12 && int(-1.9) == -1 && double('1.5') == 1.5 && string(1.5) == '1.5' && string(true) == 'true'",
        "int('1_000') == 1000",
        "int(' 12') == 12",
        "double('1_0') == 10.0",
        "double(' 1') == 1.0",
        "int(1e300) == 1",
        "bool('true') && !bool('0')",
        "bool('yes')",
        "string(b'abc') == 'abc'",
        "type(args.count) == int && type(args.text) == string && type(args.nothing) == null_type",
        "type(1) == type(2) && type(paths) == list",
        "timestamp('2024-02-29T13:14:15.5Z').getDayOfYear() == 59",
        "timestamp('2024-03-03T23:30:00Z').getDayOfWeek('Europe/Berlin') == 1",
        "timestamp('2024-03-03T23:30:00Z').getHours('-02:30') == 21",
        "timestamp('2024-03-03T00:00:00Z') + duration('1h30m') > timestamp('2024-03-03T01:29:59Z')",
        "duration('90m').getHours() == 1 && duration('1.5s').getMilliseconds() == 500",
        "timestamp('yesterday') == timestamp(0)",
        "args.?missing.hasValue() || args.?count.value() == 3",
        "args.?map.?b.?c.orValue('x') == 'd'",
        "args.map[?'zz'].orValue(4) == 4",
        "args.?missing.or(args.?count).orValue(9) == 3",
        "args.?text.optMap(t, size(t)).orValue(0) == 15",
        "loose[3].a || loose[0] == 1",
        "loose[1] == 2",
        "args.list[dyn(1.0)] == 2",
        "args.list[3] == 1",
        "args.list[-1] == 1",
        "args.map['a'] == 1 && args.map.b.c == 'd'",
        "args.text.a == 1",
        "'a' < 'b' && b'a' < b'b' && false < true && !(1 < 1)",
        "dyn(1) < dyn('a')",
        "[3, 4].exists_one(x, x > 3)",
        "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
    ],
)
def test_what_the_language_says_about_corners(text: str) -> None:
    """The engine is the oracle: the list names the corners, not the answers."""
    assert ours(text, DATA) == theirs(text, DATA)


@pytest.mark.parametrize(
    ("note", "text", "data", "want"),
    [
        ("a text is not cut at NUL", "args.t.contains('rm')", {"t": "a\0rm"}, True),
        ("NUL in a comparison", "args.t == 'a'", {"t": "a\0b"}, False),
        ("NUL before what a pattern looks for", "args.t.matches('rm')", {"t": "a\0rm"}, True),
        ("half a surrogate pair hides nothing", "args.t.matches('rm$')", {"t": "\ud800rm"}, True),
        ("a number beyond 64 bits poisons only itself", "args.n > 5 && args.t == 'x'", {"n": 2**70, "t": "x"}, True),
        ("computing beyond 64 bits fails", "args.n + 1 > 0", {"n": 2**70}, FAILED),
        ("a key that is no text", "args.t == 'x'", {1: 2, "t": "x"}, True),
        ("a bool is no number", "args.t == 1", {"t": True}, False),
        ("a number that is no number", "args.t == args.t", {"t": float("nan")}, False),
    ],
)
def test_where_the_engines_own_evaluator_would_be_wrong(note: str, text: str, data: dict[Any, Any], want: Any) -> None:
    assert ours(text, {**DATA, "args": data}) == want, note


@pytest.mark.parametrize(
    ("note", "text", "data"),
    [
        ("long loops", "args.l.exists(x, x == 'b')", {"l": ["a"] * (MAX_STEPS + 1)}),
        ("loops in loops", "args.l.all(x, args.l.all(y, x == y))", {"l": ["a"] * 200}),
        ("turns that take long", "args.l.all(x, !(x in args.m))", {"l": ["a"] * 10_000, "m": list(range(10_000))}),
        ("texts that double", "(args.t + args.t).size() > 0", {"t": "x" * 600_000}),
        ("replacements that grow", "args.t.replace('x', args.t).size() > 0", {"t": "x" * 2000}),
        ("joins that grow", "args.l.join(args.t).size() > 0", {"l": ["a"] * 2000, "t": "x" * 1000}),
    ],
)
def test_evaluation_is_bounded(note: str, text: str, data: dict[str, Any]) -> None:
    assert ours(text, {**DATA, "args": data}) == FAILED, note


def test_a_busy_machine_fails_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes while others work: only time that was worked counts."""
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("interpose.rules.cel.compiler.perf_counter", lambda: next(hours))
    assert ours("[1, 2, 3].all(x, x > 0)", DATA) is True
