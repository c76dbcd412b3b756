"""Everything that governance can do is reached from a door: no public function waits for a caller that never comes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "interpose"
ROOM = SOURCE / "rules" / "governance"

Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def names_in(nodes: Iterable[ast.AST], aliases: dict[str, str]) -> set[str]:
    """Every name that some code uses, not what it only imports; of something else (`it.name`) as `.name`, too.
    `import this as that` goes to `aliases`."""
    found: set[str] = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                found.add(part.id)
            elif isinstance(part, ast.Attribute):
                found |= {part.attr, f".{part.attr}"}
            elif isinstance(part, ast.ImportFrom):
                aliases |= {one.asname: one.name for one in part.names if one.asname}
    return found


def unreached(room: Iterable[ast.Module], others: Iterable[ast.Module]) -> set[str]:
    """Public functions and methods (`.name`) of a room that no other code leads to. Protocols only describe what others
    have."""
    aliases: dict[str, str] = {}
    bodies: dict[str, list[ast.AST]] = {}
    public: set[str] = set()
    used = names_in(others, aliases)
    for tree in room:
        for node in tree.body:
            if not isinstance(node, Defined):
                used |= names_in([node], aliases)
                continue
            if not isinstance(node, ast.ClassDef):
                bodies.setdefault(node.name, []).append(node)
                public |= set() if node.name.startswith("_") else {node.name}
                continue
            is_protocol = "Protocol" in names_in(node.bases, aliases)
            for one in node.body:
                name = node.name
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and not one.name.startswith("__"):
                    name = f".{one.name}"
                    public |= set() if one.name.startswith("_") or is_protocol else {name}
                bodies.setdefault(name, []).append(one)
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


def governed() -> list[Path]:
    """The code that has to do with governance: elsewhere the same name means something else."""
    others = set(SOURCE.rglob("*.py")) - set(ROOM.rglob("*.py"))
    return [path for path in others if "govern" in path.read_text(encoding="utf-8")]


def test_every_public_function_of_governance_is_reached_from_a_door() -> None:
    assert unreached(parsed(ROOM.rglob("*.py")), parsed(governed())) == set()


def test_one_that_only_tests_would_call_is_noticed() -> None:
    room = ast.parse(
        "def used(): return helper()\n"
        "def helper(): return Kept().method()\n"
        "class Kept:\n    def method(self): return 1\n    def lonely(self): return forgotten()\n"
        "    def said(self): return 3\n"
        "def says(said): return said\n"
        "def forgotten(): return 2\n"
        "def circle(): return other()\n"
        "def other(): return circle()\n"
    )
    door = ast.parse("from x import used as u, says\nprint(u(), says(1))")
    assert unreached([room], [door]) == {".lonely", ".said", "forgotten", "circle", "other"}
