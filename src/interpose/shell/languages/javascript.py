"""JavaScript programs: parsed with tree-sitter, walked once, folding constants and following names of modules."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from interpose.shell.invocation import UNKNOWN, Lowering
from interpose.shell.languages.generic import unparsed
from interpose.shell.languages.javascript_calls import JavascriptMemory, call, canonical, known_name, text_method
from interpose.shell.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    concat,
    nothing_known,
    run_shell,
    text_value,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_DEPTH = 150
MAX_ITEMS = 8

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_javascript

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))


def lower(code: str, low: Lowering, via: str) -> None:
    """State what a JavaScript program would do."""
    if nothing_known(code):
        return
    root = _parser().parse(code.encode("utf-8", "replace")).root_node
    session = JavascriptMemory(low, via)
    try:
        _JavascriptWalker(session).visit(root, 0)
    except (_TooLarge, RecursionError):
        low.emit("opaque", via, certainty="unknown", rule="too-deep", reason="The program is too deep to be followed")
    if root.has_error and not session.acted:
        unparsed(low, via)
        words = code.split(None, 2)
        if len(words) > 1 and words[0].isidentifier() and words[1][:1] == "-":
            # Not a program but a shell command by mistake: what it would do is what was meant.
            low.shell(code, via=via)
    session.finish()


class _TooLarge(Exception):  # noqa: N818 - not an error: the program is larger than what is followed
    pass


class _JavascriptWalker:
    def __init__(self, session: JavascriptMemory) -> None:
        self.session = session
        self.names: dict[str, ProgramValue] = {}

    def visit(self, node: Node, depth: int) -> ProgramValue:
        """The value of a node, after stating what evaluating it does."""
        self.session.low.spend(2)
        if depth > MAX_DEPTH:
            raise _TooLarge
        handler = _VISITS.get(node.type)
        if handler is not None:
            return handler(self, node, depth + 1)
        values = [self.visit(child, depth + 1) for child in node.named_children]
        return ProgramValue(taints=all_taints(values))

    def field(self, node: Node, name: str, depth: int) -> ProgramValue:
        child = node.child_by_field_name(name)
        return self.visit(child, depth) if child is not None else NOT_KNOWN

    # Names

    def identifier(self, node: Node, _depth: int) -> ProgramValue:
        name = _source(node)
        return self.names.get(name) or known_name(name, self.session.low) or ProgramValue(name=canonical(name))

    def declarator(self, node: Node, depth: int) -> ProgramValue:
        worth = self.field(node, "value", depth)
        target = node.child_by_field_name("name")
        if target is not None:
            self.bind(target, worth, depth)
        return NOT_KNOWN

    def assignment(self, node: Node, depth: int) -> ProgramValue:
        worth = self.field(node, "right", depth)
        target = node.child_by_field_name("left")
        if target is not None:
            if node.type == "augmented_assignment_expression":
                worth = concat(self.visit(target, depth), worth)
            self.bind(target, worth, depth)
        return worth

    def bind(self, target: Node, worth: ProgramValue, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise _TooLarge
        match target.type:
            case "identifier":
                self.names[_source(target)] = worth
            case "object_pattern":
                for part in target.named_children:
                    key = part.child_by_field_name("key")
                    value = part.child_by_field_name("value")
                    if part.type == "shorthand_property_identifier_pattern":
                        self.names[_source(part)] = self.member(worth, _source(part))
                    elif key is not None and value is not None:
                        self.bind(value, self.member(worth, _source(key)), depth + 1)
            case "array_pattern":
                for index, part in enumerate(target.named_children):
                    items = worth.items or ()
                    self.bind(part, items[index] if index < len(items) else NOT_KNOWN, depth + 1)
            case _:
                pass

    def imports(self, node: Node, depth: int) -> ProgramValue:
        source = self.field(node, "source", depth)
        module = ProgramValue(name=canonical(source.text))
        for clause in node.named_children:
            if clause.type != "import_clause":
                continue
            for part in clause.named_children:
                if part.type == "identifier":
                    self.names[_source(part)] = module
                elif part.type == "namespace_import":
                    self.names[_source(part.named_children[0])] = module
                for specifier in part.named_children if part.type == "named_imports" else ():
                    name = specifier.child_by_field_name("name")
                    alias = specifier.child_by_field_name("alias") or name
                    if name is not None and alias is not None:
                        self.names[_source(alias)] = self.member(module, _source(name))
        return NOT_KNOWN

    # Expressions

    def string(self, node: Node, _depth: int) -> ProgramValue:
        return text_value("".join(_fragment(child) for child in node.named_children))

    def template(self, node: Node, depth: int) -> ProgramValue:
        out = text_value("")
        for child in node.named_children:
            if child.type == "template_substitution":
                part = self.visit(child.named_children[0], depth) if child.named_children else NOT_KNOWN
            else:
                part = text_value(_fragment(child))
            out = concat(out, part)
        return out

    def number(self, node: Node, _depth: int) -> ProgramValue:
        text = _source(node).replace("_", "")
        try:
            return ProgramValue(text=text, number=int(text, 0) if len(text) < 12 else None)
        except ValueError:
            return ProgramValue(text=text)

    def binary(self, node: Node, depth: int) -> ProgramValue:
        left, right = self.field(node, "left", depth), self.field(node, "right", depth)
        operator = node.child_by_field_name("operator")
        if operator is not None and _source(operator) == "+":
            if left.number is not None and right.number is not None:
                return ProgramValue(text=str(left.number + right.number), number=left.number + right.number)
            return concat(left, right)
        return ProgramValue(taints=left.taints | right.taints)

    def unary(self, node: Node, depth: int) -> ProgramValue:
        worth = self.field(node, "argument", depth)
        operator = node.child_by_field_name("operator")
        if operator is not None and _source(operator) == "-" and worth.number is not None:
            return ProgramValue(text=str(-worth.number), number=-worth.number)
        return ProgramValue(taints=worth.taints)

    def loop(self, node: Node, depth: int) -> ProgramValue:
        self.session.loops += 1
        for child in node.named_children:
            self.visit(child, depth)
        self.session.loops -= 1
        return NOT_KNOWN

    def array(self, node: Node, depth: int) -> ProgramValue:
        items = tuple(self.visit(child, depth) for child in node.named_children)
        return ProgramValue(items=items, taints=all_taints(items))

    def object(self, node: Node, depth: int) -> ProgramValue:
        values = [self.visit(child, depth) for child in node.named_children]
        return ProgramValue(
            name="object()", text="".join(_source(node).split()), items=tuple(values), taints=all_taints(values)
        )

    def pair(self, node: Node, depth: int) -> ProgramValue:
        key = node.child_by_field_name("key")
        worth = self.field(node, "value", depth)
        return ProgramValue(name=f"pair:{_source(key)}" if key is not None else "", items=(worth,), taints=worth.taints)

    def member(self, base: ProgramValue, name: str) -> ProgramValue:
        if not base.name or base.name.endswith("()"):
            return ProgramValue(
                text=base.text if name in ("text", "body", "data", "stdout") else UNKNOWN, taints=base.taints
            )
        full = canonical(f"{base.name}.{name}")
        return known_name(full, self.session.low) or ProgramValue(name=full, taints=base.taints)

    def member_expression(self, node: Node, depth: int) -> ProgramValue:
        prop = node.child_by_field_name("property")
        return self.member(self.field(node, "object", depth), _source(prop) if prop is not None else "")

    def subscript(self, node: Node, depth: int) -> ProgramValue:
        base, index = self.field(node, "object", depth), self.field(node, "index", depth)
        if base.items is not None and index.number is not None and 0 <= index.number < len(base.items):
            return base.items[index.number]
        if index.known and base.name:
            return self.member(base, index.text)
        return base.element or ProgramValue(taints=base.taints)

    def inner(self, node: Node, depth: int) -> ProgramValue:
        return self.visit(node.named_children[0], depth) if node.named_children else NOT_KNOWN

    def function(self, node: Node, depth: int) -> ProgramValue:
        """A function is looked at where it stands: whether and with what it is called is not followed."""
        return self.field(node, "body", depth)

    def for_in(self, node: Node, depth: int) -> ProgramValue:
        over = self.field(node, "right", depth)
        target = node.child_by_field_name("left")
        for item in _elements(over):
            if target is not None:
                self.bind(target, item, depth)
            self.field(node, "body", depth)
        return NOT_KNOWN

    # Calls

    def call(self, node: Node, depth: int) -> ProgramValue:
        callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        arguments = node.child_by_field_name("arguments")
        if callee is None:
            return NOT_KNOWN
        if callee.type == "import":
            args = self.arguments(arguments, depth)
            return ProgramValue(name=canonical(args[0].text)) if args and args[0].known else NOT_KNOWN
        receiver, method = NOT_KNOWN, ""
        if callee.type == "member_expression":
            receiver = self.field(callee, "object", depth)
            prop = callee.child_by_field_name("property")
            method = _source(prop) if prop is not None else ""
            target = self.member(receiver, method)
        else:
            target = self.visit(callee, depth)
        if arguments is not None and arguments.type == "template_string":
            if target.name in ("$", "Bun.$", "zx.$", "execa.$", "sh"):
                self.session.acted = True
                run_shell(self.template(arguments, depth), self.session.low, target.name)
            return NOT_KNOWN
        if method in ("forEach", "map", "filter", "then", "some", "every") and arguments is not None:
            return self.callback(receiver, arguments, depth)
        args = self.arguments(arguments, depth)
        found = call(target.name or f".{method}", args, self.session)
        if found is not None:
            return found
        return text_method(receiver, method, args) if method else ProgramValue(taints=all_taints(args))

    def arguments(self, node: Node | None, depth: int) -> tuple[ProgramValue, ...]:
        if node is None:
            return ()
        args: list[ProgramValue] = []
        for child in node.named_children:
            worth = self.visit(child, depth)
            if child.type == "spread_element" and worth.items is not None:
                args.extend(worth.items)
            elif child.type != "comment":
                args.append(worth)
        return tuple(args)

    def callback(self, receiver: ProgramValue, arguments: Node, depth: int) -> ProgramValue:
        function = arguments.named_children[0] if arguments.named_children else None
        if function is None or function.type not in ("arrow_function", "function_expression"):
            args = self.arguments(arguments, depth)
            if args and args[0].name:
                call(args[0].name, (ProgramValue(taints=receiver.taints),), self.session)
            return ProgramValue(taints=receiver.taints | all_taints(args))
        parameter = function.child_by_field_name("parameter")
        parameters = function.child_by_field_name("parameters")
        if parameter is None and parameters is not None and parameters.named_children:
            parameter = parameters.named_children[0]
        results: list[ProgramValue] = []
        over = [receiver] if receiver.name and not receiver.items else _elements(receiver)
        for item in over:
            if parameter is not None:
                self.bind(parameter, item, depth)
            results.append(self.field(function, "body", depth))
        return ProgramValue(items=tuple(results) if receiver.items is not None else None, taints=all_taints(results))


def _elements(over: ProgramValue) -> list[ProgramValue]:
    if over.items is None:
        return [over.element or ProgramValue(taints=over.taints)]
    return [*over.items[:MAX_ITEMS], *([NOT_KNOWN] if len(over.items) > MAX_ITEMS else [])]


def _source(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _fragment(node: Node) -> str:
    text = _source(node)
    if node.type != "escape_sequence":
        return text
    kind = text[1:2]
    if kind in ("x", "u"):
        digits = text[2:].strip("{}")
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            return UNKNOWN
    return _ESCAPES.get(kind, kind)


_VISITS = {
    "identifier": _JavascriptWalker.identifier,
    "variable_declarator": _JavascriptWalker.declarator,
    "assignment_expression": _JavascriptWalker.assignment,
    "augmented_assignment_expression": _JavascriptWalker.assignment,
    "import_statement": _JavascriptWalker.imports,
    "string": _JavascriptWalker.string,
    "template_string": _JavascriptWalker.template,
    "number": _JavascriptWalker.number,
    "binary_expression": _JavascriptWalker.binary,
    "unary_expression": _JavascriptWalker.unary,
    "while_statement": _JavascriptWalker.loop,
    "for_statement": _JavascriptWalker.loop,
    "do_statement": _JavascriptWalker.loop,
    "array": _JavascriptWalker.array,
    "object": _JavascriptWalker.object,
    "pair": _JavascriptWalker.pair,
    "member_expression": _JavascriptWalker.member_expression,
    "subscript_expression": _JavascriptWalker.subscript,
    "call_expression": _JavascriptWalker.call,
    "new_expression": _JavascriptWalker.call,
    "parenthesized_expression": _JavascriptWalker.inner,
    "await_expression": _JavascriptWalker.inner,
    "spread_element": _JavascriptWalker.inner,
    "arrow_function": _JavascriptWalker.function,
    "function_expression": _JavascriptWalker.function,
    "function_declaration": _JavascriptWalker.function,
    "for_in_statement": _JavascriptWalker.for_in,
}
