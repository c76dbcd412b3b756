"""Expressions of JavaScript programs: what each is worth, after stating what working it out does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from interpose.effects.invocation import UNKNOWN
from interpose.effects.languages.javascript_calls import JavascriptMemory, canonical, known_name, load
from interpose.effects.languages.javascript_functions import THEN, JavascriptFunctions
from interpose.effects.languages.javascript_text import REGEX
from interpose.effects.languages.program_values import (
    HOLE,
    MAX_LIST,
    NOT_KNOWN,
    ProgramFunction,
    ProgramValue,
    all_taints,
    bounded,
    concat,
    either,
    run_shell,
    sql,
    text_value,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 150
MAX_ENTRIES = 1024

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_POWERFUL = frozenset({"child_process", "vm", "module", "process.mainModule", "execa", "shell"})
"""Modules out of which nobody takes a function by a name that is not known, for a good reason."""
_CHANGES = frozenset({"push", "unshift", "pop", "shift", "reverse", "splice", "sort", "fill", "set", "add"})


class TooLarge(Exception):  # noqa: N818 - not an error: the program is larger than what is followed
    """The program is deeper than what is followed."""


class JavascriptExpressions(JavascriptFunctions):
    """The part of the walker that works out values. Statements are walked by the whole."""

    def __init__(self, session: JavascriptMemory) -> None:
        super().__init__(session)
        self.roots: list[Node] = []

    def visit(self, node: Node, depth: int) -> ProgramValue:
        """The value of a node, after stating what evaluating it does."""
        self.steps += 1
        self.session.low.spend(2)
        if depth > MAX_DEPTH:
            raise TooLarge
        handler = VISITS.get(node.type)
        if handler is not None:
            found = handler(self, node, depth + 1)
            return found if found.items is None and found.entries is None else bounded(found, self.session.low)
        values = [self.visit(child, depth + 1) for child in node.named_children]
        return ProgramValue(taints=all_taints(values))

    def field(self, node: Node, name: str, depth: int) -> ProgramValue:
        child = node.child_by_field_name(name)
        return self.visit(child, depth) if child is not None else NOT_KNOWN

    def identifier(self, node: Node, _depth: int) -> ProgramValue:
        name = source_of(node)
        if HOLE in name or UNKNOWN in name:
            above = node.parent.type if node.parent is not None else ""
            if name not in (HOLE, UNKNOWN) or above in ("expression_statement", "call_expression", "new_expression"):
                self.session.seen.add("hidden")
            return NOT_KNOWN
        found = self.names.get(name)
        if found is not None:
            return found
        full = canonical(name) if name != "this" else "globalThis"
        return self.assigned.get(full) or known_name(full, self.session.low) or ProgramValue(name=full)

    def string(self, node: Node, _depth: int) -> ProgramValue:
        return text_value("".join(_fragment(child) for child in node.named_children))

    def template(self, node: Node, depth: int) -> ProgramValue:
        out = text_value("")
        for child in node.named_children:
            if child.type == "template_substitution":
                part = self.visit(child.named_children[0], depth) if child.named_children else NOT_KNOWN
                part = ProgramValue(text=part.text, taints=part.taints, others=part.others)
            else:
                part = text_value(_fragment(child))
            out = concat(out, part)
        return out

    def number(self, node: Node, _depth: int) -> ProgramValue:
        text = source_of(node).replace("_", "").removesuffix("n")
        try:
            return ProgramValue(text=text, number=int(text, 0) if len(text) < 20 else None)
        except ValueError:
            return ProgramValue(text=text)

    def constant(self, node: Node, _depth: int) -> ProgramValue:
        text = {"null": "", "undefined": ""}.get(node.type, node.type)
        return ProgramValue(text=text, number=1 if text == "true" else None)

    def regex(self, node: Node, _depth: int) -> ProgramValue:
        pattern = node.child_by_field_name("pattern")
        return ProgramValue(text=source_of(pattern) if pattern is not None else UNKNOWN, name=REGEX)

    def binary(self, node: Node, depth: int) -> ProgramValue:
        left, right = self.field(node, "left", depth), self.field(node, "right", depth)
        return operated(left, operator_of(node), right)

    def ternary(self, node: Node, depth: int) -> ProgramValue:
        self.field(node, "condition", depth)
        return either([self.field(node, "consequence", depth), self.field(node, "alternative", depth)])

    def sequence(self, node: Node, depth: int) -> ProgramValue:
        worth = NOT_KNOWN
        for child in node.named_children:
            worth = self.visit(child, depth)
        return worth

    def unary(self, node: Node, depth: int) -> ProgramValue:
        worth = self.field(node, "argument", depth)
        operator = operator_of(node)
        if worth.number is not None and operator in "-+~":
            found = {"-": -worth.number, "+": worth.number, "~": ~worth.number}[operator]
            return ProgramValue(text=str(found), number=found)
        return ProgramValue(taints=worth.taints) if operator not in ("!", "typeof", "void", "delete") else NOT_KNOWN

    def array(self, node: Node, depth: int) -> ProgramValue:
        items = self.arguments(node, depth)
        return ProgramValue(items=items, taints=all_taints(items))

    def object(self, node: Node, depth: int) -> ProgramValue:
        pairs: list[tuple[str, ProgramValue]] = []
        taints: frozenset[str] = frozenset()
        for child in node.named_children:
            key = child.child_by_field_name("key") or child.child_by_field_name("name")
            if child.type == "pair" and key is not None:
                worth = self.field(child, "value", depth)
                pairs.append((self.key(key, depth), worth))
            elif child.type == "shorthand_property_identifier":
                worth = self.identifier(child, depth)
                pairs.append((source_of(child), worth))
            elif child.type == "method_definition" and key is not None:
                worth = self.function(child, depth)
                pairs.append((self.key(key, depth), worth))
            else:
                worth = self.visit(child, depth)
                pairs.extend(worth.entries or () if len(pairs) <= MAX_LIST else ())
            taints |= worth.taints
        return ProgramValue(entries=tuple(pairs), taints=taints)

    def key(self, node: Node, depth: int) -> str:
        if node.type in ("string", "computed_property_name", "number"):
            inner = node.named_children[0] if node.type == "computed_property_name" and node.named_children else node
            return self.visit(inner, depth).text
        return source_of(node)

    def member_expression(self, node: Node, depth: int) -> ProgramValue:
        prop = node.child_by_field_name("property")
        return self.member(self.field(node, "object", depth), source_of(prop) if prop is not None else "")

    def subscript(self, node: Node, depth: int) -> ProgramValue:
        base, index = self.field(node, "object", depth), self.field(node, "index", depth)
        return self.item(base, index)

    def item(self, base: ProgramValue, index: ProgramValue) -> ProgramValue:
        if base.others or index.others:
            pairs = [(one, two) for one in base.others or (base,) for two in index.others or (index,)]
            return either([self.item(one, two) for one, two in pairs[:16]])
        if index.number is not None:
            if base.items is not None and 0 <= index.number < len(base.items):
                return base.items[index.number]
            if base.known and base.items is None and base.entries is None and 0 <= index.number < len(base.text):
                return text_value(base.text[index.number], base.taints)
        if base.entries is not None and not index.known:
            return either([worth for _, worth in base.entries] or [NOT_KNOWN])
        if base.name == "process.env" and not index.known:
            return ProgramValue(taints=frozenset({"env", "secret", "each-variable"}))
        if base.name in _POWERFUL and not index.known:
            self.session.seen.add("hidden")
        if index.known and index.number is None:
            return self.member(base, index.text)
        some = either(base.items) if base.items and index.number is None else ProgramValue(taints=base.taints)
        return base.element or some

    def inner(self, node: Node, depth: int) -> ProgramValue:
        return self.visit(node.named_children[0], depth) if node.named_children else NOT_KNOWN

    def function(self, node: Node, _depth: int) -> ProgramValue:
        """A function is followed where it is called, and by itself when nobody is seen to call it."""
        self.roots.append(node)  # its id is only its own as long as it is held
        scope = {name: self.names[name] for name in self.local if name in self.names} if self.active else {}
        worth = ProgramValue(does=ProgramFunction(node=node, scope=scope, within=self.active[-1] if self.active else 0))
        if node.id not in self.pending and (not self.active or node.id not in self.active):
            self.pending[node.id] = worth
        name = node.child_by_field_name("name")
        if name is not None and node.type != "method_definition":
            self.names[source_of(name)] = worth
        return worth

    # Calls

    def call(self, node: Node, depth: int) -> ProgramValue:
        callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        arguments = node.child_by_field_name("arguments")
        if callee is None:
            return NOT_KNOWN
        if callee.type == "import":
            args = self.arguments(arguments, depth)
            return load("import", args[0] if args else NOT_KNOWN, self.session.low)
        while callee.type == "parenthesized_expression" and callee.named_children:
            callee = callee.named_children[0]
        if callee.type in ("member_expression", "subscript_expression"):
            return self.method(callee, arguments, depth)
        target = self.visit(callee, depth)
        if arguments is not None and arguments.type == "template_string":
            return self.tagged(target, arguments, depth)
        return self.apply(target, self.arguments(arguments, depth), depth)

    def method(self, callee: Node, arguments: Node | None, depth: int) -> ProgramValue:
        receiver = self.field(callee, "object", depth)
        prop = callee.child_by_field_name("property")
        key = text_value(source_of(prop)) if prop is not None else self.field(callee, "index", depth)
        if arguments is not None and arguments.type == "template_string":
            return self.tagged(self.item(receiver, key), arguments, depth)
        args = self.arguments(arguments, depth)
        place = callee.child_by_field_name("object")
        if key.text in _CHANGES and place is not None and self.changed(place, receiver, key.text, args, depth):
            return receiver.items[-1] if receiver.items and key.text == "pop" else NOT_KNOWN
        if receiver.others:
            return either([self.called(other, key, args, depth) for other in receiver.others])
        return self.called(receiver, key, args, depth)

    def called(
        self, receiver: ProgramValue, key: ProgramValue, args: tuple[ProgramValue, ...], depth: int
    ) -> ProgramValue:
        if receiver.name and not receiver.name.endswith("()") and key.text not in THEN:
            return self.apply(self.item(receiver, key), args, depth)
        if not key.known or key.others or key.text == "constructor":
            return self.apply(self.item(receiver, key), args, depth)
        return self.call_method(receiver, key.text, args, depth)

    def changed(self, place: Node, held: ProgramValue, name: str, args: tuple[ProgramValue, ...], depth: int) -> bool:
        """An array is changed by one of its methods."""
        if held.items is None or place.type not in ("identifier", "member_expression", "subscript_expression"):
            return False
        items = held.items
        found = {
            "push": (*items, *args), "unshift": (*args, *items), "pop": items[:-1], "shift": items[1:],
            "reverse": items[::-1], "sort": items, "add": (*items, *args),
        }.get(name)  # fmt: skip
        worth = ProgramValue(items=found, taints=held.taints | all_taints(args))
        self.bind(place, bounded(worth, self.session.low), depth)
        return name not in ("reverse", "sort")

    def tagged(self, target: ProgramValue, template: Node, depth: int) -> ProgramValue:
        """A template with a function in front: some of them are shells."""
        text = self.template(template, depth)
        if target.name in ("$", "sh", "execa", "execa.execa", "$sync") or target.name.endswith(".$"):
            self.session.acted = True
            run_shell(text, self.session.low, target.name)
            return NOT_KNOWN
        if target.name == "String.raw":
            return text
        sql(text, self.session.low, target.name or "sql")
        return self.apply(target, (ProgramValue(items=(text,), taints=text.taints),), depth)

    def arguments(self, node: Node | None, depth: int) -> tuple[ProgramValue, ...]:
        if node is None:
            return ()
        args: list[ProgramValue] = []
        for child in node.named_children:
            worth = self.visit(child, depth)
            if len(args) > MAX_LIST:
                break
            if child.type == "spread_element":
                known = worth.known and not worth.name and worth.items is None and worth.entries is None
                chars = tuple(text_value(char) for char in worth.text[:MAX_ENTRIES]) if known else None
                args.extend(worth.items or chars or (worth.element or ProgramValue(taints=worth.taints),))
            elif child.type != "comment":
                args.append(worth)
        return tuple(args)


def operator_of(node: Node) -> str:
    """The operator of an expression."""
    operator = node.child_by_field_name("operator")
    return source_of(operator) if operator is not None else ""


def operated(left: ProgramValue, operator: str, right: ProgramValue) -> ProgramValue:
    """What an operator makes of two values."""
    if operator in ("||", "&&", "??"):
        return either([left, right])
    if left.number is not None and right.number is not None:
        one, two = left.number, right.number
        found = {
            "+": one + two, "-": one - two, "*": one * two, "^": one ^ two, "|": one | two, "&": one & two,
        }.get(operator)  # fmt: skip
        if operator == "%" and two:
            found = one % two
        if operator in ("<<", ">>", ">>>") and 0 <= two < 32:
            found = one << two if operator == "<<" else one >> two
        if found is not None and found.bit_length() < 64:
            return ProgramValue(text=str(found), number=found)
        return NOT_KNOWN
    if operator == "+":
        return concat(left, right)
    compares = operator in ("==", "===", "!=", "!==", "<", ">", "<=", ">=", "in", "instanceof")
    return NOT_KNOWN if compares else ProgramValue(taints=left.taints | right.taints)


def source_of(node: Node) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def _fragment(node: Node) -> str:
    text = source_of(node).replace(HOLE, UNKNOWN)
    if node.type != "escape_sequence":
        return text
    kind = text[1:2]
    if kind in ("x", "u"):
        digits = text[2:].strip("{}")
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            return UNKNOWN
    if kind.isdigit() and len(text) > 2:
        return chr(int(text[1:], 8)) if set(text[1:]) <= set("01234567") else UNKNOWN
    return _ESCAPES.get(kind, kind)


VISITS: dict[str, Callable[[Any, Node, int], ProgramValue]] = {
    "expression_statement": JavascriptExpressions.inner,
    "identifier": JavascriptExpressions.identifier,
    "this": JavascriptExpressions.identifier,
    "string": JavascriptExpressions.string,
    "template_string": JavascriptExpressions.template,
    "number": JavascriptExpressions.number,
    "regex": JavascriptExpressions.regex,
    "true": JavascriptExpressions.constant,
    "false": JavascriptExpressions.constant,
    "null": JavascriptExpressions.constant,
    "undefined": JavascriptExpressions.constant,
    "binary_expression": JavascriptExpressions.binary,
    "unary_expression": JavascriptExpressions.unary,
    "ternary_expression": JavascriptExpressions.ternary,
    "sequence_expression": JavascriptExpressions.sequence,
    "array": JavascriptExpressions.array,
    "object": JavascriptExpressions.object,
    "class_heritage": JavascriptExpressions.inner,
    "member_expression": JavascriptExpressions.member_expression,
    "subscript_expression": JavascriptExpressions.subscript,
    "call_expression": JavascriptExpressions.call,
    "new_expression": JavascriptExpressions.call,
    "parenthesized_expression": JavascriptExpressions.sequence,
    "await_expression": JavascriptExpressions.inner,
    "yield_expression": JavascriptExpressions.inner,
    "spread_element": JavascriptExpressions.inner,
    "arrow_function": JavascriptExpressions.function,
    "function_expression": JavascriptExpressions.function,
    "generator_function": JavascriptExpressions.function,
    "function_declaration": JavascriptExpressions.function,
    "generator_function_declaration": JavascriptExpressions.function,
    "method_definition": JavascriptExpressions.function,
}
"""How a node of each kind is visited. Statements are added by who walks them."""
