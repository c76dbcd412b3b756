"""Python programs: walked statement by statement with `ast`, folding constants and following names."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable

from interpose.effects.invocation import UNKNOWN, Lowering
from interpose.effects.languages import generic
from interpose.effects.languages.nested_quotes import plain_quotes
from interpose.effects.languages.program_values import (
    HOLE,
    NOT_KNOWN,
    ObjectFields,
    ProgramFunction,
    ProgramValue,
    bounded,
    either,
    nothing_known,
    same,
    text_value,
)
from interpose.effects.languages.python_calls import PythonMemory, use
from interpose.effects.languages.python_expressions import MODULE_TABLES, PythonExpressions, binary
from interpose.effects.languages.python_functions import MANY_STEPS
from interpose.effects.languages.python_names import canonical, constant

MAX_ITERATIONS = 64
MAX_FEW = 3
LOOP_STEPS = 1500
"""A loop is walked so often that its body takes about as many steps."""
MAX_TEXTS = 8

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def lower(code: str, low: Lowering, via: str) -> None:
    """State what a Python program would do."""
    if nothing_known(code):
        return
    tree = _parsed(code)
    if tree is None and UNKNOWN in code and HOLE not in code:
        tree = _with_holes(code)
    if tree is None:
        generic.python(code, low, via)
        return
    cwd = low.cwd
    session = PythonMemory(low, via)
    try:
        _PythonWalker(session).program(tree)
    except RecursionError:
        low.emit("opaque", via, certainty="unknown", rule="too-deep", reason="The program is too deep to be followed")
    session.finish()
    if low.cwd != cwd:
        low.set_cwd(cwd)


def _with_holes(code: str) -> ast.Module | None:
    """The tree of a program into which the shell puts a value. What could be a statement or a name is not guessed."""
    tree = _parsed(code.replace(UNKNOWN, HOLE))
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                node.value = node.value.replace(HOLE, UNKNOWN)
            continue
        inner = node.value if isinstance(node, ast.Expr) else (node.func if isinstance(node, ast.Call) else None)
        if isinstance(inner, ast.Name) and inner.id == HOLE:
            return None
        glued = [text for _, text in ast.iter_fields(node) if isinstance(text, str) and HOLE in text]
        if glued and not (isinstance(node, ast.Name) and node.id == HOLE):
            return None
    return tree


def _parsed(code: str) -> ast.Module | None:
    """The tree of a program: of this Python's language, or of a newer one whose f-strings hold quotes of their own."""
    code = code.strip("\n") if code[:1] == "\n" else code
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in (code, plain_quotes(code)):
            try:
                return ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return None


class _PythonWalker(PythonExpressions):
    def __init__(self, session: PythonMemory) -> None:
        super().__init__(session)
        self.names[HOLE] = NOT_KNOWN
        self.used: set[str] = set()
        self.texts = 0

    def program(self, tree: ast.Module) -> None:
        self.used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        # A function may be called above the place where it stands, by another.
        for node in tree.body:
            if isinstance(node, _Function):
                self.names[node.name] = self.function(node, wanted=node.name in self.used)
        self.block(tree.body)
        for worth in list(self.pending.values()):
            # Handed on as a value, or called deeper than calls are followed.
            if worth.does is not None and id(worth.does.node) in self.pending:
                self.guessing = True
                self.inline(worth.does, worth.does.args, {})

    def function(self, node: _Function | ast.Lambda, *, wanted: bool) -> ProgramValue:
        scope = dict(self.names) if self.calls else {}
        worth = ProgramValue(does=ProgramFunction(node=node, scope=scope))
        if wanted:
            self.pending[id(node)] = worth
        return worth

    # Statements

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:  # noqa: C901 - one case per kind of statement
        self.step()
        match node:
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    self.names[bound] = ProgramValue(name=canonical(alias.name) if alias.asname else bound)
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    if alias.name == "*":
                        self.stars.append(module or "")
                    else:
                        full = canonical(f"{module}.{alias.name}")
                        found = constant(full, self.session.low)
                        self.names[alias.asname or alias.name] = found or ProgramValue(name=full)
            case ast.Assign(targets=targets, value=value):
                worth = self.value(value)
                for target in targets:
                    self.bind(target, worth)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.bind(target, self.value(value))
            case ast.AugAssign(target=target, value=value):
                before = self.value(target)
                self.bind(target, binary(before, node.op, self.value(value)))
            case ast.Return(value=value):
                worth = self.value(value) if value is not None else NOT_KNOWN
                use(worth)
                self.returned.append(worth)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.outward.update(names)
            case ast.For() | ast.AsyncFor():
                self.loop(node.target, node.iter, lambda: self.block(node.body))
                self.block(node.orelse)
            case ast.While(test=test, body=body, orelse=orelse):
                self.value(test)
                self.endless(lambda: self.block(body))
                self.block(orelse)
            case ast.If(test=test, body=body, orelse=orelse):
                self.value(test)
                self.branches(body, orelse)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    worth = self.value(item.context_expr)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, worth)
                self.block(node.body)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                wanted = node.name in self.used or bool(node.decorator_list)
                self.names[node.name] = self.decorated(node, self.function(node, wanted=wanted))
            case ast.ClassDef():
                self.define(node)
            case ast.Try() | ast.TryStar():
                for handler in node.handlers:
                    if handler.name:
                        self.names[handler.name] = NOT_KNOWN
                for block in (node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody):
                    self.block(block)
            case ast.Match(subject=subject, cases=cases):
                self.matches(self.value(subject), cases)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)

    def matches(self, subject: ProgramValue, cases: list[ast.match_case]) -> None:
        for case in cases:
            for part in ast.walk(case.pattern):
                if isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
                    self.names[part.name] = subject if part is case.pattern else NOT_KNOWN
            if case.guard is not None:
                self.value(case.guard)
            self.block(case.body)

    def decorated(self, node: _Function | ast.ClassDef, worth: ProgramValue) -> ProgramValue:
        for decorator in reversed(node.decorator_list):
            found = self.apply(self.value(decorator), (worth,), {})
            worth = found if found.does or found.fields or found.known else worth
        return worth

    def define(self, node: ast.ClassDef) -> None:
        """A class: its body runs now, its methods when they are called, or by themselves."""
        bases = [self.value(base) for base in node.bases]
        parent = next((base.fields for base in bases if base.fields is not None), None)
        for keyword in node.keywords:
            meta = self.value(keyword.value)
            if keyword.arg == "metaclass":
                self.apply(meta, (text_value(node.name), NOT_KNOWN, NOT_KNOWN), {})
        fields = ObjectFields({}, parent, is_class=True)
        before, self.names = self.names, dict(self.names)
        self.session.low.spend(len(before) // 16)
        self.names[node.name] = ProgramValue(fields=fields)
        for part in node.body:
            if isinstance(part, _Function):
                # Methods run by themselves (`__del__`), or are called by whoever gets the object.
                itself = ProgramValue(fields=ObjectFields({}, fields))
                made = self.decorated(part, self.function(part, wanted=False))
                self.names[part.name] = made
                if made.does is not None and made.does.node is part:
                    waiting = ProgramFunction(node=part, scope=made.does.scope, args=(itself,))
                    self.pending[id(part)] = ProgramValue(does=waiting)
            elif isinstance(part, ast.AnnAssign) and part.value is None and isinstance(part.target, ast.Name):
                fields.own[part.target.id] = NOT_KNOWN
            else:
                self.statement(part)
        fields.own.update({name: worth for name, worth in self.names.items() if before.get(name) is not worth})
        self.names = before
        self.names[node.name] = self.decorated(node, ProgramValue(fields=fields))

    def branches(self, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        before = dict(self.names)
        self.session.low.spend(len(before) // 8)
        self.session.filtered += 1
        self.block(body)
        after, self.names = self.names, before
        self.block(orelse)
        self.session.filtered -= 1
        for name, worth in after.items():
            mine = self.names.get(name)
            if mine is None:
                self.names[name] = worth
            elif mine is not worth and not same(mine, worth):
                self.names[name] = either([mine, worth])

    def endless(self, body: Callable[[], None]) -> None:
        """A loop that nobody counts: what it adds to is not known afterwards."""
        before = dict(self.names)
        self.session.low.spend(len(before) // 8)
        self.session.loops += 1
        body()
        self.session.loops -= 1
        for name, worth in self.names.items():
            mine = before.get(name)
            if mine is not None and mine is not worth and not same(mine, worth):
                self.names[name] = either([worth, ProgramValue(taints=worth.taints)])

    def loop(self, target: ast.expr, source: ast.expr, body: Callable[[], None]) -> None:
        over = self.value(source)
        # Only a condition inside picks out some of what the loop goes over.
        outside, self.session.filtered = self.session.filtered, 0
        self._loop(target, over, body)
        self.session.filtered = outside

    def _loop(self, target: ast.expr, over: ProgramValue, body: Callable[[], None]) -> None:
        for one in over.others:
            over = one if one.items is not None or one.element is not None else over
        if over.name == "os.environ":
            over = ProgramValue(element=NOT_KNOWN)
        if over.items is not None and over.entries is None and self.each(target, over.items, body):
            return
        keys = tuple(text_value(key) for key, _ in over.entries or ())
        if keys and self.each(target, keys, body):
            return
        element = over.element or ProgramValue(taints=over.taints)
        if over.known and not over.name and over.items is None:
            element = either([text_value(char) for char in dict.fromkeys(over.text[:MAX_ITERATIONS])])
            if self.each(target, tuple(text_value(char, over.taints) for char in over.text[:1024]), body):
                return

        def once() -> None:
            self.bind(target, element)
            body()

        self.endless(once)

    def each(self, target: ast.expr, items: tuple[ProgramValue, ...], body: Callable[[], None]) -> bool:
        """Walk a loop for each item. False if there are more than so long a body is walked for."""
        start = self.steps
        for count, item in enumerate(items):
            cost = (self.steps - start) // max(1, count)
            most = LOOP_STEPS // max(1, cost) if self.steps < MANY_STEPS else 0
            if count >= min(MAX_ITERATIONS, max(MAX_FEW, most)):
                return False
            self.bind(target, item)
            body()
        return True

    def bind(self, target: ast.expr, worth: ProgramValue) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = worth
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self.unpack(parts, worth)
            case ast.Starred(value=inner):
                self.bind(inner, worth)
            case ast.Attribute(value=base, attr=attr):
                held = self.value(base)
                if held.fields is None and not held.name:
                    held = ProgramValue(fields=ObjectFields({}), taints=held.taints)
                    self.bind(base, held)
                self.set_attribute(held, attr, worth)
            case ast.Subscript(value=base, slice=index):
                self.put(base, self.value(base), index, worth)
            case _:
                pass

    def unpack(self, parts: list[ast.expr], worth: ProgramValue) -> None:
        items = worth.items
        if items is None and worth.known and not worth.name:
            items = tuple(text_value(char, worth.taints) for char in worth.text[:MAX_ITERATIONS])
        star = next((index for index, part in enumerate(parts) if isinstance(part, ast.Starred)), None)
        for index, part in enumerate(parts):
            if items is None:
                self.bind(part, ProgramValue(taints=worth.taints))
            elif star is None or index < star:
                self.bind(part, items[index] if index < len(items) else NOT_KNOWN)
            elif index == star:
                self.bind(part, ProgramValue(items=items[star : len(items) - (len(parts) - 1 - star)]))
            else:
                position = index - len(parts)
                self.bind(part, items[position] if -position <= len(items) else NOT_KNOWN)

    def put(self, base: ast.expr, held: ProgramValue, index: ast.expr, worth: ProgramValue) -> None:
        """`held[index] = worth`."""
        use(worth)
        if isinstance(index, ast.Slice):
            self.replace(base, ProgramValue(taints=held.taints | worth.taints))
            return
        key = self.value(index)
        if held.name == "os.environ" and key.known:
            self.apply(ProgramValue(name="os.putenv"), (key, worth), {})
            self.assigned[f"os.environ[{key.text}]"] = worth
        elif held.name in MODULE_TABLES and key.known:
            self.names[key.text] = worth
        elif held.name.endswith(".__dict__") and key.known:
            self.set_attribute(ProgramValue(name=held.name.removesuffix(".__dict__")), key.text, worth)
        elif held.items is not None and key.number is not None and -len(held.items) <= key.number < len(held.items):
            items = list(held.items)
            items[key.number] = worth
            self.replace(base, ProgramValue(items=tuple(items), taints=held.taints | worth.taints))
        elif held.items is None and not held.name and held.fields is None:
            kept = held.entries or ()
            taints = held.taints | worth.taints
            pairs = tuple(pair for pair in kept if pair[0] != key.text) if key.known else kept
            self.replace(base, ProgramValue(entries=(*pairs, (key.text, worth)), taints=taints, element=held.element))

    def replace(self, place: ast.expr, worth: ProgramValue) -> None:
        """A list or dictionary was changed where it is."""
        if isinstance(place, (ast.Name, ast.Attribute, ast.Subscript)):
            self.bind(place, bounded(worth, self.session.low))
            if isinstance(place, ast.Name) and self.calls:
                self.outward.add(place.id)

    def run_text(self, code: ProgramValue, via: str) -> ProgramValue:
        """`exec` and its like: the text runs here, among the names that are there."""
        low = self.session.low
        if "stdin" in code.taints:
            given = low.read("/dev/stdin")
            if given.text is not None or given.taints:  # else a person types
                low.code("python", given, via=via)
            return NOT_KNOWN
        if code.others:
            return either([self.run_text(other, via) for other in code.others])
        tree = _parsed(code.text.strip()) if code.known and not code.taints and self.texts < MAX_TEXTS else None
        if tree is None:
            if not (code.known and via == "eval" and "(" not in code.text):
                low.code("python", code.word, via=via)
            return NOT_KNOWN
        low.code("python", code.word, via=via)
        # Once more among our own names, for what it leaves there.
        self.texts += 1
        low.spend(len(code.text) // 6)
        self.used |= {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}
        # Functions that it leaves in a dictionary are called by names that nobody sees.
        self.used |= {part.name for part in tree.body if isinstance(part, _Function)}
        if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
            return self.value(tree.body[0].value)
        self.block(tree.body)
        return NOT_KNOWN
