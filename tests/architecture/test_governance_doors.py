"""Everything that governance can do is reached from a door: no public function waits for a caller that never comes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "interpose"
ROOM = SOURCE / "governance"

Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def names_in(nodes: Iterable[ast.AST], aliases: dict[str, str]) -> set[str]:
    """Every name that some code uses, not what it only imports. `import this as that` goes to `aliases`."""
    found: set[str] = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                found.add(part.id)
            elif isinstance(part, ast.Attribute):
                found.add(part.attr)
            elif isinstance(part, ast.ImportFrom):
                aliases |= {one.asname: one.name for one in part.names if one.asname}
    return found


def unreached(room: Iterable[ast.Module], others: Iterable[ast.Module]) -> set[str]:
    """Public functions and methods of a room that no other code leads to. Protocols only describe what others have."""
    aliases: dict[str, str] = {}
    bodies: dict[str, list[ast.AST]] = {}
    public: set[str] = set()
    used = names_in(others, aliases)
    for tree in room:
        for node in tree.body:
            if not isinstance(node, Defined):
                used |= names_in([node], aliases)
                continue
            for one in (node, *(node.body if isinstance(node, ast.ClassDef) else ())):
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                    bodies.setdefault(one.name, []).append(one)
                    is_protocol = isinstance(node, ast.ClassDef) and "Protocol" in names_in(node.bases, aliases)
                    if not one.name.startswith("_") and not is_protocol:
                        public.add(one.name)
                elif not isinstance(one, ast.ClassDef):
                    bodies.setdefault(node.name, []).append(one)
            if isinstance(node, ast.ClassDef):
                bodies.setdefault(node.name, []).extend(
                    part for part in node.body if isinstance(part, ast.FunctionDef) and part.name.startswith("__")
                )
    left = used | {aliases[name] for name in used & aliases.keys()}
    seen: set[str] = set()
    while left:
        name = left.pop()
        seen.add(name)
        more = names_in(bodies.get(name, ()), aliases)
        left |= (more | {aliases[one] for one in more & aliases.keys()}) - seen
    return public - seen


def parsed(paths: Iterable[Path]) -> list[ast.Module]:
    return [ast.parse(path.read_text(encoding="utf-8")) for path in paths]


def test_every_public_function_of_governance_is_reached_from_a_door() -> None:
    own = set(ROOM.rglob("*.py"))
    assert unreached(parsed(own), parsed(set(SOURCE.rglob("*.py")) - own)) == set()


def test_one_that_only_tests_would_call_is_noticed() -> None:
    room = ast.parse(
        "def used(): return helper()\n"
        "def helper(): return Kept().method()\n"
        "class Kept:\n    def method(self): return 1\n    def lonely(self): return forgotten()\n"
        "def forgotten(): return 2\n"
        "def circle(): return other()\n"
        "def other(): return circle()\n"
    )
    door = ast.parse("from x import used as u\nprint(u())")
    assert unreached([room], [door]) == {"lonely", "forgotten", "circle", "other"}
