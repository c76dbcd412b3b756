"""What is checked of an expression beyond its types, when it is loaded.

- Fields of our own variables must exist (`e.knid` is a mistake, not a missing key).
- Fields of what agents and tools make up (`args`, `result.value`) may be missing: reading one needs `has()`, `in`,
  `get()` or `.?` around it, on a way that the value can only be reached through.
- Loops in loops in loops are refused: their time grows with the cube of what an agent sends.
"""

from __future__ import annotations

from collections.abc import Mapping

from interpose.rules.cel.ast import Const, FieldSelect, Fold, FunctionCall, Ident, MakeList, MakeMap, Node
from interpose.rules.cel.compiler import appended
from interpose.rules.cel.variable_shapes import UNKNOWN, Dynamic, FixedMap, Listing, Plain, Shape

MAX_LOOPS = 2

Path = tuple[str, ...]
"""`args.a.b`, as its parts."""
Facts = frozenset[Path]
"""What is known to be there."""

NOTHING: Facts = frozenset()


class CheckError(ValueError):
    """An expression that must not be loaded. `id` is the node."""

    def __init__(self, message: str, id: int) -> None:
        super().__init__(message)
        self.id = id


def check_reads(root: Node, shapes: Mapping[str, Shape], always: Facts) -> None:
    """Raise CheckError for the first part of an expression that must not be loaded."""
    _Reads(dict(shapes)).visit(root, always, 0)


class _Reads:
    def __init__(self, shapes: dict[str, Shape]) -> None:
        self.shapes = shapes

    def visit(self, node: Node, facts: Facts, loops: int) -> None:
        match node:
            case Const() | Ident():
                pass
            case FieldSelect():
                self._select(node, facts, loops)
            case FunctionCall(function="_&&_"):
                # The decisive side absorbs the other's error, so what one side tests protects the other, either way.
                self._both(node, facts | there_if(node, True), loops)
            case FunctionCall(function="_||_"):
                self._both(node, facts | there_if(node, False), loops)
            case FunctionCall(function="_?_:_", args=(condition, then, otherwise)):
                self.visit(condition, facts, loops)
                self.visit(then, facts | there_if(condition, True), loops)
                self.visit(otherwise, facts | there_if(condition, False), loops)
            case FunctionCall(function="_[_]", args=(holder, Const(value=str() as key))):
                self._select(FieldSelect(holder, key, False, node.id), facts, loops)
            case FunctionCall(args=args):
                for arg in args:
                    self.visit(arg, facts, loops)
            case MakeList(items=items):
                for item in items:
                    self.visit(item, facts, loops)
            case MakeMap(entries=entries):
                for part in (part for entry in entries for part in entry):
                    self.visit(part, facts, loops)
            case Fold():
                self._fold(node, facts, loops)

    def _both(self, node: FunctionCall, facts: Facts, loops: int) -> None:
        for arg in node.args:
            self.visit(arg, facts, loops)

    def _select(self, node: FieldSelect, facts: Facts, loops: int) -> None:
        self.visit(node.operand, facts, loops)
        match self.shape(node.operand):
            case FixedMap(name=name, fields=fields) if node.field not in fields:
                raise CheckError(f"{name} has no {node.field!r}, expected one of {', '.join(fields)}", node.id)
            case Dynamic() if not node.test and path_of(node) not in facts:
                shown = ".".join(path_of(node) or ("...", node.field))
                raise CheckError(
                    f"{shown} may be missing: write has({shown}) && ..., or get(..., {node.field!r}, a default)",
                    node.id,
                )

    def _fold(self, node: Fold, facts: Facts, loops: int) -> None:
        self.visit(node.over, facts, loops)
        if isinstance(node.over, MakeList):
            turns = 0  # a list that is written out has its length
        elif loops >= MAX_LOOPS:
            raise CheckError(f"runaway comprehension: loops may be nested {MAX_LOOPS} deep", node.id)
        else:
            turns = 1
        before = self.shapes.get(node.variable), self.shapes.get(node.result_name)
        self.shapes[node.variable] = self._item(node.over)
        self.shapes[node.result_name] = self.shape(node.start)
        hidden = frozenset(path for path in facts if path[0] not in (node.variable, node.result_name))
        self.visit(node.start, facts, loops)
        self.visit(node.step, hidden, loops + turns)
        self.visit(node.result, hidden, loops)
        for name, shape in zip((node.variable, node.result_name), before, strict=True):
            if shape is None:
                del self.shapes[name]
            else:
                self.shapes[name] = shape

    def _item(self, over: Node) -> Shape:
        match self.shape(over):
            case Listing(of=item):
                return item
            case Dynamic(type=type):
                return UNKNOWN if type.startswith("map") else Dynamic()  # a loop over a map is over its keys
            case _:
                return UNKNOWN

    def shape(self, node: Node) -> Shape:
        """What an expression holds, as far as that is known."""
        match node:
            case Ident(name=name):
                return self.shapes.get(name, UNKNOWN)
            case FieldSelect(operand=operand, field=field):
                return _field(self.shape(operand), field)
            case FunctionCall(function="_[_]", args=(holder, Const(value=str() as field))):
                return _field(self.shape(holder), field)
            case FunctionCall(function="_[_]", args=(holder, _)):
                return self._item(holder)
            case FunctionCall(function="get" | "dyn", args=(holder, *_)):
                return Dynamic() if isinstance(self.shape(holder), Dynamic) else UNKNOWN
            case Fold():
                return self._collected(node)
            case _:
                return UNKNOWN

    def _collected(self, node: Fold) -> Shape:
        """`filter` keeps the shape of what it looks at, `map` has the shape of what it makes."""
        element = appended(node)
        if element is None:
            return UNKNOWN
        if isinstance(element[1], Ident) and element[1].name == node.variable:
            return Listing(self._item(node.over), "dyn")
        return UNKNOWN


def _field(holder: Shape, field: str) -> Shape:
    match holder:
        case FixedMap(fields=fields):
            return fields.get(field, UNKNOWN)
        case Dynamic():
            return Dynamic()
        case Plain() | Listing():
            return UNKNOWN


def path_of(node: Node) -> Path | None:
    """The path that an expression reads, if it is one: `args.a["b"]`."""
    match node:
        case Ident(name=name):
            return (name,)
        case (
            FieldSelect(operand=operand, field=field)
            | FunctionCall(function="_[_]", args=(operand, Const(value=str() as field)))
        ):
            base = path_of(operand)
            return None if base is None else (*base, field)
        case _:
            return None


def there_if(node: Node, value: bool) -> Facts:
    """The paths that must be there if `node` gives `value`."""
    match node:
        case FieldSelect(test=True) if value:
            path = path_of(node)
            return frozenset({path}) if path else NOTHING
        case FunctionCall(function="@in" | "has", args=args) if value and node.function in ("@in", "has"):
            key, holder = args if node.function == "@in" else (args[1], args[0])
            base = path_of(holder)
            return frozenset({(*base, key.value)}) if base and isinstance(key, Const) and _text(key) else NOTHING
        case FunctionCall(function="!_", args=(inner,)):
            return there_if(inner, not value)
        case FunctionCall(function="_&&_", args=(one, other)):
            return there_if(one, True) | there_if(other, True) if value else NOTHING
        case FunctionCall(function="_||_", args=(one, other)):
            return NOTHING if value else there_if(one, False) | there_if(other, False)
        case _:
            return NOTHING


def _text(key: Const) -> bool:
    return isinstance(key.value, str)
