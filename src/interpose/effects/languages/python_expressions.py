"""Expressions of Python programs: what each is worth, after stating what working it out does."""

from __future__ import annotations

import ast
from collections.abc import Callable

from msgspec.structs import replace

from interpose.effects.invocation import UNKNOWN
from interpose.effects.languages.program_values import (
    MAX_LIST,
    NOT_KNOWN,
    ProgramFunction,
    ProgramValue,
    all_taints,
    bounded,
    concat,
    either,
    entry,
    join_path,
    text_value,
    variable,
)
from interpose.effects.languages.python_calls import PATH, PythonMemory, use
from interpose.effects.languages.python_library import PythonLibrary
from interpose.effects.languages.python_names import STAR_MODULES, canonical, constant
from interpose.effects.languages.python_text import BYTES, MAX_BITS, lifted, percent

HIDING = frozenset({"__subclasses__", "__globals__", "__mro__", "__bases__", "f_globals", "f_builtins"})
"""Attributes through which a program gets at functions without naming them."""
_CHANGES = frozenset({"append", "extend", "insert", "add", "update", "reverse", "pop", "appendleft", "setdefault",
                      "clear", "sort", "remove", "extendleft", "popitem", "__setitem__"})  # fmt: skip
MODULE_TABLES = frozenset({"globals()", "locals()", "sys.modules", "__builtins__", "__dict__", "builtins.__dict__",
                            "__builtins__.__dict__", "builtins", "__main__.__dict__"})  # fmt: skip


class PythonExpressions(PythonLibrary):
    """The part of the walker that works out values. Statements are walked by the whole."""

    def __init__(self, session: PythonMemory) -> None:
        super().__init__(session)
        self.stars: list[str] = []

    def bind(self, target: ast.expr, worth: ProgramValue) -> None:
        raise NotImplementedError

    def loop(self, target: ast.expr, source: ast.expr, body: Callable[[], None]) -> None:
        raise NotImplementedError

    def replace(self, place: ast.expr, worth: ProgramValue) -> None:
        raise NotImplementedError

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, *, wanted: bool) -> ProgramValue:
        raise NotImplementedError

    def value(self, node: ast.expr) -> ProgramValue:
        self.step()
        found = self._value(node)
        return found if found.items is None and found.entries is None else bounded(found, self.session.low)

    def _value(self, node: ast.expr) -> ProgramValue:  # noqa: C901 - one case per kind of expression
        match node:
            case ast.Constant(value=constant_value):
                return _constant(constant_value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=base, attr=attr):
                if attr in HIDING:
                    self.session.seen.add("hidden")
                held = self.value(base)
                use(held)
                if attr in _CHANGES and (held.items is not None or held.entries is not None):
                    # Handed on: who calls it later changes the list without our seeing it.
                    self.replace(base, ProgramValue(taints=held.taints))
                return self.attribute(held, attr)
            case ast.Call():
                return self.call(node)
            case ast.JoinedStr(values=parts):
                out = text_value("")
                for part in parts:
                    out = concat(out, self.value(part))
                return out
            case ast.FormattedValue(value=inner, format_spec=spec, conversion=kind):
                return self.formatted(self.value(inner), self.value(spec) if spec is not None else None, kind)
            case ast.BinOp(left=left, op=op, right=right):
                return binary(self.value(left), op, self.value(right))
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                items = self.listed(parts)
                return ProgramValue(items=items, taints=all_taints(items))
            case ast.Dict(keys=keys, values=values):
                return self.dictionary(keys, values)
            case ast.Starred(value=inner) | ast.Await(value=inner):
                return self.value(inner)
            case ast.Subscript(value=base, slice=index):
                return self.subscript(self.value(base), index)
            case ast.NamedExpr(target=target, value=inner):
                worth = self.value(inner)
                self.bind(target, worth)
                return worth
            case ast.Lambda():
                return self.function(node, wanted=True)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.comprehension(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.value(test)
                return either([self.value(body), self.value(orelse)])
            case ast.BoolOp(values=parts):
                return either([self.value(part) for part in parts])
            case ast.Compare(left=left, comparators=parts):
                for part in (left, *parts):
                    self.value(part)
                return NOT_KNOWN
            case ast.Yield(value=inner) | ast.YieldFrom(value=inner):
                worth = self.value(inner) if inner is not None else NOT_KNOWN
                use(worth)
                self.yielded.extend(worth.items if isinstance(node, ast.YieldFrom) and worth.items else (worth,))
                return NOT_KNOWN
            case ast.UnaryOp(op=op, operand=operand):
                return _unary(op, self.value(operand))
            case _:
                found = [self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
                return ProgramValue(taints=all_taints(found))

    def formatted(self, worth: ProgramValue, spec: ProgramValue | None, kind: int) -> ProgramValue:
        if spec is not None and spec.text:
            return self.apply(ProgramValue(name="format"), (worth, spec), {})
        return self.apply(ProgramValue(name="repr"), (worth,), {}) if kind == ord("r") else worth

    def listed(self, parts: list[ast.expr]) -> tuple[ProgramValue, ...]:
        items: list[ProgramValue] = []
        for part in parts:
            worth = self.value(part)
            use(worth)
            if len(items) > MAX_LIST:
                break
            if isinstance(part, ast.Starred) and worth.items is not None:
                items.extend(worth.items)
            else:
                items.append((worth.element or ProgramValue(taints=worth.taints)) if isinstance(part, ast.Starred)
                             else worth)  # fmt: skip
        return tuple(items)

    def dictionary(self, keys: list[ast.expr | None], values: list[ast.expr]) -> ProgramValue:
        pairs: list[tuple[str, ProgramValue]] = []
        taints: frozenset[str] = frozenset()
        for key, inner in zip(keys, values, strict=True):
            worth = self.value(inner)
            use(worth)
            taints |= worth.taints
            if len(pairs) > MAX_LIST:
                break
            if key is None:
                pairs.extend(worth.entries or ())
            else:
                pairs.append((self.value(key).text, worth))
        return ProgramValue(entries=tuple(pairs), taints=taints)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ProgramValue:
        results: list[ProgramValue] = []
        keys: list[ProgramValue] = []
        sure = True
        filtered = any(generator.ifs for generator in node.generators)
        before = dict(self.names)

        def nested(index: int) -> None:
            nonlocal sure
            if index == len(node.generators):
                if isinstance(node, ast.DictComp):
                    keys.append(self.value(node.key))
                    results.append(self.value(node.value))
                else:
                    results.append(self.value(node.elt))
                return
            generator = node.generators[index]

            def inner() -> None:
                for condition in generator.ifs:
                    self.value(condition)
                self.session.filtered += filtered
                nested(index + 1)
                self.session.filtered -= filtered

            loops = self.session.loops
            self.loop(generator.target, generator.iter, inner)
            sure = sure and self.session.loops == loops

        nested(0)
        self.names = {**self.names, **before}
        if filtered:
            # As `env | grep NAME`: some variables and not all.
            results = [replace(worth, taints=worth.taints - {"each-variable"}) for worth in results]
        taints = all_taints(results)
        if isinstance(node, ast.DictComp):
            pairs = tuple((key.text, worth) for key, worth in zip(keys, results, strict=True))
            return ProgramValue(entries=pairs, taints=taints)
        exact = not filtered and all(result.known or result.items is not None for result in results)
        element = either(results) if results else None
        return ProgramValue(items=tuple(results) if exact else None, element=element, taints=taints)

    def name(self, name: str) -> ProgramValue:
        found = self.names.get(name)
        if found is not None:
            return found
        for module in self.stars:
            if name in STAR_MODULES.get(canonical(module), ()):
                full = canonical(f"{module}.{name}")
                return constant(full, self.session.low) or ProgramValue(name=full)
        full = canonical(name)
        return self.assigned.get(full) or ProgramValue(name=full)

    def subscript(self, base: ProgramValue, index: ast.expr) -> ProgramValue:
        if base.others:
            return either([self.subscript(other, index) for other in base.others])
        if isinstance(index, ast.Slice):
            parts = (index.lower, index.upper, index.step)
            bounds = [None if part is None else self.value(part).number for part in parts]
            exact = all(part is None or bound is not None for part, bound in zip(parts, bounds, strict=True))
            if exact and bounds[2] != 0 and base.items is not None:
                return ProgramValue(items=base.items[slice(*bounds)], taints=base.taints)
            if exact and bounds[2] != 0 and base.known and base.name in ("", BYTES):
                return ProgramValue(text=base.text[slice(*bounds)], name=base.name, taints=base.taints)
            return ProgramValue(taints=base.taints, element=base.element)
        return self.item(base, self.value(index))

    def item(self, base: ProgramValue, key: ProgramValue) -> ProgramValue:
        if key.number is not None:
            if base.items is not None and -len(base.items) <= key.number < len(base.items):
                return base.items[key.number]
            plain = base.items is None and base.entries is None and base.known and base.name in ("", BYTES)
            if plain and -len(base.text) <= key.number < len(base.text):
                char = base.text[key.number]
                return lifted(ord(char), base.taints) if base.name == BYTES else text_value(char, base.taints)
        if base.entries is not None:
            found = entry(base, key.text) if key.known else None
            return found if found is not None else either([worth for _, worth in base.entries] or [NOT_KNOWN])
        if base.items:  # one of them, or beyond what we know of the list
            return either(base.items) if key.number is None else NOT_KNOWN
        if base.name == "os.environ":
            full = f"os.environ[{key.text}]"
            if not key.known:
                return ProgramValue(taints=frozenset({"env", "secret", "each-variable"}))
            return self.assigned.get(full) or constant(full, self.session.low) or variable(key.text)
        if base.name in ("plumbum.local", "plumbum.local()") and key.known:
            return ProgramValue(name=f"plumbum.cmd.{key.text}")
        if base.name.startswith("plumbum.cmd."):
            words = key.items if key.items is not None else (key,)
            return ProgramValue(does=ProgramFunction(target=base, args=words))
        if base.name in MODULE_TABLES and key.known:
            return self.name(key.text)
        if base.name.endswith(".__dict__") and key.known:
            return self.attribute(ProgramValue(name=base.name.removesuffix(".__dict__")), key.text)
        return base.element or ProgramValue(taints=base.taints)

    def call(self, node: ast.Call) -> ProgramValue:
        if not isinstance(node.func, ast.Attribute):
            return self.apply(self.value(node.func), self.arguments(node), self.keywords(node))
        if node.func.attr in HIDING:
            self.session.seen.add("hidden")
        receiver = self.value(node.func.value)
        args, keywords = self.arguments(node), self.keywords(node)
        if receiver.others:
            return either([self.call_on(other, node.func.attr, args, keywords) for other in receiver.others])
        if node.func.attr in _CHANGES and self.changed(node.func.value, receiver, node.func.attr, args, keywords):
            last = receiver.items[-1] if receiver.items and node.func.attr == "pop" else None
            return last or (entry(receiver, args[0].text) if args else None) or NOT_KNOWN
        return self.call_on(receiver, node.func.attr, args, keywords)

    def changed(
        self, place: ast.expr, held: ProgramValue, name: str, args: tuple[ProgramValue, ...], keywords: object
    ) -> bool:
        """A list or dictionary is changed by one of its methods."""
        first = args[0] if args else NOT_KNOWN
        taints = held.taints | all_taints(args)
        if held.items is not None:
            items = held.items
            found = {
                "append": (*items, first), "add": (*items, first), "appendleft": (first, *items), "clear": (),
                "extend": (*items, *(first.items or (first.element or ProgramValue(taints=first.taints),))),
                "update": (*items, *(first.items or ())), "reverse": items[::-1], "pop": items[:-1], "sort": items,
                "insert": (*items[: first.number], *args[1:2], *items[first.number :]) if first.number is not None
                else None,
            }.get(name)  # fmt: skip
            if name == "pop" and args:
                found = items[1:] if first.number == 0 else None
            self.replace(place, ProgramValue(items=found, taints=taints))
            for worth in args:
                use(worth)
            return True
        if held.entries is not None and name in ("update", "setdefault", "pop", "clear", "__setitem__"):
            more = tuple(keywords.items()) if isinstance(keywords, dict) else ()
            more = (*(first.entries or ()), *more) if name == "update" else more
            if name in ("setdefault", "__setitem__") and len(args) > 1:
                more = ((first.text, args[1]),)
            self.replace(place, ProgramValue(entries=(*held.entries, *more), taints=taints))
            return True
        return False

    def arguments(self, node: ast.Call) -> tuple[ProgramValue, ...]:
        args: list[ProgramValue] = []
        for arg in node.args:
            worth = self.value(arg)
            if isinstance(arg, ast.Starred) and len(args) <= MAX_LIST:
                args.extend(worth.items if worth.items is not None else (worth.element or worth,))
            else:
                args.append(worth)
        return tuple(args)

    def keywords(self, node: ast.Call) -> dict[str, ProgramValue]:
        out: dict[str, ProgramValue] = {}
        for keyword in node.keywords:
            worth = self.value(keyword.value)
            if keyword.arg is None:
                out.update(worth.entries or ())
            else:
                out[keyword.arg] = worth
        return out

    def step(self) -> None:
        self.steps += 1
        self.session.low.spend(1)


def _constant(value: object) -> ProgramValue:
    if isinstance(value, int | str | bytes):
        return lifted(value)
    return ProgramValue(text="") if value is None else NOT_KNOWN


def _unary(op: ast.unaryop, worth: ProgramValue) -> ProgramValue:
    if worth.number is not None:
        match op:
            case ast.USub():
                return lifted(-worth.number)
            case ast.Invert():
                return lifted(~worth.number)
            case ast.Not():
                return lifted(not worth.number)
            case _:
                return worth
    return NOT_KNOWN if isinstance(op, ast.Not) else ProgramValue(taints=worth.taints)


def binary(left: ProgramValue, op: ast.operator, right: ProgramValue) -> ProgramValue:
    """What an operator makes of two values."""
    if left.name == PATH and isinstance(op, ast.Div):
        joined = join_path([left.text, right.text])
        return ProgramValue(
            text=joined, name=left.name, taints=left.taints | right.taints, glob=right.glob or left.glob
        )
    if left.number is not None and right.number is not None:
        return _arithmetic(left.number, op, right.number)
    taints = left.taints | right.taints
    if isinstance(op, ast.Add):
        if left.items is not None and right.items is not None:
            return ProgramValue(items=left.items + right.items, taints=taints)
        if left.items is not None or right.items is not None:
            return ProgramValue(taints=taints)
        joined_text = concat(left, right)
        if left.name == BYTES == right.name and not joined_text.others:
            return ProgramValue(text=joined_text.text, name=BYTES, taints=taints)
        return joined_text
    if isinstance(op, ast.Mult):
        times, worth = (left.number, right) if left.number is not None else (right.number, left)
        if times is not None and 0 <= times <= 256:
            if worth.items is not None:
                known = len(worth.items) * times <= MAX_LIST
                return ProgramValue(items=worth.items * times if known else None, taints=taints)
            return text_value(worth.text * times, taints) if worth.known else ProgramValue(taints=taints)
    if isinstance(op, ast.Mod) and left.number is None:
        return percent(left, right)
    if isinstance(op, ast.BitOr) and left.entries is not None and right.entries is not None:
        return ProgramValue(entries=(*left.entries, *right.entries), taints=taints)
    return ProgramValue(taints=taints)


def _arithmetic(left: int, op: ast.operator, right: int) -> ProgramValue:
    match op:
        case ast.Add():
            return lifted(left + right)
        case ast.Sub():
            return lifted(left - right)
        case ast.Mult():
            return lifted(left * right)
        case ast.BitOr():
            return lifted(left | right)
        case ast.BitXor():
            return lifted(left ^ right)
        case ast.BitAnd():
            return lifted(left & right)
        case ast.LShift() if 0 <= right <= MAX_BITS:
            return lifted(left << right)
        case ast.RShift() if 0 <= right <= MAX_BITS:
            return lifted(left >> right)
        case ast.FloorDiv() if right:
            return lifted(left // right)
        case ast.Mod() if right:
            return lifted(left % right)
        case ast.Pow() if 0 <= right <= MAX_BITS and left.bit_length() * right <= MAX_BITS:
            return lifted(left**right)
        case _:
            return ProgramValue(text=UNKNOWN)
