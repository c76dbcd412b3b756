"""The checked syntax of a CEL expression, as plain values, and reading it from the checker's own encoding."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from msgspec import Struct


class Const(Struct, frozen=True):
    """A literal."""

    value: Any
    id: int = 0


class Ident(Struct, frozen=True):
    """A variable, or the name of a type."""

    name: str
    id: int = 0


class FieldSelect(Struct, frozen=True):
    """`operand.field`, or with `test` the macro `has(operand.field)`."""

    operand: Node
    field: str
    test: bool = False
    id: int = 0


class FunctionCall(Struct, frozen=True):
    """A function or an operator. The target of a method is its first argument."""

    function: str
    args: tuple[Node, ...]
    id: int = 0


class MakeList(Struct, frozen=True):
    """`[a, b]`."""

    items: tuple[Node, ...]
    id: int = 0


class MakeMap(Struct, frozen=True):
    """`{a: b}`."""

    entries: tuple[tuple[Node, Node], ...]
    id: int = 0


class Fold(Struct, frozen=True):
    """What `exists`, `all`, `map` and `filter` stand for: a loop over a list or the keys of a map."""

    variable: str
    over: Node
    result_name: str
    start: Node
    go_on: Node
    step: Node
    result: Node
    id: int = 0


Node = Const | Ident | FieldSelect | FunctionCall | MakeList | MakeMap | Fold


class CheckedSyntax(Struct, frozen=True):
    """An expression, and at which character each of its nodes stands."""

    root: Node
    positions: dict[int, int]


class UnsupportedError(ValueError):
    """A part of CEL that we do not take. `id` is the node."""

    def __init__(self, message: str, id: int = 0) -> None:
        super().__init__(message)
        self.id = id


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below a node."""
    match node:
        case Const() | Ident():
            return ()
        case FieldSelect(operand=operand):
            return (operand,)
        case FunctionCall(args=args):
            return args
        case MakeList(items=items):
            return items
        case MakeMap(entries=entries):
            return tuple(part for entry in entries for part in entry)
        case Fold():
            return (node.over, node.start, node.go_on, node.step, node.result)


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def decode(encoded: bytes) -> CheckedSyntax:
    """The syntax in the checker's encoding: a `cel.expr.CheckedExpr` in a protobuf `Any`."""
    checked = _message(_message(encoded)[2][0])
    source = _message(checked[5][0]) if 5 in checked else {}
    positions = {}
    for pair in source.get(4, ()):
        entry = _message(pair)
        positions[_one(entry, 1, 0)] = _one(entry, 2, 0)
    return CheckedSyntax(_node(checked[4][0]), positions)


def _message(data: bytes) -> dict[int, list[Any]]:
    """The fields of a protobuf message: number to values, which are ints or bytes."""
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value: Any
        match key & 7:
            case 0:
                value, at = _varint(data, at)
            case 1:
                value, at = data[at : at + 8], at + 8
            case 2:
                size, at = _varint(data, at)
                value, at = data[at : at + size], at + size
            case other:
                raise UnsupportedError(f"an encoding with wire type {other}")
        found.setdefault(key >> 3, []).append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _one(fields: dict[int, list[Any]], number: int, default: Any) -> Any:
    return fields[number][-1] if number in fields else default


def _text(fields: dict[int, list[Any]], number: int) -> str:
    return bytes(_one(fields, number, b"")).decode("utf-8")


def _node(data: bytes) -> Node:
    fields = _message(data)
    id = _one(fields, 2, 0)
    for number, read in _KINDS.items():
        if number in fields:
            return read(_message(fields[number][-1]), id)
    raise UnsupportedError("an empty expression", id)


def _const(fields: dict[int, list[Any]], id: int) -> Node:
    number, values = next(iter(fields.items()))
    value = values[-1]
    match number:
        case 1:
            return Const(None, id)
        case 2:
            return Const(bool(value), id)
        case 3:
            return Const(value - (1 << 64) if value >> 63 else value, id)
        case 5:
            return Const(struct.unpack("<d", value)[0], id)
        case 6:
            return Const(value.decode("utf-8"), id)
        case 7:
            return Const(bytes(value), id)
        case _:
            raise UnsupportedError("numbers without a sign (1u) are not supported: write 1", id)


def _ident(fields: dict[int, list[Any]], id: int) -> Node:
    return Ident(_text(fields, 1), id)


def _select(fields: dict[int, list[Any]], id: int) -> Node:
    return FieldSelect(_node(fields[1][-1]), _text(fields, 2), bool(_one(fields, 3, 0)), id)


def _call(fields: dict[int, list[Any]], id: int) -> Node:
    target = tuple(_node(value) for value in fields.get(1, ()))
    return FunctionCall(_text(fields, 2), target + tuple(_node(value) for value in fields.get(3, ())), id)


def _list(fields: dict[int, list[Any]], id: int) -> Node:
    if 2 in fields:
        raise UnsupportedError("optional elements of a list are not supported", id)
    return MakeList(tuple(_node(value) for value in fields.get(1, ())), id)


def _map(fields: dict[int, list[Any]], id: int) -> Node:
    entries = []
    for value in fields.get(2, ()):
        entry = _message(value)
        if 3 not in entry or _one(entry, 5, 0):
            raise UnsupportedError("messages and optional entries are not supported: write a plain map", id)
        entries.append((_node(entry[3][-1]), _node(entry[4][-1])))
    return MakeMap(tuple(entries), id)


def _fold(fields: dict[int, list[Any]], id: int) -> Node:
    if _text(fields, 8):
        raise UnsupportedError("loops over two variables are not supported", id)
    over, start, go_on, step, result = (_node(fields[number][-1]) for number in (2, 4, 5, 6, 7))
    return Fold(_text(fields, 1), over, _text(fields, 3), start, go_on, step, result, id)


_KINDS = {3: _const, 4: _ident, 5: _select, 6: _call, 7: _list, 8: _map, 9: _fold}
