"""Which benchmarks there are: the modules of this folder that have a `main`. Those without are what they share."""

from __future__ import annotations

import ast
from pathlib import Path

BENCH = Path(__file__).parent


def find_benchmarks() -> dict[str, str]:
    """The name of each, and the first line of what it says about itself."""
    found = {}
    for path in sorted(BENCH.glob("[!_]*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(part, ast.FunctionDef) and part.name == "main" for part in module.body):
            found[path.stem] = (ast.get_docstring(module) or "").partition("\n")[0]
    return found
