"""No group of a pattern is possessive: Python before 3.11.5 goes wrong where such a group fails in its middle."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "interpose"
POSSESSIVE = re.compile(r"\(\?(?::|>)[^\n]*\)[*+?]\+")


def test_no_group_is_possessive() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {node.value[:80]}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and POSSESSIVE.search(node.value)
    ]
    assert found == []
