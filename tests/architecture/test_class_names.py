"""A class is found by its name: each stands once in the whole package, nested and private ones included."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "interpose"


def places(package: Path) -> dict[str, list[str]]:
    """Where each name is given to a class."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{path.relative_to(package)}:{node.lineno}")
    return found


def test_no_two_classes_have_one_name() -> None:
    found = places(PACKAGE)
    assert found["Verdict"], "nothing was read"
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_a_nested_class_and_a_private_one_are_seen(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("class _Same: ...\n", encoding="utf-8")
    (tmp_path / "two.py").write_text("def f():\n    class _Same: ...\n", encoding="utf-8")
    assert places(tmp_path)["_Same"] == ["one.py:1", "two.py:2"]
