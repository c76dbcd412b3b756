"""Mutants of a module: one operator, constant, condition or return changed. Texts for people are left alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


class Mutant(NamedTuple):
    """A changed module: where, what was changed, and its new text."""

    line: int
    change: str
    source: str


def mutants_of(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its text."""
    for number in range(_Changes(-1).count_in(source)):
        changes = _Changes(number)
        tree = changes.visit(ast.parse(source))
        yield Mutant(changes.line, changes.change, ast.unparse(ast.fix_missing_locations(tree)))


class _Changes(ast.NodeTransformer):
    """Walks a module and changes the place with one number."""

    def __init__(self, wanted: int) -> None:
        self._wanted, self._met = wanted, 0
        self.line, self.change = 0, ""

    def count_in(self, source: str) -> int:
        """How many places there are."""
        self.visit(ast.parse(source))
        return self._met

    def _is_it(self, node: ast.expr | ast.stmt, change: str) -> bool:
        self._met += 1
        if self._met - 1 != self._wanted:
            return False
        self.line, self.change = node.lineno, change
        return True

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]  # annotations and defaults' types are no code
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        other = _COMPARISONS.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if other and self._is_it(node, f"{type(node.ops[0]).__name__} -> {other.__name__}"):
            node.ops = [other()]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        if self._is_it(node, f"{type(node.op).__name__} -> {other.__name__}"):
            node.op = other()
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        other = _ARITHMETIC.get(type(node.op))
        if other and not _is_type(node) and self._is_it(node, f"{type(node.op).__name__} -> {other.__name__}"):
            node.op = other()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return node.operand if isinstance(node.op, ast.Not) and self._is_it(node, "not x -> x") else node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        for constant in (True, False):
            if self._is_it(node, f"if x -> if {constant}"):
                node.test = ast.Constant(constant)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if isinstance(value, bool):
            return ast.Constant(not value) if self._is_it(node, f"{value} -> {not value}") else node
        if isinstance(value, int):
            return ast.Constant(value + 1) if self._is_it(node, f"{value} -> {value + 1}") else node
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        says_none = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
        if not says_none and self._is_it(node, "return x -> return None"):
            node.value = ast.Constant(None)
        return node


def _is_type(node: ast.BinOp) -> bool:
    """`int | None`: an alternative of types, in a cast or a check of a class."""
    sides = [ast.unparse(side) for side in (node.left, node.right)]
    return isinstance(node.op, ast.BitOr) and any(side[0].isupper() or side in _BUILT_IN_TYPES for side in sides)


_BUILT_IN_TYPES = ("str", "bytes", "int", "dict", "list")
