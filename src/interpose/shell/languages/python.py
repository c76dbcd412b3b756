"""Python programs: walked statement by statement with `ast`, folding constants and following names."""

from __future__ import annotations

import ast
import warnings

from interpose.shell.invocation import UNKNOWN, Lowering
from interpose.shell.languages import generic
from interpose.shell.languages.methods import destroys
from interpose.shell.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    concat,
    join_path,
    nothing_known,
    text_value,
)
from interpose.shell.languages.python_calls import PythonMemory, call, method
from interpose.shell.languages.python_names import STAR_MODULES, canonical, constant

MAX_ITERATIONS = 8
MAX_INLINE = 6
HIDING = frozenset({"__subclasses__", "__globals__", "__mro__", "__bases__", "f_globals", "f_builtins"})
"""Attributes through which a program gets at functions without naming them."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def lower(code: str, low: Lowering, via: str) -> None:
    """State what a Python program would do."""
    if nothing_known(code):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code.strip("\n") if code[:1] == "\n" else code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
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


class _PythonWalker:
    def __init__(self, session: PythonMemory) -> None:
        self.session = session
        self.names: dict[str, ProgramValue] = {}
        self.functions: dict[str, _Function] = {}
        self.followed: set[str] = set()
        self.stars: list[str] = []
        self.calls = 0
        self.returned = NOT_KNOWN

    def program(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, _Function):
                self.functions[node.name] = node
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.block(tree.body)
        for name, function in self.functions.items():
            if name in used and name not in self.followed:
                # Handed on as a value, or called deeper than calls are followed.
                self.inline(function, ())

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
                    self.names[bound] = ProgramValue(name=alias.name if alias.asname else bound)
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    if alias.name == "*":
                        self.stars.append(module or "")
                    else:
                        self.names[alias.asname or alias.name] = ProgramValue(name=canonical(f"{module}.{alias.name}"))
            case ast.Assign(targets=targets, value=value):
                worth = self.value(value)
                for target in targets:
                    self.bind(target, worth)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.bind(target, self.value(value))
            case ast.AugAssign(target=target, value=value):
                worth = self.value(value)
                before = self.value(target) if isinstance(target, ast.Name) else NOT_KNOWN
                self.bind(target, concat(before, worth) if isinstance(node.op, ast.Add) else NOT_KNOWN)
            case ast.Return(value=value):
                self.returned = self.value(value) if value is not None else NOT_KNOWN
            case ast.For() | ast.AsyncFor():
                self.loop(node.target, self.value(node.iter), lambda: self.block(node.body))
                self.block(node.orelse)
            case ast.While(test=test, body=body, orelse=orelse):
                self.value(test)
                self.session.loops += 1
                self.block(body)
                self.session.loops -= 1
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
                for decorator in node.decorator_list:
                    self.value(decorator)
            case ast.ClassDef(body=body):
                for part in body:
                    if isinstance(part, _Function):
                        self.inline(part, ())
                    else:
                        self.statement(part)
            case ast.Try() | ast.TryStar():
                for block in (node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody):
                    self.block(block)
            case ast.Match(subject=subject, cases=cases):
                self.value(subject)
                for case in cases:
                    self.block(case.body)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)

    def branches(self, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        before = dict(self.names)
        self.block(body)
        after, self.names = self.names, before
        self.block(orelse)
        for name, worth in after.items():
            mine = self.names.get(name)
            if mine is None or (mine != worth and mine.name == worth.name == "" and not mine.known):
                self.names[name] = worth
            elif mine != worth:
                self.names[name] = ProgramValue(taints=mine.taints | worth.taints, name=worth.name)

    def loop(self, target: ast.expr, over: ProgramValue, body: object) -> None:
        assert callable(body)  # noqa: S101 - narrows the type
        items: list[ProgramValue]
        if over.items is not None:
            items = list(over.items[:MAX_ITERATIONS])
            if len(over.items) > MAX_ITERATIONS:
                items.append(NOT_KNOWN)
        else:
            items = [over.element or ProgramValue(taints=over.taints)]
        for item in items:
            self.bind(target, item)
            body()

    def bind(self, target: ast.expr, worth: ProgramValue) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = worth
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for index, part in enumerate(parts):
                    known = worth.items is not None and index < len(worth.items)
                    inner = (
                        worth.items[index] if known and worth.items is not None else ProgramValue(taints=worth.taints)
                    )
                    self.bind(part.value if isinstance(part, ast.Starred) else part, inner)
            case ast.Subscript(value=base) if isinstance(base, ast.Attribute):
                self.value(base)
            case _:
                pass

    # Expressions

    def value(self, node: ast.expr) -> ProgramValue:  # noqa: C901 - one case per kind of expression
        self.step()
        match node:
            case ast.Constant(value=constant_value):
                return _constant(constant_value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=base, attr=attr):
                return self.attribute(self.value(base), attr)
            case ast.Call():
                return self.call(node)
            case ast.JoinedStr(values=parts):
                out = text_value("")
                for part in parts:
                    out = concat(out, self.value(part))
                return out
            case ast.FormattedValue(value=inner):
                return self.value(inner)
            case ast.BinOp(left=left, op=op, right=right):
                return _binary(self.value(left), op, self.value(right))
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                items = tuple(self.value(part) for part in parts)
                return ProgramValue(items=items, taints=all_taints(items))
            case ast.Starred(value=inner):
                return self.value(inner)
            case ast.Subscript(value=base, slice=index):
                return self.subscript(self.value(base), index)
            case ast.NamedExpr(target=target, value=inner):
                worth = self.value(inner)
                self.bind(target, worth)
                return worth
            case ast.Lambda(body=body):
                return self.value(body)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.comprehension(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.value(test)
                one, other = self.value(body), self.value(orelse)
                return one if one == other else ProgramValue(taints=one.taints | other.taints)
            case ast.Await(value=inner):
                return self.value(inner)
            case ast.UnaryOp(op=op, operand=operand):
                worth = self.value(operand)
                if isinstance(op, ast.USub) and worth.number is not None:
                    return _constant(-worth.number)
                return worth
            case _:
                found = [self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
                return ProgramValue(taints=all_taints(found))

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ProgramValue:
        results: list[ProgramValue] = []

        def nested(index: int) -> None:
            if index == len(node.generators):
                if isinstance(node, ast.DictComp):
                    self.value(node.key)
                    results.append(self.value(node.value))
                else:
                    results.append(self.value(node.elt))
                return
            generator = node.generators[index]

            def inner() -> None:
                for condition in generator.ifs:
                    self.value(condition)
                nested(index + 1)

            self.loop(generator.target, self.value(generator.iter), inner)

        nested(0)
        exact = all(not generator.ifs for generator in node.generators) and all(result.known for result in results)
        element = results[0] if len(results) == 1 else None
        return ProgramValue(items=tuple(results) if exact else None, element=element, taints=all_taints(results))

    def name(self, name: str) -> ProgramValue:
        found = self.names.get(name)
        if found is not None:
            return found
        for module in self.stars:
            if name in STAR_MODULES.get(canonical(module), ()):
                return ProgramValue(name=canonical(f"{module}.{name}"))
        return ProgramValue(name=canonical(name))

    def attribute(self, base: ProgramValue, attr: str) -> ProgramValue:
        if attr in HIDING:
            self.session.seen.add("hidden")
        if not base.name:
            return ProgramValue(taints=base.taints)
        if base.name in ("pathlib.Path()", "file()", "response()", "bytes()"):
            return ProgramValue(
                text=base.text, name=base.name if attr != "parent" else "pathlib.Path()", taints=base.taints
            )
        return constant(canonical(f"{base.name}.{attr}"), self.session.low) or ProgramValue(
            name=canonical(f"{base.name}.{attr}"), taints=base.taints
        )

    def subscript(self, base: ProgramValue, index: ast.expr) -> ProgramValue:
        if isinstance(index, ast.Slice):
            parts = (index.lower, index.upper, index.step)
            bounds = [None if part is None else self.value(part).number for part in parts]
            exact = all(part is None or bound is not None for part, bound in zip(parts, bounds, strict=True))
            if exact and bounds[2] != 0 and base.known:
                return text_value(base.text[slice(*bounds)], base.taints)
            if exact and bounds[2] != 0 and base.items is not None:
                return ProgramValue(items=base.items[slice(*bounds)], taints=base.taints)
            return ProgramValue(taints=base.taints)
        key = self.value(index)
        if key.number is not None:
            if base.items is not None and -len(base.items) <= key.number < len(base.items):
                return base.items[key.number]
            if base.items is None and base.known and not base.name and -len(base.text) <= key.number < len(base.text):
                return text_value(base.text[key.number], base.taints)
        if base.name.endswith(".__dict__") and key.known:
            return self.attribute(ProgramValue(name=base.name.removesuffix(".__dict__")), key.text)
        if base.name in ("globals()", "locals()", "sys.modules", "__builtins__", "__dict__") and key.known:
            return self.name(key.text)
        if base.name == "os.environ":
            return constant(f"os.environ[{key.text}]", self.session.low) or ProgramValue(taints=frozenset({"env"}))
        return base.element or ProgramValue(taints=base.taints)

    def call(self, node: ast.Call) -> ProgramValue:
        if isinstance(node.func, ast.Name) and node.func.id in self.functions and node.func.id not in self.names:
            return self.inline(self.functions[node.func.id], tuple(self.value(arg) for arg in node.args))
        keywords = {keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg is not None}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.value(keyword.value)
        if isinstance(node.func, ast.Attribute):
            receiver = self.value(node.func.value)
            target = self.attribute(receiver, node.func.attr)
            args = self.arguments(node)
            if not receiver.name or receiver.name.endswith("()"):
                return method(receiver, node.func.attr, args, keywords, self.session)
            found = call(target.name, args, keywords, self.session)
            if found is None and destroys(node.func.attr, args, self.session.low):
                return NOT_KNOWN
            return found if found is not None else method(receiver, node.func.attr, args, keywords, self.session)
        target = self.value(node.func)
        args = self.arguments(node)
        found = call(target.name, args, keywords, self.session) if target.name else None
        return found if found is not None else ProgramValue(taints=all_taints(args))

    def arguments(self, node: ast.Call) -> tuple[ProgramValue, ...]:
        args: list[ProgramValue] = []
        for arg in node.args:
            worth = self.value(arg)
            if isinstance(arg, ast.Starred) and worth.items is not None:
                args.extend(worth.items)
            else:
                args.append(worth)
        return tuple(args)

    def inline(self, function: _Function, args: tuple[ProgramValue, ...]) -> ProgramValue:
        if self.calls >= MAX_INLINE:
            return NOT_KNOWN
        self.followed.add(function.name)
        self.calls += 1
        before, self.returned = dict(self.names), NOT_KNOWN
        parameters = [*function.args.posonlyargs, *function.args.args]
        for index, parameter in enumerate(parameters):
            self.names[parameter.arg] = args[index] if index < len(args) else NOT_KNOWN
        for parameter in function.args.kwonlyargs:
            self.names[parameter.arg] = NOT_KNOWN
        self.block(function.body)
        result, self.names, self.returned = self.returned, before, NOT_KNOWN
        self.calls -= 1
        return result

    def step(self) -> None:
        self.session.low.spend(1)


def _constant(value: object) -> ProgramValue:
    if isinstance(value, bool):
        return ProgramValue(text=str(value), number=int(value))
    if isinstance(value, int):
        return ProgramValue(
            text=str(value) if abs(value) < 10**18 else UNKNOWN, number=value if abs(value) < 10**9 else None
        )
    if isinstance(value, str):
        return text_value(value)
    if isinstance(value, bytes):
        return ProgramValue(text=value.decode("latin-1"), name="bytes()")
    return ProgramValue(text="") if value is None else NOT_KNOWN


def _binary(left: ProgramValue, op: ast.operator, right: ProgramValue) -> ProgramValue:
    if left.name == "pathlib.Path()" and isinstance(op, ast.Div):
        joined = join_path([left.text, right.text])
        return ProgramValue(text=joined, name=left.name, taints=left.taints | right.taints, glob=right.glob)
    if left.number is not None and right.number is not None:
        match op:
            case ast.Add():
                return _constant(left.number + right.number)
            case ast.Sub():
                return _constant(left.number - right.number)
            case ast.BitOr():
                return _constant(left.number | right.number)
            case ast.BitXor():
                return _constant(left.number ^ right.number)
            case ast.Mult():
                return _constant(left.number * right.number)
            case _:
                return NOT_KNOWN
    if isinstance(op, ast.Add):
        if left.items is not None and right.items is not None:
            return ProgramValue(items=left.items + right.items, taints=left.taints | right.taints)
        return concat(left, right)
    if isinstance(op, ast.Mult) and left.known and right.number is not None and 0 <= right.number <= 256:
        return text_value(left.text * right.number, left.taints)
    if isinstance(op, ast.Mod) and left.known:
        return _percent(left, right)
    return ProgramValue(taints=left.taints | right.taints)


def _percent(form: ProgramValue, given: ProgramValue) -> ProgramValue:
    values = list(given.items) if given.items is not None else [given]
    out = text_value("", form.taints)
    parts = form.text.split("%s")
    for index, part in enumerate(parts):
        out = concat(out, text_value(part.replace("%%", "%")))
        if index < len(parts) - 1:
            out = concat(out, values[index] if index < len(values) else NOT_KNOWN)
    return out
