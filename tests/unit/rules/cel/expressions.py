"""Random CEL expressions over a fixed set of variables, to compare our evaluator with the engine that checks them."""

from __future__ import annotations

import random

VARIABLES = {
    "args": "map(string, dyn)",
    "effects": "list(map(string, dyn))",
    "paths": "list(string)",
    "tool": "string",
    "loose": "dyn",
}
DATA = {
    "args": {
        "text": "Grüße, git push", "empty": "", "count": 3, "ratio": 0.5, "flag": True, "nothing": None,
        "list": [1, 2, 3], "mixed": [1, "a", True, None, 1.0], "map": {"a": 1, "b": {"c": "d"}}, "one": 1,
    },
    "effects": [
        {"kind": "fs.delete", "forced": True, "resource": "/etc/x", "size": 3},
        {"kind": "net.upload", "forced": False, "resource": "h.example"},
    ],
    "paths": ["/etc/passwd", "/tmp/a.pem", "relative"],
    "tool": "exec",
    "loose": [1, 2.0, "x", {"a": False}],
}  # fmt: skip

_INTS = ("0", "1", "-1", "3", "9223372036854775807", "-9223372036854775808", "size(paths)", "args.count", "args.one")
_DOUBLES = ("0.0", "-0.0", "1.0", "0.5", "1e308", "args.ratio", "double(args.count)")
_TEXTS = (
    '""', '"a"', '"git"', '"/etc/passwd"', '"Grüße"', "args.text", "args.empty", "tool", "paths[0]", '"a.pem"',
    "r'\\d+'", '"3"', '"true"', "effects[0].kind", "args.missing", "paths[9]",
)  # fmt: skip
_LISTS = ("paths", "args.list", "args.mixed", "[1, 2]", "[]", "loose", '["a"]')
_ANY = ("args.flag", "args.nothing", "args.map", "args.missing", "loose[1]", "loose[0]", "null", "args.mixed[2]")
_ARITHMETIC = ("+", "-", "*", "/", "%")
_COMPARE = ("==", "!=", "<", "<=", ">", ">=")
_PATTERNS = ('"git"', '"^/etc"', '"[a-z]+\\\\.pem$"', '"(?i)GR"', '"."', '"^$"')


def expression(rng: random.Random, depth: int = 3) -> str:
    """A condition, usually one that the checker accepts."""
    if depth <= 0:
        return rng.choice(("true", "false", "args.flag", "has(args.text)", "has(args.missing)", '"text" in args'))
    kind = rng.randrange(12)
    one, other = rng.randrange(depth), rng.randrange(depth)
    if kind <= 2:
        return f"({expression(rng, one)} {rng.choice(('&&', '||'))} {expression(rng, other)})"
    if kind == 3:
        return f"!{expression(rng, one)}"
    if kind == 4:
        return f"({expression(rng, one)} ? {expression(rng, other)} : {expression(rng, 0)})"
    if kind == 5:
        make = rng.choice((_integer, _double, _text))
        return f"({make(rng, one)} {rng.choice(_COMPARE)} {make(rng, other)})"
    if kind == 6:
        sides = [rng.choice((*_ANY, *_LISTS, *_TEXTS, *_INTS)) for _ in range(2)]
        return f"(dyn({sides[0]}) {rng.choice(_COMPARE[: rng.choice((2, 6))])} dyn({sides[1]}))"
    if kind == 7:
        method = rng.choice(("contains", "startsWith", "endsWith"))
        return f"{_text(rng, one)}.{method}({_text(rng, other)})"
    if kind == 8:
        return f"{_text(rng, one)}.matches({rng.choice(_PATTERNS)})"
    if kind == 9:
        return (
            f"(dyn({rng.choice((*_ANY, *_TEXTS, *_INTS, *_DOUBLES))}) in {rng.choice((*_LISTS, 'args', 'args.map'))})"
        )
    return _loop(rng, depth - 1)


def _loop(rng: random.Random, depth: int) -> str:
    macro = rng.choice(("exists", "all", "exists_one"))
    if rng.random() < 0.4:
        inner = rng.choice(('e.kind == "fs.delete"', "e.forced", "has(e.size) && e.size > 2", "e.size > 2"))
        return f"effects.{macro}(e, {inner} {rng.choice(('&&', '||'))} {expression(rng, depth)})"
    items = rng.choice(_LISTS)
    test = rng.choice(("dyn(x) == 1", 'dyn(x) == "a"', "dyn(x) > 1", "1 / (dyn(x) - 1) == 1", 'string(x) == "1"'))
    if rng.random() < 0.4:
        made = rng.choice((f"map(x, dyn(x) == {rng.choice(_INTS)})", f"filter(x, {test})", f"map(x, {test}, dyn(x))"))
        return f"(size({items}.{made}) {rng.choice(_COMPARE)} {rng.randrange(4)})"
    return f"{items}.{macro}(x, {test})"


def _integer(rng: random.Random, depth: int) -> str:
    if depth <= 0:
        return rng.choice(_INTS)
    kind = rng.randrange(6)
    if kind <= 2:
        return f"({_integer(rng, depth - 1)} {rng.choice(_ARITHMETIC)} {_integer(rng, depth - 1)})"
    if kind == 3:
        return f"size({rng.choice((_text(rng, depth - 1), *_LISTS, 'args.map'))})"
    if kind == 4:
        return f"int({rng.choice((_text(rng, 0), _double(rng, 0), _integer(rng, 0)))})"
    return f"{_text(rng, depth - 1)}.indexOf({_text(rng, 0)})"


def _double(rng: random.Random, depth: int) -> str:
    if depth <= 0:
        return rng.choice(_DOUBLES)
    return f"({_double(rng, depth - 1)} {rng.choice(_ARITHMETIC[:4])} {_double(rng, depth - 1)})"


def _text(rng: random.Random, depth: int) -> str:
    if depth <= 0:
        return rng.choice(_TEXTS)
    return rng.choice((
        f"({_text(rng, depth - 1)} + {_text(rng, depth - 1)})",
        f"string({_integer(rng, depth - 1)})",
        f"{_text(rng, depth - 1)}.lowerAscii()",
        f"{_text(rng, depth - 1)}.upperAscii()",
        f"{_text(rng, depth - 1)}.trim()",
        f"{_text(rng, depth - 1)}.replace({_text(rng, 0)}, {_text(rng, 0)})",
        f"{_text(rng, depth - 1)}.substring({rng.randrange(4)})",
        f"{_text(rng, depth - 1)}.split({_text(rng, 0)}).join('-')",
        f"args.?{rng.choice(('text', 'missing', 'empty'))}.orValue({_text(rng, 0)})",
    ))  # fmt: skip
