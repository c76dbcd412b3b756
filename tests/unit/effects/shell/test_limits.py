"""Hostile text is answered within a second of work that grows with the text only, and never with silence."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from interpose.effects.shell import Analysis, analyse
from tests.support.timing.growth import TIMES, grows_linearly
from tests.support.timing.timing import cpu_seconds

SECONDS = 1.0
"""Of the processor. Far above what each takes."""


def _wrapped(levels: int) -> str:
    text = "rm -rf /"
    for _ in range(levels):
        text = "bash -c " + shlex.quote(text)
    return text


TOO_MUCH = [
    ("one megabyte", "echo a; " * 131_072, "too-large"),
    ("fifty thousand commands", "ls;" * 50_000, "too-large"),
    ("more than five thousand commands", "ls;" * 5_001, "too-large"),
    ("backquotes", "``" * 6_000, "too-large"),
    ("unclosed substitutions", "echo " + "$(" * 2_000, "too-deep"),
    ("nested substitutions", "echo " + "$(" * 300 + "id" + ")" * 300, "too-deep"),
    ("unclosed quotes and substitutions", '"$(' * 2_000, "too-deep"),
    ("unclosed expansions", "echo " + "${a:-" * 20_000, "too-deep"),
    ("unclosed arithmetic", "echo " + "$((" * 2_000, "too-deep"),
    ("arithmetic that is none", "echo " + "$((" * 30 + "1" + ") )" * 30, "too-deep"),
    ("parentheses", "(" * 100_000, "too-deep"),
    ("ifs", "if " * 20_000, "too-deep"),
    ("cases", "case x in a) " * 500, "too-deep"),
    ("wrappers", "sudo " * 3_000 + "rm -rf /", "too-deep"),
    ("evals", "eval " * 300 + "ls", "too-deep"),
    ("functions that double", "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; }};" for i in range(30)) + "f0", "too-complex"),
    ("aliases that double", "".join(f"alias a{i}='a{i + 1}; a{i + 1}'\n" for i in range(30)) + "a0", "too-complex"),
    ("nested loops", "for i in 1 2 3 4 5 6 7 8; do " * 8 + "rm $i;" + "done;" * 8, "too-complex"),
    ("choices", "".join(f"if x; then v{i}=a; else v{i}=b; fi;" for i in range(40))
     + "rm " + " ".join(f"$v{i}" for i in range(40)), "too-many-ways"),
]  # fmt: skip


def _variables(count: int) -> str:
    return "".join(f"v{i}=x;" for i in range(count))


MUCH: list[tuple[str, int, Callable[[int], str]]] = [
    # note, the size of the smaller text, the text of a size
    ("brace product", 10, lambda n: "echo " + "{a,b}" * n),
    ("brace range", 250_000_000, lambda n: f"echo {{1..{n}}}"),
    ("open braces", 12_500, lambda n: "echo " + "{" * n),
    ("nested braces", 5_000, lambda n: "echo " + "{a," * n + "}" * n),
    ("here-documents", 1_250, lambda n: "cat " + "<<A " * n + "\n" + "x\n" * (n // 5)),
    ("quotes", 5_000, lambda n: "echo " + "''\"\"" * n),
    ("dollars", 25_000, lambda n: "echo " + "$" * n),
    ("values that double", 15, lambda n: "a=xxxxxxxxxx;" + "a=$a$a;" * n + "echo $a"),
    ("patterns", 12_500, lambda n: "x=" + "a" * n + "; echo ${x//a*a*a*a*b/c} ${x#*a*a*a*b} ${x%%a*a*b}"),
    ("separators", 7_500, lambda n: "IFS=,; x=" + "a," * n + "; rm $x"),
    ("arguments", 7_500, lambda n: "rm " + "a " * n),
    ("redirections", 2_500, lambda n: "a " + ">b " * n),
    ("array", 12_500, lambda n: "a=(" + "x " * n + ")"),
    ("lines", 25_000, lambda n: "\n" * n),
    ("pipes", 1_000, lambda n: "a|" * n + "a"),
    ("variables and branches", 350, lambda n: _variables(n) + "if a; then b; fi;" * n),
    ("variables and conditions", 500, lambda n: _variables(n) + "a&&" * n + "b"),
    ("variables and faults", 500, lambda n: _variables(n) + "echo ${!x};" + "y=z;" * n),
    ("variables and functions", 350, lambda n: _variables(n) + "f() { a; };" + "f;" * n),
    ("variables and subshells", 375, lambda n: _variables(n) + "(a=1);" * n),
]  # fmt: skip


def _timed(text: str) -> set[str]:
    done: list[Analysis] = []
    assert cpu_seconds(lambda: done.append(analyse(text))) < SECONDS
    return {effect.details.get("rule", "") for effect in done[0].effects if effect.kind == "opaque"}


@pytest.mark.parametrize(("note", "text", "rule"), TOO_MUCH, ids=[row[0] for row in TOO_MUCH])
def test_too_much_is_opaque_within_a_second_of_work(note: str, text: str, rule: str) -> None:
    assert rule in _timed(text), note


@pytest.mark.parametrize(("note", "size", "text"), MUCH, ids=[row[0] for row in MUCH])
def test_time_grows_with_the_text_only(note: str, size: int, text: Callable[[int], str]) -> None:
    assert grows_linearly(lambda n: analyse(text(n)), size), note


@pytest.mark.parametrize(("note", "size", "text"), MUCH, ids=[row[0] for row in MUCH])
def test_much_is_answered_within_a_second_of_work(note: str, size: int, text: Callable[[int], str]) -> None:
    _timed(text(TIMES * size))


def test_shells_in_shells() -> None:
    assert [effect for effect in analyse(_wrapped(5)).effects if effect.kind == "fs.delete" and effect.resource == "/"]


def test_a_deep_caller_is_no_excuse() -> None:
    """Close to the interpreter's own limit the answer is `opaque`, not an error."""

    def descend(levels: int) -> set[str]:
        return (
            descend(levels - 1)
            if levels
            else {effect.kind for effect in analyse("echo " + "$(" * 30 + "rm x" + ")" * 30).effects}
        )

    assert "opaque" in descend(700)
