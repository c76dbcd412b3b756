"""Hostile text is answered at once, and never with silence."""

from __future__ import annotations

import shlex

import pytest

from interpose.shell import Analysis, analyse
from tests.timing import cpu_seconds

SECONDS = 1.0
"""Far above what each takes; what is not linear takes minutes."""


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
    ("functions that double", "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; }};" for i in range(30)) + "f0", "too-large"),
    ("aliases that double", "".join(f"alias a{i}='a{i + 1}; a{i + 1}'\n" for i in range(30)) + "a0", "too-large"),
    ("nested loops", "for i in 1 2 3 4 5 6 7 8; do " * 8 + "rm $i;" + "done;" * 8, "too-large"),
    ("choices", "".join(f"if x; then v{i}=a; else v{i}=b; fi;" for i in range(40))
     + "rm " + " ".join(f"$v{i}" for i in range(40)), "too-large"),
]  # fmt: skip

MUCH = [
    ("brace product", "echo " + "{a,b}" * 40),
    ("brace range", "echo {1..999999999}"),
    ("open braces", "echo " + "{" * 50_000),
    ("nested braces", "echo " + "{a," * 20_000 + "}" * 20_000),
    ("here-documents", "cat " + "<<A " * 5_000 + "\n" + "x\n" * 1_000),
    ("quotes", "echo " + "''\"\"" * 20_000),
    ("dollars", "echo " + "$" * 100_000),
    ("values that double", "a=xxxxxxxxxx;" + "a=$a$a;" * 60 + "echo $a"),
    ("patterns", "x=" + "a" * 50_000 + "; echo ${x//a*a*a*a*b/c} ${x#*a*a*a*b} ${x%%a*a*b}"),
    ("separators", "IFS=,; x=" + "a," * 30_000 + "; rm $x"),
    ("arguments", "rm " + "a " * 30_000),
    ("redirections", "a " + ">b " * 10_000),
    ("array", "a=(" + "x " * 50_000 + ")"),
    ("lines", "\n" * 100_000),
    ("pipes", "a|" * 4_000 + "a"),
    ("variables and branches", "".join(f"v{i}=x;" for i in range(2_000)) + "if a; then b; fi;" * 1_400),
    ("variables and conditions", "".join(f"v{i}=x;" for i in range(2_000)) + "a&&" * 2_900 + "b"),
    ("variables and faults", "".join(f"v{i}=x;" for i in range(2_000)) + "echo ${!x};" + "y=z;" * 2_900),
    ("variables and functions", "".join(f"v{i}=x;" for i in range(2_000)) + "f() { a; };" + "f;" * 1_400),
    ("variables and subshells", "".join(f"v{i}=x;" for i in range(2_000)) + "(a=1);" * 1_500),
]  # fmt: skip


def _timed(text: str) -> set[str]:
    done: list[Analysis] = []
    assert cpu_seconds(lambda: done.append(analyse(text))) < SECONDS
    return {effect.details.get("rule", "") for effect in done[0].effects if effect.kind == "opaque"}


@pytest.mark.parametrize(("note", "text", "rule"), TOO_MUCH, ids=[row[0] for row in TOO_MUCH])
def test_too_much_is_opaque(note: str, text: str, rule: str) -> None:
    assert rule in _timed(text), note


@pytest.mark.parametrize(("note", "text"), MUCH, ids=[row[0] for row in MUCH])
def test_much_is_answered_in_time(note: str, text: str) -> None:
    _timed(text)


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
