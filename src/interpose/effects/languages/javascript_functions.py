"""Calls in JavaScript programs: functions of the program, methods, half-made calls, and what calls back.

Whatever a function is called through (`bind`, `Reflect.apply`, `forEach`, `then`, a property of an object), what runs
in the end is the same function with the same arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.effects.languages.javascript_calls import JavascriptMemory, call, canonical, feed, known_name, printed
from interpose.effects.languages.javascript_network import sends
from interpose.effects.languages.javascript_text import plain_call, text_method
from interpose.effects.languages.program_values import (
    NOT_KNOWN,
    ObjectFields,
    ProgramFunction,
    ProgramValue,
    all_taints,
    either,
    entry,
    nothing_known,
    run_shell,
    text_value,
)

if TYPE_CHECKING:
    from tree_sitter import Node

Args = tuple[ProgramValue, ...]

MAX_INLINE = 6
MAX_ITEMS = 64
MAX_CALLBACKS = 8
MANY_STEPS = 3000
"""After so many nodes a function is not followed a second time, and a loop only a few times."""
_EACH = frozenset({"forEach", "map", "filter", "some", "every", "find", "findIndex", "flatMap", "findLast"})
THEN = frozenset({"then", "catch", "finally"})
_PRINTS = frozenset({"console.log", "console.error", "console.info", "console.warn", "console.table", "console.dir",
                     "process.stdout.write", "process.stderr.write", "console.debug", "console.trace", "print",
                     "Deno.stdout.write", "Bun.stdout.write", "alert"})  # fmt: skip
_FUNCTION = frozenset({"Function", "AsyncFunction", "GeneratorFunction", "AsyncGeneratorFunction"})
_TIMERS = frozenset({"setTimeout", "setInterval", "setImmediate", "process.nextTick", "queueMicrotask"})
_KINDS = frozenset({"String", "Array", "Object", "Number", "RegExp", "Promise", "Map", "Set", "Error", "Date",
                    "Function", "Symbol", "Boolean"})  # fmt: skip
_SHELL_METHODS = frozenset({"doShellScript", "doScript", "spawn_command_line_sync", "spawn_command_line_async"})
_CALLED_BACK = frozenset({"delete", "unlink", "write", "send", "exec", "doShellScript"})


class JavascriptFunctions:
    """The half of the walker that calls. The other half visits nodes."""

    def __init__(self, session: JavascriptMemory) -> None:
        self.session = session
        self.names: dict[str, ProgramValue] = {}
        self.assigned: dict[str, ProgramValue] = {}
        self.pending: dict[int, ProgramValue] = {}
        """Functions that nobody called yet."""
        self.active: list[int] = []
        self.local: set[str] = set()
        self.steps = 0
        self.returned: list[ProgramValue] = []

    # The other half

    def visit(self, node: Node, depth: int) -> ProgramValue:
        raise NotImplementedError

    def bind(self, target: Node, worth: ProgramValue, depth: int) -> None:
        raise NotImplementedError

    def run_text(self, code: ProgramValue, via: str) -> ProgramValue:
        raise NotImplementedError

    # Members

    def member(self, base: ProgramValue, name: str) -> ProgramValue:
        """A property of a value: of an object of the program, of a module, or a method that may be called later."""
        if base.others:
            return either([self.member(other, name) for other in base.others])
        if base.entries is not None and (found := entry(base, name)) is not None:
            return found
        if base.fields is not None and not base.name:
            found = base.fields.find(name)
            if found is not None:
                return found
        if name == "constructor":
            return self._constructor(base)
        if name in ("prototype", "exports", "__proto__") and base.name:
            return base
        if base.name == "process()" and name in ("stdin", "stdout", "stderr"):
            return base
        if not base.name or base.name.endswith("()"):
            if name == "length" and (base.items is not None or (base.known and base.entries is None)):
                size = len(base.items) if base.items is not None else len(base.text)
                return ProgramValue(text=str(size), number=size)
            text = base.text if name in ("text", "body", "data", "stdout") else NOT_KNOWN.text
            return ProgramValue(text=text, taints=base.taints, does=ProgramFunction(target=base, method=name))
        full = canonical(f"{base.name}.{name}")
        found = self.assigned.get(full) or known_name(full, self.session.low)
        return found or ProgramValue(name=full, taints=base.taints)

    def _constructor(self, base: ProgramValue) -> ProgramValue:
        if base.name in ("module", "process.mainModule", "require.main"):
            return ProgramValue(name="module.constructor")
        if base.does is not None or base.name in _KINDS or "." in base.name:
            return ProgramValue(name="Function")
        if base.items is not None:
            return ProgramValue(name="Array")
        return ProgramValue(name="String" if base.known else "Object")

    # Calls

    def apply(self, callee: ProgramValue, args: Args, depth: int) -> ProgramValue:
        """Call a value, whatever it is."""
        self.step(1)
        if callee.others:
            return either([self.apply(other, args, depth) for other in callee.others])
        does = callee.does
        own = does is not None and does.node is not None
        for index, arg in enumerate(args[:2]):
            if arg.others and not own:
                rest = [(*args[:index], other, *args[index + 1 :]) for other in arg.others]
                return either([self.apply(callee, given, depth) for given in rest])
        if does is not None:
            args = (*does.args, *args)
            if does.node is not None:
                return self.inline(does, args, depth)
            if does.method and does.target is not None:
                return self.call_method(does.target, does.method, args, depth)
            return self.apply(does.target, args, depth) if does.target is not None else NOT_KNOWN
        if callee.fields is not None and not callee.name:
            return self.instance(callee.fields, args, depth)
        found = self._named(callee.name, args, depth) if callee.name else None
        if found is not None:
            return found
        self.call_back(args, depth)
        return ProgramValue(taints=all_taints(args))

    def instance(self, fields: ObjectFields, args: Args, depth: int) -> ProgramValue:
        """`new C(...)` of a class of the program."""
        made = ProgramValue(fields=ObjectFields({}, fields))
        hook = fields.find("constructor")
        if hook is not None and hook.does is not None:
            before, self.names["this"] = self.names.get("this", NOT_KNOWN), made
            self.apply(hook, args, depth)
            self.names["this"] = before
        return made

    def call_method(self, receiver: ProgramValue, name: str, args: Args, depth: int) -> ProgramValue:
        """Call a method of a value that is no module."""
        first = args[0] if args else NOT_KNOWN
        session = self.session
        if receiver.others:
            return either([self.call_method(other, name, args, depth) for other in receiver.others])
        if (found := self._of_function(receiver, name, args, depth)) is not None:
            return found
        if receiver.fields is not None and not receiver.name and (own := receiver.fields.find(name)) is not None:
            before, self.names["this"] = self.names.get("this", NOT_KNOWN), receiver
            result = self.apply(own, args, depth)
            self.names["this"] = before
            return result
        if receiver.entries is not None and (held := entry(receiver, name)) is not None:
            before, self.names["this"] = self.names.get("this", NOT_KNOWN), receiver
            result = self.apply(held, args, depth)
            self.names["this"] = before
            return result
        if name in _EACH and args:
            return self._each(receiver, name, first, depth)
        if name in ("reduce", "reduceRight") and args:
            return self._reduced(receiver, name, args, depth)
        if name in THEN and args:
            return either([self.apply(arg, (receiver,), depth) for arg in args])
        if receiver.name == "process()" and name in ("write", "end") and args:
            feed(receiver, first, session.low)
            return receiver
        if name in _SHELL_METHODS and args:
            session.acted = True
            run_shell(first, session.low, name)
            return NOT_KNOWN
        if name == "exec" and args and first.known and " " in first.text and receiver.name != "RegExp()":
            session.acted = True
            run_shell(first, session.low, name)
            return NOT_KNOWN
        if receiver.name == "Bun.file()" and name in ("delete", "unlink") and receiver.items:
            session.low.delete(receiver.items[0].word)
            return NOT_KNOWN
        if sends(receiver, name, args, session.low):
            session.acted = True
            return NOT_KNOWN
        if _removes(receiver, name, args):
            session.low.emit("data.destroy", name, certainty="possible", rule="api-delete",
                             reason=f"`{name}` of an object removes what it stands for")  # fmt: skip
            return NOT_KNOWN
        found = call(f".{name}", args, session)
        self.call_back(args, depth, receiver)
        return found if found is not None else text_method(receiver, name, args)

    def _of_function(self, receiver: ProgramValue, name: str, args: Args, depth: int) -> ProgramValue | None:
        """`call`, `apply` and `bind` of a function."""
        if not (receiver.does or (receiver.name and not receiver.name.endswith("()"))):
            return None
        match name:
            case "call":
                return self.apply(receiver, args[1:], depth)
            case "apply":
                listed = args[1].items if len(args) > 1 and args[1].items is not None else (NOT_KNOWN,)
                return self.apply(receiver, listed, depth)
            case "bind":
                return ProgramValue(does=ProgramFunction(target=receiver, args=args[1:]))
            case _:
                return None

    def _each(self, receiver: ProgramValue, name: str, function: ProgramValue, depth: int) -> ProgramValue:
        outside, self.session.filtered = self.session.filtered, int(name == "filter")
        items = self.elements(receiver)
        results = [self.apply(function, (item,), depth) for item in items]
        self.session.filtered = outside
        taints = all_taints(results)
        if name in ("map", "flatMap"):
            known = receiver.items is not None and len(receiver.items) <= len(results)
            return ProgramValue(items=tuple(results) if known else None, taints=taints,
                                element=None if known else either(results or [NOT_KNOWN]))  # fmt: skip
        if name == "filter":
            kept = [_chosen(item) for item in items]
            return ProgramValue(element=either(kept or [NOT_KNOWN]), taints=all_taints(kept))
        return either(items) if name.startswith("find") else ProgramValue(taints=taints)

    def _reduced(self, receiver: ProgramValue, name: str, args: Args, depth: int) -> ProgramValue:
        items = self.elements(receiver)
        items = [*args[1:2], *(items[::-1] if name == "reduceRight" else items)]
        result = items[0] if items else NOT_KNOWN
        for item in items[1:]:
            result = self.apply(args[0], (result, item), depth)
        return result

    def elements(self, over: ProgramValue) -> list[ProgramValue]:
        """What a loop over a value sees, one after the other."""
        if over.items is None:
            if over.known and not over.name and over.entries is None and len(over.text) <= MAX_ITEMS:
                return [text_value(char) for char in over.text]
            return [over.element or ProgramValue(taints=over.taints)]
        most = MAX_ITEMS if self.steps < MANY_STEPS else 3
        return [*over.items[:most], *([NOT_KNOWN] if len(over.items) > most else [])]

    def call_back(self, args: Args, depth: int, receiver: ProgramValue = NOT_KNOWN) -> None:
        """A function is given to something that we do not know: that calls it, with what else it was given."""
        for index, worth in enumerate(args[:MAX_CALLBACKS]):
            for one in worth.others or (worth,):
                if not self._is_callback(one):
                    continue
                rest = args[index + 1 :]
                others = [arg for arg in args if arg is not worth]
                tuples = [rest] if rest and not self._is_callback(rest[0]) else []
                for other in (receiver, *others):
                    tuples.extend((item,) for item in (other.items or ())[:MAX_CALLBACKS])
                event = ProgramValue(taints=receiver.taints)
                for given in tuples[:MAX_CALLBACKS] or [(event,) if event.taints else ()]:
                    self.apply(one, given, depth)

    def _is_callback(self, worth: ProgramValue) -> bool:
        if worth.does is not None:
            if worth.does.method:
                return worth.does.method in _CALLED_BACK
            return worth.does.node is None or worth.does.node.id in self.pending or bool(worth.does.args)
        return "." in worth.name and not worth.name.endswith("()") and not worth.name.startswith("process.env")

    def inline(self, function: ProgramFunction, args: Args, depth: int) -> ProgramValue:
        """Follow a call of one of the program's own functions."""
        node: Node = function.node
        again = node.id not in self.pending
        if len(self.active) >= MAX_INLINE or (again and self.steps > MANY_STEPS) or self.active.count(node.id) > 1:
            return NOT_KNOWN
        self.pending.pop(node.id, None)
        self.active.append(node.id)
        before = dict(self.names)
        self.step(len(before) // 32)
        outer, self.returned = self.returned, []
        locals_before, self.local = self.local, set()
        if function.within not in self.active[:-1]:
            self.names.update(function.scope)
            self.local.update(function.scope)
        self._bind_parameters(node, args, depth)
        body = node.child_by_field_name("body")
        worth = self.visit(body, depth) if body is not None else NOT_KNOWN
        if body is not None and body.type == "statement_block":
            worth = either(self.returned) if self.returned else NOT_KNOWN
        self.returned = outer
        for name in self.local:  # what the function changes outside stays changed
            if name in before:
                self.names[name] = before[name]
            else:
                self.names.pop(name, None)
        self.local = locals_before
        self.active.pop()
        return worth

    def _bind_parameters(self, node: Node, args: Args, depth: int) -> None:
        single = node.child_by_field_name("parameter")
        several = node.child_by_field_name("parameters")
        targets = [single] if single is not None else (several.named_children if several is not None else [])
        self.names["arguments"] = ProgramValue(items=args, taints=all_taints(args))
        self.local.add("arguments")
        for index, target in enumerate(targets):
            worth = args[index] if index < len(args) else NOT_KNOWN
            if target.type == "rest_pattern":
                worth = ProgramValue(items=args[index:], taints=all_taints(args[index:]))
            elif target.type == "assignment_pattern" and index >= len(args):
                default = target.child_by_field_name("right")
                worth = self.visit(default, depth) if default is not None else NOT_KNOWN
            self.declare(target)
            self.bind(target, worth, depth)

    def declare(self, target: Node) -> None:
        """The names that a pattern makes belong to the function that is being followed."""
        if target.type in ("identifier", "shorthand_property_identifier_pattern"):
            self.local.add((target.text or b"").decode("utf-8", "replace"))
            return
        for part in target.named_children[:MAX_ITEMS]:
            self.declare(part)

    # Functions of the library that call others, or say which to call

    def _named(self, name: str, args: Args, depth: int) -> ProgramValue | None:  # noqa: C901 - one case per function
        first = args[0] if args else NOT_KNOWN
        if name in _PRINTS:
            return printed(args, self.session)
        if name in _FUNCTION:
            code = args[-1] if args else NOT_KNOWN
            self.session.acted = True
            made = ProgramValue(name="Function()")
            return ProgramValue(does=ProgramFunction(target=made, args=(ProgramValue(items=args[:-1]), code)))
        if name in _TIMERS:
            if first.does is not None or first.name:
                self.apply(first, args[2:] if name != "process.nextTick" else args[1:], depth)
            elif args and (first.others or first.taints or not nothing_known(first.text)):
                self.run_text(first, name)  # of which nothing is known is a function that somebody gave
            return NOT_KNOWN
        match name:
            case "eval" | "vm.runInThisContext" | "vm.runInNewContext" | "vm.runInContext" if not _is_function(first):
                self.session.acted = True
                self.names.update(args[1].entries or () if len(args) > 1 else ())
                return self.run_text(first, name)
            case "Function()" if len(args) > 1:
                for parameter, worth in zip(first.items or (), args[2:], strict=False):
                    self.names[parameter.text] = worth
                return self.run_text(args[1], "Function")
            case "Reflect.apply" if args:
                listed = args[2].items if len(args) > 2 and args[2].items is not None else (NOT_KNOWN,)
                return self.apply(first, listed, depth)
            case "Reflect.construct" if args:
                return self.apply(first, args[1].items or () if len(args) > 1 else (), depth)
            case "Reflect.get" | "Object.getOwnPropertyDescriptor" if len(args) > 1:
                found = self.member(first, args[1].text) if args[1].known else NOT_KNOWN
                return found if name == "Reflect.get" else ProgramValue(entries=(("value", found),))
            case "Array.from" if len(args) > 1:
                return self._each(first, "map", args[1], depth)
            case "Proxy" | "Object.getPrototypeOf":
                return first
            case "dotenv.config" | "dotenv.parse":
                secrets = ProgramValue(taints=frozenset({"env", "secret", "environment"}))
                return ProgramValue(entries=(("parsed", secrets),))
            case "Promise" if args:
                self.apply(first, (ProgramValue(does=ProgramFunction(target=NOT_KNOWN)),), depth)
                return NOT_KNOWN
            case _:
                return self._library(name, args, depth)

    def _library(self, name: str, args: Args, depth: int) -> ProgramValue | None:
        owner, _, tail = name.rpartition(".")
        if owner and (found := self._of_function(ProgramValue(name=owner), tail, args, depth)) is not None:
            return found
        value = plain_call(name, args, self.session.low)
        if value is not None:
            return value
        found = call(name, args, self.session)
        if owner and found is None:
            if sends(ProgramValue(name=owner), tail, args, self.session.low):
                self.session.acted = True
            if tail in _SHELL_METHODS and args:
                run_shell(args[0], self.session.low, tail)
        if found is not None:
            self.call_back(args, depth, found)
        return found

    def step(self, steps: int) -> None:
        """Count work."""
        self.steps += steps
        self.session.low.spend(steps)


def _removes(receiver: ProgramValue, name: str, args: Args) -> bool:
    """`sequelize.drop()`, `octokit.repos.delete({...})`."""
    holder = receiver.does.method if receiver.does is not None else ""
    return (name == "drop" and not args) or (name == "delete" and holder in ("repos", "repositories", "projects"))


def _is_function(value: ProgramValue) -> bool:
    return value.does is not None and not value.does.method


def _chosen(item: ProgramValue) -> ProgramValue:
    """One of some variables that were picked out, as `env | grep NAME` does."""
    dropped = {"environment", "each-variable"}
    inner = tuple(replace(one, taints=one.taints - dropped) for one in item.items) if item.items else item.items
    return replace(item, taints=item.taints - dropped, items=inner)
