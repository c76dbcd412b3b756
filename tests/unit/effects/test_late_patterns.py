"""Patterns that are compiled when they are first used behave as if they had been compiled at once."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.effects.late_patterns import LatePattern, late

PACKAGE = Path(__file__).parents[3] / "src" / "interpose"


def modules_with_late_patterns() -> list[str]:
    return [
        ".".join(("interpose", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in sorted(PACKAGE.rglob("*.py"))
        if "import late\n" in path.read_text(encoding="utf-8")
    ]


def test_it_is_what_re_compile_gives() -> None:
    made, compiled = (
        late(r"(?P<name>[a-z]+)=(\d+)", re.IGNORECASE),
        re.compile(r"(?P<name>[a-z]+)=(\d+)", re.IGNORECASE),
    )
    text = "A=1 b=22"
    assert "match" not in vars(made)
    assert made.findall(text) == compiled.findall(text)
    assert [found.span("name") for found in made.finditer(text)] == [(0, 1), (4, 5)]
    assert made.sub("x", text) == compiled.sub("x", text)
    assert made.fullmatch("a=1", 0) is not None
    assert (made.pattern, made.flags, made.groups) == (compiled.pattern, compiled.flags, compiled.groups)


def test_it_is_compiled_once() -> None:
    made = late("a+")
    assert made.match is made.match


def test_one_that_is_wrong_fails_when_it_is_used() -> None:
    made = late("(")
    with pytest.raises(re.error):
        made.match("(")


def test_what_a_pattern_has_not_is_an_error() -> None:
    with pytest.raises(AttributeError, match="fits"):
        getattr(late("a"), "fits")  # noqa: B009 - a type checker would not let it pass


@pytest.mark.parametrize("name", modules_with_late_patterns())
def test_every_late_pattern_can_be_compiled(name: str) -> None:
    """What would have failed at the import fails here."""
    module = __import__(name, fromlist=["_"])
    tables = [value for value in vars(module).values() if isinstance(value, dict)]
    found = [*vars(module).values(), *(value for table in tables for value in table.values())]
    patterns = [one for one in found if isinstance(one, LatePattern)]
    assert patterns
    for one in patterns:
        assert one.pattern == vars(one)["_text"]


def test_no_pattern_is_compiled_by_importing() -> None:
    """`late(...).match` at the top of a module would compile it there."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            taken = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)
            if taken and isinstance(node.value.func, ast.Name):  # type: ignore[attr-defined]  # it was just asked
                assert node.value.func.id != "late", path  # type: ignore[attr-defined]  # as above


def test_the_shell_is_imported_without_compiling() -> None:
    code = (
        "import sys, re, re._compiler as compiler; import msgspec, urllib.parse, pkgutil, unicodedata, shlex\n"
        "made, real = [], compiler.compile\n"
        "def note(text, *flags):\n    made.append(text); return real(text, *flags)\n"
        "compiler.compile = note\n"
        "import interpose.effects.shell\n"
        "print(len(made))"
    )
    said = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(said) <= 2
