"""The CEL library: it parses and checks expressions. The only module that imports it.

What it accepts is compiled to Python (compiler.py). Its own evaluator would cut texts at NUL, hand back errors as true
values, compile each regex again for each call and convert whole arguments; the tests use it as the oracle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from interpose.effects.late_patterns import late
from interpose.rules.cel.ast import CheckedSyntax, UnsupportedError, decode

MAX_LENGTH = 10_000
MAX_DOUBLINGS = 4
"""How often `optMap` may stand in an expression: each one writes down twice what stands before it."""
TOO_DEEP = "the expression is nested too deeply"

_DOUBLING = late(r"\bopt(?:Flat)?Map\b")
_ERROR = late(r"ERROR: <input>:(-?\d+):(-?\d+): (.*?)(?:\n|$)")


class ExpressionError(ValueError):
    """An expression that is not accepted: what is wrong, and at which line and column of it."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line, self.column = line, column


class Checked(Struct, frozen=True):
    """An expression that the checker accepted."""

    text: str
    syntax: CheckedSyntax
    type: str
    """What it gives: `BOOL`, `STRING`, `DYN`, ..."""
    encoded: bytes = b""
    """The syntax as the library writes it."""

    def error_at(self, id: int, message: str) -> ExpressionError:
        """What is wrong with one node of it."""
        before = self.text[: self.syntax.positions.get(id, 0)]
        return ExpressionError(message, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def check(text: str, variables: Mapping[str, str]) -> Checked:
    """The checked syntax of an expression over variables of these types. Raises ExpressionError."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the expression is longer than {MAX_LENGTH} characters")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ExpressionError("the expression has a character that is no text")
    if len(_DOUBLING.findall(text)) > MAX_DOUBLINGS:
        # INVARIANT: before the checker sees it. The checker writes the expression out first and counts its nodes then.
        raise ExpressionError(f"the expression has more than {MAX_DOUBLINGS} of optMap and optFlatMap")
    try:
        expression = environment(tuple(variables.items())).compile(text)
    except RuntimeError as error:
        raise _explained(str(error)) from None
    try:
        encoded = expression.serialize()
        syntax = decode(encoded)
    except UnsupportedError as error:
        raise ExpressionError(str(error)) from None
    except RecursionError:
        raise ExpressionError(TOO_DEEP) from None
    return Checked(text, syntax, expression.return_type().name(), encoded)


@lru_cache(maxsize=16)
def environment(variables: tuple[tuple[str, str], ...]) -> Any:
    """The checker's environment for a set of variables, with our functions declared."""
    # Imported only here: it takes a third of the time that a process has which decides once.
    from cel_expr_python import cel  # type: ignore[import-untyped]  # the package has no types
    from cel_expr_python.ext import ext_optional, ext_strings  # type: ignore[import-untyped]  # as above

    kind_of = cel.Type
    types = {
        "bool": kind_of.BOOL,
        "int": kind_of.INT,
        "string": kind_of.STRING,
        "timestamp": kind_of.TIMESTAMP,
        "dyn": kind_of.DYN,
        "map(string, dyn)": kind_of.Map(kind_of.STRING, kind_of.DYN),
        "map(string, string)": kind_of.Map(kind_of.STRING, kind_of.STRING),
        "list(string)": kind_of.List(kind_of.STRING),
        "list(map(string, dyn))": kind_of.List(kind_of.Map(kind_of.STRING, kind_of.DYN)),
    }
    typed = {name: types[kind] for name, kind in variables}
    return cel.NewEnv(
        variables=typed,
        functions=[
            cel.FunctionDecl(
                "get", [cel.Overload("get_default", kind_of.DYN, [kind_of.DYN, kind_of.STRING, kind_of.DYN], False)]
            ),
            cel.FunctionDecl("has", [cel.Overload("has_key", kind_of.BOOL, [kind_of.DYN, kind_of.STRING], False)]),
            cel.FunctionDecl(
                "glob", [cel.Overload("string_glob", kind_of.BOOL, [kind_of.STRING, kind_of.STRING], True)]
            ),
            cel.FunctionDecl(
                "under", [cel.Overload("string_under", kind_of.BOOL, [kind_of.STRING, kind_of.STRING], True)]
            ),
        ],
        extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()],
    )


def _explained(text: str) -> ExpressionError:
    """The first error of the checker, in words for people who write rules."""
    if "recursion" in text:
        return ExpressionError(TOO_DEEP)
    found = _ERROR.search(text)
    if found is None:
        return ExpressionError(text.removesuffix(" [INVALID_ARGUMENT]").strip())
    message = found[3].removesuffix(" (in container '')").strip()
    unknown = re.match(r"undeclared reference to '(.*)'", message)
    if unknown:
        message = f"unknown variable or function {unknown[1]!r}"
    return ExpressionError(message, max(1, int(found[1])), max(1, int(found[2])))
