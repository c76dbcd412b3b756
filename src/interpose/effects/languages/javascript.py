"""JavaScript programs: parsed with tree-sitter, walked once, folding constants and following names of modules."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from interpose.effects.invocation import UNKNOWN, Lowering
from interpose.effects.languages.generic import unparsed
from interpose.effects.languages.javascript_calls import JavascriptMemory, canonical, load, printed
from interpose.effects.languages.javascript_expressions import (
    MAX_DEPTH,
    MAX_ENTRIES,
    VISITS,
    JavascriptExpressions,
    TooLarge,
    operated,
    operator_of,
    source_of,
)
from interpose.effects.languages.program_values import (
    HOLE,
    NOT_KNOWN,
    ObjectFields,
    ProgramValue,
    either,
    nothing_known,
    same,
    text_value,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_TEXTS = 8
PRINTING = " -p"
"""How the wrapper of a program ends whose last value is printed."""


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_javascript

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))


def _parsed(code: str) -> Node:
    return _parser().parse(code.encode("utf-8", "replace")).root_node


def lower(code: str, low: Lowering, via: str) -> None:
    """State what a JavaScript program would do."""
    if nothing_known(code):
        return
    root = _parsed(code)
    if root.has_error and UNKNOWN in code and HOLE not in code:
        filled = _parsed(code.replace(UNKNOWN, HOLE))
        root = filled if not filled.has_error else root
    session = JavascriptMemory(low, via)
    walker = _JavascriptWalker(session)
    try:
        worth = walker.program(root)
        if via.endswith(PRINTING):
            printed((worth,), session)
    except (TooLarge, RecursionError):
        low.emit("opaque", via, certainty="unknown", rule="too-deep", reason="The program is too deep to be followed")
    if root.has_error and not session.acted:
        unparsed(low, via)
        words = code.split(None, 2)
        if len(words) > 1 and words[0].isidentifier() and words[1][:1] == "-":
            # Not a program but a shell command by mistake: what it would do is what was meant.
            low.shell(code, via=via)
    session.finish()


class _JavascriptWalker(JavascriptExpressions):
    def __init__(self, session: JavascriptMemory) -> None:
        super().__init__(session)
        self.texts = 0

    def program(self, root: Node) -> ProgramValue:
        worth = self.body(root, 0)
        for waiting in list(self.pending.values()):
            # Handed on as a value, or called by somebody whom we do not see.
            if waiting.does is not None and waiting.does.node.id in self.pending:
                self.inline(waiting.does, (), 1)
        return worth

    # Statements

    def body(self, node: Node, depth: int) -> ProgramValue:
        """Statements one after the other; functions are there before the first of them runs."""
        for child in node.named_children:
            if child.type in ("function_declaration", "generator_function_declaration"):
                self.function(child, depth)
        worth = NOT_KNOWN
        for child in node.named_children:
            worth = self.visit(child, depth)
        return worth

    def declarator(self, node: Node, depth: int) -> ProgramValue:
        worth = self.field(node, "value", depth)
        target = node.child_by_field_name("name")
        if target is not None:
            self.declare(target)
            self.bind(target, worth, depth)
        return NOT_KNOWN

    def returns(self, node: Node, depth: int) -> ProgramValue:
        worth = self.inner(node, depth)
        self.returned.append(worth)
        return worth

    def branch(self, node: Node, depth: int) -> ProgramValue:
        self.field(node, "condition", depth)
        before = dict(self.names)
        self.step(len(before) // 16)
        self.session.filtered += 1
        self.field(node, "consequence", depth)
        after, self.names = self.names, before
        self.field(node, "alternative", depth)
        self.session.filtered -= 1
        for name, worth in after.items():
            mine = self.names.get(name)
            if mine is None:
                self.names[name] = worth
            elif mine is not worth and not same(mine, worth):
                self.names[name] = either([mine, worth])
        return NOT_KNOWN

    def loop(self, node: Node, depth: int) -> ProgramValue:
        """A loop that nobody counts: what it adds to is not known afterwards."""
        before = dict(self.names)
        self.session.loops += 1
        for child in node.named_children:
            self.visit(child, depth)
        self.session.loops -= 1
        for name, worth in self.names.items():
            mine = before.get(name)
            if mine is not None and mine is not worth and not same(mine, worth):
                self.names[name] = either([worth, ProgramValue(taints=worth.taints)])
        return NOT_KNOWN

    def for_in(self, node: Node, depth: int) -> ProgramValue:
        over = self.field(node, "right", depth)
        target = node.child_by_field_name("left")
        operator = node.child_by_field_name("operator")
        if operator is not None and source_of(operator) == "in":
            keys = tuple(text_value(key) for key, _ in over.entries or ())
            over = ProgramValue(items=keys) if over.entries is not None else ProgramValue(element=NOT_KNOWN)
        # Only a condition inside picks out some of what the loop goes over.
        outside, self.session.filtered = self.session.filtered, 0
        for item in self.elements(over):
            if target is not None:
                self.declare(target)
                self.bind(target, item, depth)
            self.field(node, "body", depth)
        self.session.filtered = outside
        return NOT_KNOWN

    def imports(self, node: Node, depth: int) -> ProgramValue:
        source = self.field(node, "source", depth)
        module = load("import", source, self.session.low)
        for clause in node.named_children:
            if clause.type != "import_clause":
                continue
            for part in clause.named_children:
                if part.type == "identifier":
                    self.names[source_of(part)] = module
                elif part.type == "namespace_import":
                    self.names[source_of(part.named_children[0])] = module
                for specifier in part.named_children if part.type == "named_imports" else ():
                    name = specifier.child_by_field_name("name")
                    alias = specifier.child_by_field_name("alias") or name
                    if name is not None and alias is not None:
                        self.names[source_of(alias)] = self.member(module, source_of(name))
        return NOT_KNOWN

    def klass(self, node: Node, depth: int) -> ProgramValue:
        parent = next((self.visit(child, depth) for child in node.named_children if child.type == "class_heritage"),
                      NOT_KNOWN)  # fmt: skip
        fields = ObjectFields({}, parent.fields, is_class=True)
        made = ProgramValue(fields=fields)
        name = node.child_by_field_name("name")
        if name is not None:
            self.names[source_of(name)] = made
        body = node.child_by_field_name("body")
        for part in body.named_children if body is not None else ():
            key = part.child_by_field_name("name") or part.child_by_field_name("property")
            if part.type == "method_definition" and key is not None:
                fields.own[source_of(key)] = self.function(part, depth)
            elif part.type == "field_definition" and key is not None:
                fields.own[source_of(key)] = self.field(part, "value", depth)
            else:
                self.visit(part, depth)
        return made

    # Names

    def assignment(self, node: Node, depth: int) -> ProgramValue:
        worth = self.field(node, "right", depth)
        target = node.child_by_field_name("left")
        if target is not None:
            if node.type == "augmented_assignment_expression":
                before = self.visit(target, depth)
                worth = operated(before, operator_of(node).removesuffix("="), worth)
            self.bind(target, worth, depth)
        return worth

    def bind(self, target: Node, worth: ProgramValue, depth: int) -> None:  # noqa: C901 - one case per kind of target
        if depth > MAX_DEPTH:
            raise TooLarge
        match target.type:
            case "identifier":
                self.names[source_of(target)] = worth
            case "object_pattern":
                for part in target.named_children:
                    key = part.child_by_field_name("key")
                    value = part.child_by_field_name("value")
                    left = part.child_by_field_name("left")
                    if part.type == "shorthand_property_identifier_pattern":
                        self.names[source_of(part)] = self.member(worth, source_of(part))
                    elif part.type == "object_assignment_pattern" and left is not None:
                        self.names[source_of(left)] = self.member(worth, source_of(left))
                    elif part.type == "rest_pattern" and part.named_children:
                        self.bind(part.named_children[0], worth, depth + 1)
                    elif key is not None and value is not None:
                        self.bind(value, self.member(worth, self.key(key, depth)), depth + 1)
            case "array_pattern":
                for index, part in enumerate(target.named_children):
                    items = worth.items or ()
                    found = items[index] if index < len(items) else ProgramValue(taints=worth.taints)
                    if part.type == "rest_pattern":
                        found = ProgramValue(items=items[index:], taints=worth.taints)
                    self.bind(part, found, depth + 1)
            case "assignment_pattern" | "rest_pattern" | "parenthesized_expression":
                inner = target.child_by_field_name("left")
                for part in [inner] if inner is not None else target.named_children[:1]:
                    self.bind(part, worth, depth + 1)
            case "member_expression" | "subscript_expression":
                self.put(target, worth, depth)
            case "variable_declarator":
                name = target.child_by_field_name("name")
                if name is not None:
                    self.bind(name, worth, depth + 1)
            case _:
                pass

    def put(self, target: Node, worth: ProgramValue, depth: int) -> None:
        """`base.key = worth`, for whoever looks at it later."""
        place = target.child_by_field_name("object")
        if place is None:
            return
        base = self.visit(place, depth)
        prop = target.child_by_field_name("property")
        key = text_value(source_of(prop)) if prop is not None else self.field(target, "index", depth)
        if base.fields is not None and not base.name:
            base.fields.own[key.text] = worth
        elif base.items is not None and key.number is not None and 0 <= key.number < MAX_ENTRIES:
            items = [*base.items, *[NOT_KNOWN] * (key.number + 1 - len(base.items))]
            items[key.number] = worth
            self.bind(place, ProgramValue(items=tuple(items), taints=base.taints | worth.taints), depth + 1)
        elif base.name and not base.name.endswith("()"):
            self.assigned[canonical(f"{base.name}.{key.text}")] = worth
        elif place.type in ("identifier", "member_expression", "subscript_expression"):
            pairs = tuple(pair for pair in base.entries or () if pair[0] != key.text)
            changed = ProgramValue(entries=(*pairs, (key.text, worth)), taints=base.taints | worth.taints)
            self.bind(place, changed, depth + 1)

    def run_text(self, code: ProgramValue, via: str) -> ProgramValue:
        """`eval` and its like: what the text does, and what it is worth among the names that are there."""
        low = self.session.low
        if code.others:
            return either([self.run_text(other, via) for other in code.others])
        low.code("javascript", code.word, via=via)
        if not code.known or code.taints or self.texts >= MAX_TEXTS:
            return NOT_KNOWN
        self.texts += 1
        low.spend(len(code.text) // 6)
        root = _parsed(code.text)
        self.roots.append(root)
        outer, self.returned = self.returned, []
        worth = self.body(root, len(self.active))
        found = either(self.returned) if self.returned else worth
        self.returned = outer
        return found


VISITS.update(
    {
        "statement_block": _JavascriptWalker.body,
        "program": _JavascriptWalker.body,
        "variable_declarator": _JavascriptWalker.declarator,
        "assignment_expression": _JavascriptWalker.assignment,
        "augmented_assignment_expression": _JavascriptWalker.assignment,
        "import_statement": _JavascriptWalker.imports,
        "if_statement": _JavascriptWalker.branch,
        "while_statement": _JavascriptWalker.loop,
        "for_statement": _JavascriptWalker.loop,
        "do_statement": _JavascriptWalker.loop,
        "return_statement": _JavascriptWalker.returns,
        "class_declaration": _JavascriptWalker.klass,
        "class": _JavascriptWalker.klass,
        "for_in_statement": _JavascriptWalker.for_in,
    }
)
