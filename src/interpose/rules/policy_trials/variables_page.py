"""The page of the variables and functions that expressions may use, made from the tables that the checker uses."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.rules.cel.variable_shapes import Dynamic, FixedMap, Listing, Plain, Shape
from interpose.rules.policy.variables import ALWAYS, VARIABLES

FUNCTIONS: tuple[tuple[str, str], ...] = (
    ("`a == b`, `!=`, `<`, `<=`, `>`, `>=`", "comparing; numbers by value, different types are never equal"),
    ("`a && b`, `a \\|\\| b`, `!a`, `a ? b : c`", "logic; a side that decides absorbs the error of the other"),
    ("`+`, `-`, `*`, `/`, `%`", "numbers of 64 bits; beyond them is an error. `+` joins texts and lists"),
    ("`x in list`, `key in map`", "whether it is there"),
    ('`map.key`, `map["key"]`, `list[0]`', "an element; one that is missing is an error"),
    ('`has(map.key)`, `has(map, "key")`', "whether a key is there"),
    ('`get(map, "key", default)`', "an element or a default; never an error"),
    ("`map.?key.orValue(default)`, `.hasValue()`, `.optMap(v, ...)`", "an element that may be missing"),
    ("`list.exists(x, ...)`, `.all`, `.exists_one`, `.map`, `.filter`", "loops, at most two in each other"),
    ("`size(x)`", "characters of a text, elements of a list or map"),
    ("`s.contains(t)`, `.startsWith(t)`, `.endsWith(t)`", "parts of a text"),
    ("`s.matches(re)`", "whether an RE2 pattern is found anywhere in a text"),
    ("`s.glob(pattern)`", "whether all of a text fits: `*` stops at `/`, `**` does not, `?` is one character"),
    ("`path.under(directory)`", "whether a path is a directory or lies in it"),
    ("`s.lowerAscii()`, `.upperAscii()`, `.trim()`", "changed texts"),
    ("`s.replace(a, b)`, `.split(sep)`, `list.join(sep)`, `s.substring(from, to)`", "changed texts"),
    ("`s.indexOf(t)`, `.lastIndexOf(t)`, `.charAt(n)`", "places in a text; -1 if not found"),
    ("`int(x)`, `double(x)`, `string(x)`, `bool(x)`, `bytes(x)`, `type(x)`, `dyn(x)`", "conversions and types"),
    ('`timestamp(text)`, `duration("1h30m")`, `t.getHours("Europe/Berlin")`, ...', "times"),
)

HEAD = """# Variables and functions of policy rules

<!-- Made by `python -m interpose.rules.policy_trials.variables_page`; a test holds this page to the code. -->

Expressions are [CEL](https://cel.dev). They are typed and checked when a file is loaded, see [policy.md](policy.md).
"""


def page() -> str:
    """The whole page, as Markdown."""
    return "\n".join((HEAD, *_variables(), "", *_always(), "", *_functions(), ""))


def _variables() -> Iterator[str]:
    yield "## Variables\n"
    yield "| variable | type | what it is |"
    yield "|---|---|---|"
    for name, shape in VARIABLES.items():
        yield from _rows(name, shape)


def _rows(name: str, shape: Shape) -> Iterator[str]:
    yield f"| `{name}` | {shape.type} | {shape.doc} |"
    match shape:
        case FixedMap(fields=fields):
            for field, inner in fields.items():
                yield from _rows(f"{name}.{field}", inner)
        case Listing(of=FixedMap(fields=fields)):
            for field, inner in fields.items():
                yield from _rows(f"{name}[].{field}", inner)
        case Plain() | Dynamic() | Listing():
            pass


def _always() -> Iterator[str]:
    yield "## Arguments that need no test\n"
    yield "Reading any other argument needs `has()`, `in`, `get()` or `.?`. These are always text, however the agent"
    yield "spells them:\n"
    yield "| tool | arguments |"
    yield "|---|---|"
    for tool, names in ALWAYS.items():
        yield f"| `{tool}` | {', '.join(f'`args.{name}`' for name in sorted(names))} |"
    yield ""
    yield "A call may have several paths or urls, in a list or under different names. Then none of them is `args.path`"
    yield "or `args.url`: a rule that reads it fails, and says what its `on_error` says. `paths` and `hosts` have all."


def _functions() -> Iterator[str]:
    yield "## Operators and functions\n"
    yield "| form | meaning |"
    yield "|---|---|"
    for form, meaning in FUNCTIONS:
        yield f"| {form} | {meaning} |"


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
