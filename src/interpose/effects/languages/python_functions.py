"""Calls in Python programs: functions of the program, methods, classes, half-made calls, and what calls back.

Whatever a value is called through (`functools.partial`, `map`, a decorator, a thread, an attribute of an object), what
runs in the end is the same function with the same arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from interpose.effects.languages.program_values import (
    NOT_KNOWN,
    ObjectFields,
    ProgramFunction,
    ProgramValue,
    all_taints,
    either,
    entry,
    text_value,
)
from interpose.effects.languages.python_calls import PATH, PythonMemory, use
from interpose.effects.languages.python_methods import method
from interpose.effects.languages.python_names import canonical, constant
from interpose.effects.languages.python_text import BYTES, MAX_ITEMS, text_method

MAX_INLINE = 6
MAX_CALLBACKS = 8
MANY_STEPS = 6000
"""After so many steps a function is not followed a second time."""
CHARACTERS = 64

Args = tuple[ProgramValue, ...]
Keywords = Mapping[str, ProgramValue]
PythonFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_CALLED_BACK = frozenset({"system", "popen", "unlink", "rmdir", "exec_command", "rmtree", "write_text", "run",
                          "sendline", "write", "send", "sendall"})  # fmt: skip
"""Methods that are worth calling when a program hands them on."""


RUNS_CODE = frozenset({"exec", "eval", "runpy.run_string", "cProfile.run", "cProfile.runctx", "profile.run",
                        "profile.runctx", "pdb.run", "pdb.runeval", "bdb.Bdb().run", "trace.Trace().run",
                        "_xxsubinterpreters.run_string", "code.InteractiveInterpreter().runsource",
                        "code.InteractiveInterpreter().runcode", "code.InteractiveConsole().push",
                        "code.InteractiveConsole().runsource", "code.InteractiveConsole().runcode",
                        "timeit.main", "six.exec_", "test.support.run_code", "IPython.core.magic.run_cell",
                        "concurrent.interpreters.create().exec", "interpreters.create().exec"})  # fmt: skip
OBJECTS = frozenset({"code.InteractiveConsole", "code.InteractiveInterpreter", "trace.Trace", "bdb.Bdb",
                     "plumbum.local",
                      "configparser.ConfigParser", "concurrent.interpreters.create", "interpreters.create",
                      "threading.Thread", "sched.scheduler", "cffi.FFI", "configparser.RawConfigParser",
                      "fabric.Connection", "invoke.Context"})  # fmt: skip
"""Classes of the library whose objects are told from others by their methods."""


class PythonFunctions:
    """The half of the walker that calls. The other half walks statements and expressions."""

    def __init__(self, session: PythonMemory) -> None:
        self.session = session
        self.names: dict[str, ProgramValue] = {}
        self.assigned: dict[str, ProgramValue] = {}
        """Attributes of modules and builtins that the program set itself, by their dotted names."""
        self.pending: dict[int, ProgramValue] = {}
        """Functions that nobody called yet."""
        self.outward: set[str] = set()
        self.calls = 0
        self.guessing = False
        """Whether a function is followed although nobody is seen to call it: with what, is not known."""
        self.active: list[int] = []
        """The functions that are being followed: one that calls itself is followed twice."""
        self.steps = 0
        self.returned: list[ProgramValue] = []
        self.yielded: list[ProgramValue] = []

    # The other half

    def value(self, node: ast.expr) -> ProgramValue:
        raise NotImplementedError

    def block(self, body: list[ast.stmt]) -> None:
        raise NotImplementedError

    def run_text(self, code: ProgramValue, via: str) -> ProgramValue:
        raise NotImplementedError

    def name(self, name: str) -> ProgramValue:
        raise NotImplementedError

    def item(self, base: ProgramValue, key: ProgramValue) -> ProgramValue:
        """What a list or a dictionary has under a key."""
        raise NotImplementedError

    def named(self, name: str, args: Args, keywords: Keywords) -> ProgramValue | None:
        """Call a function of the library; None when its name means nothing to us."""
        raise NotImplementedError

    # Attributes

    def attribute(self, base: ProgramValue, attr: str) -> ProgramValue:
        """An attribute of a value: of an object of the program, of a module, or a method that may be called later."""
        if base.others:
            return either([self.attribute(other, attr) for other in base.others])
        special = self._special(base, attr)
        if special is not None:
            return special
        if base.fields is not None and not base.name:
            return self._field(base, attr)
        if not base.name or base.name.endswith("()"):
            taints = base.taints if base.name != PATH else base.taints - {"environment"}
            text = base.text if base.name in (PATH, "file()", "response()", BYTES) else NOT_KNOWN.text
            if base.name == PATH and attr in ("name", "stem", "suffix"):
                last = text.rpartition("/")[2]
                return ProgramValue(text=last if attr == "name" and base.known else NOT_KNOWN.text, taints=taints)
            if base.name == PATH and attr == "path":
                return ProgramValue(text=text, taints=taints, glob=base.glob)
            if base.name == PATH and attr in ("parent", "parents") and base.known:
                text = text.rstrip("/").rpartition("/")[0] or ("/" if text.startswith("/") else ".")
            does = ProgramFunction(target=base, method=attr)
            return ProgramValue(text=text, name=base.name, taints=taints, does=does, glob=base.glob, fields=base.fields)
        full = canonical(f"{base.name}.{attr}")
        found = self.assigned.get(full) or constant(full, self.session.low)
        return found or ProgramValue(name=full, taints=base.taints)

    def _special(self, base: ProgramValue, attr: str) -> ProgramValue | None:
        if attr in ("__call__", "__func__", "__wrapped__", "func") and (base.does or base.name):
            return base.does.target if attr == "func" and base.does and base.does.target else base
        if attr in ("__init__", "__class__") and base.fields is None:
            return base
        if attr == "__self__" and not base.fields:
            owner = base.name.rpartition(".")[0]
            return ProgramValue(name=owner or "builtins")
        if attr == "__dict__" and base.fields is not None:
            return ProgramValue(entries=tuple(base.fields.own.items()))
        if attr == "__class__" and base.fields is not None and base.fields.of is not None:
            return ProgramValue(fields=base.fields.of)
        return None

    def _field(self, base: ProgramValue, attr: str) -> ProgramValue:
        fields = base.fields
        if fields is None:
            return NOT_KNOWN
        found = fields.find(attr)
        if found is None:
            hook = fields.find("__getattr__") or fields.find("__getattribute__")
            if hook is not None and not fields.is_class:
                return self.apply(hook, (base, text_value(attr)), {})
            return ProgramValue(taints=base.taints, does=ProgramFunction(target=base, method=attr))
        node = found.does.node if found.does is not None else None
        marks = {getattr(mark, "id", "") for mark in getattr(node, "decorator_list", ())}
        if node is None or "staticmethod" in marks or (found.does is not None and found.does.args):
            return found
        if "classmethod" not in marks and (fields.is_class or attr in fields.own):
            return found
        if "property" in marks or "cached_property" in marks:
            return self.apply(found, (base,), {})
        scope = found.does.scope if found.does is not None else {}
        return ProgramValue(does=ProgramFunction(node=node, scope=scope, args=(base,)), taints=found.taints)

    # Calls

    def apply(self, callee: ProgramValue, args: Args, keywords: Keywords) -> ProgramValue:
        """Call a value, whatever it is."""
        self.session.low.spend(1)
        self.steps += 1
        if callee.others:
            return either([self.apply(other, args, keywords) for other in callee.others])
        own = callee.does is not None and callee.does.node is not None
        for index, arg in enumerate(args[:2]):
            if arg.others and not own:
                rest = [(*args[:index], other, *args[index + 1 :]) for other in arg.others]
                return either([self.apply(callee, given, keywords) for given in rest])
        does = callee.does
        if does is not None:
            args, keywords = (*does.args, *args), {**does.keywords, **keywords}
            if does.node is not None:
                return self.inline(does, args, keywords)
            if does.method and does.target is not None:
                return self.call_method(does.target, does.method, args, keywords)
            return self.apply(does.target, args, keywords) if does.target is not None else NOT_KNOWN
        if callee.fields is not None and not callee.name:
            return self._instance(callee.fields, args, keywords)
        found = self.named(callee.name, args, keywords) if callee.name else None
        if found is not None:
            self.session.low.spend(len(found.text) // CHARACTERS)
            return found
        for worth in (*args, *keywords.values()):
            use(worth)
        self.call_back(args, keywords)
        kept = ProgramFunction(method="", target=NOT_KNOWN) if callee.does else None
        name = f"{callee.name}()" if callee.name in OBJECTS else ""
        return ProgramValue(taints=all_taints((*args, *keywords.values())), does=kept, name=name)

    def call_method(self, receiver: ProgramValue, name: str, args: Args, keywords: Keywords) -> ProgramValue:
        """Call a method of a value that is no module."""
        full = f"{receiver.name}.{name}"
        if full in RUNS_CODE or name in ("runsource", "runcode", "runctx", "run_cell"):
            return self.run_text(args[0] if args else NOT_KNOWN, name)
        if receiver.name in ("code.InteractiveConsole()", "trace.Trace()") and name in ("interact", "push", "run"):
            return self.run_text(args[0] if args else ProgramValue(taints=frozenset({"stdin"})), name)
        if name in ("call_args", "__call__") and receiver.does is not None:
            return self.apply(receiver, args, keywords)
        if name == "get" and receiver.entries is not None and args and args[0].known:
            found = entry(receiver, args[0].text)
            return found if found is not None else (args[1] if len(args) > 1 else NOT_KNOWN)
        if name == "__getitem__" and args:
            return self.item(receiver, args[0])
        if name in ("__getattribute__", "__getattr__") and args and args[-1].known:
            return self.attribute(receiver, args[-1].text)
        if name in ("format_map",) and args:
            return text_method(receiver, "format", (), dict(args[0].entries or ()))
        found = method(receiver, name, args, keywords, self.session)
        self.session.low.spend(len(found.text) // CHARACTERS)
        self.call_back(args, keywords)
        return found

    def call_back(self, args: Args, keywords: Keywords) -> None:
        """A function is given to something that we do not know: that calls it, with what else it was given."""
        given = [*args, *keywords.values()]
        for index, worth in enumerate(given[:MAX_CALLBACKS]):
            for one in worth.others or (worth,):
                if self._is_callback(one):
                    self._call_with(one, args[index + 1 :] if index < len(args) else (), args, keywords)

    def _is_callback(self, worth: ProgramValue) -> bool:
        if worth.does is not None:
            node = worth.does.node
            if worth.does.method:
                return worth.does.method in _CALLED_BACK
            return node is None or id(node) in self.pending or bool(getattr(node, "args", None) and node.args.args)
        return "." in worth.name and not worth.name.endswith("()") and worth.name not in ("os.environ", "sys.argv")

    def _call_with(self, function: ProgramValue, rest: Args, args: Args, keywords: Keywords) -> None:
        named = keywords.get("kwargs")
        pairs = dict(named.entries) if named is not None and named.entries else {}
        listed = keywords.get("args") or keywords.get("argument")
        tuples: list[Args] = []
        if listed is not None and listed.items is not None:
            tuples.append(listed.items)
        elif rest and rest[0].items is None and rest[0].element is None and not self._is_callback(rest[0]):
            tuples.append(rest)
        for other in (*rest, *((arg for arg in args if arg is not function) if not rest else ())):
            if other.items is not None:
                tuples.append(other.items)
                tuples.extend((item.items if item.items is not None else (item,)) for item in other.items)
            elif other.element is not None:
                tuples.append((other.element,))
        for given in tuples[:MAX_CALLBACKS] or [()]:
            self.apply(function, given, pairs)

    def _instance(self, fields: ObjectFields, args: Args, keywords: Keywords) -> ProgramValue:
        """A class is called: an object of it. An object is called: its `__call__`."""
        if not fields.is_class:
            hook = fields.find("__call__")
            return self.apply(hook, (ProgramValue(fields=fields), *args), keywords) if hook is not None else NOT_KNOWN
        made = ProgramValue(fields=ObjectFields({}, fields), taints=all_taints((*args, *keywords.values())))
        for hook_name in ("__new__", "__init__", "__post_init__"):
            hook = fields.find(hook_name)
            if hook is not None and hook.does is not None:
                self.apply(hook, (made, *(args if hook_name != "__post_init__" else ())), keywords)
        if fields.find("__init__") is None and made.fields is not None:
            # A dataclass, a named tuple: what it is given becomes its attributes, in the order of its names.
            plain = [name for name, worth in fields.own.items() if worth.does is None and not name.startswith("__")]
            made.fields.own.update(zip(plain, args, strict=False))
            made.fields.own.update(keywords)
        return made

    def inline(self, function: ProgramFunction, args: Args, keywords: Keywords) -> ProgramValue:
        """Follow a call of one of the program's own functions."""
        node: PythonFunction = function.node
        again = id(node) not in self.pending
        if self.calls >= MAX_INLINE or (again and self.steps > MANY_STEPS) or self.active.count(id(node)) > 1:
            return NOT_KNOWN
        self.pending.pop(id(node), None)
        self.calls += 1
        self.active.append(id(node))
        before, outer = self.names, (self.returned, self.yielded, self.outward)
        self.names = {**before, **function.scope}
        self.session.low.spend(len(self.names) // CHARACTERS)
        self.returned, self.yielded, self.outward = [], [], set()
        self._bind_parameters(node.args, args, keywords)
        if isinstance(node, ast.Lambda):
            result = self.value(node.body)
        else:
            self.block(node.body)
            result = either(self.returned) if self.returned else NOT_KNOWN
        if self.yielded:
            result = ProgramValue(items=tuple(self.yielded[:MAX_ITEMS]), taints=all_taints(self.yielded))
        for name in self.outward:
            if name in self.names:
                before[name] = self.names[name]
        self.names = before
        kept, (self.returned, self.yielded, self.outward) = self.outward, outer
        self.outward |= kept
        self.calls -= 1
        self.active.pop()
        return result

    def _bind_parameters(self, parameters: ast.arguments, args: Args, keywords: Keywords) -> None:
        guessing, self.guessing = self.guessing, False
        names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
        defaults = dict(zip(names[len(names) - len(parameters.defaults) :], parameters.defaults, strict=False))
        for parameter, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=False):
            names.append(parameter.arg)
            if default is not None:
                defaults[parameter.arg] = default
        positional = len(names) - len(parameters.kwonlyargs)
        for index, name in enumerate(names):
            if index < min(len(args), positional):
                self.names[name] = args[index]
            elif name in keywords:
                self.names[name] = keywords[name]
            else:
                self.names[name] = self.value(defaults[name]) if name in defaults else NOT_KNOWN
        if parameters.vararg is not None:
            rest = args[positional:]
            self.names[parameters.vararg.arg] = ProgramValue(items=None if guessing else rest, taints=all_taints(rest))
        if parameters.kwarg is not None:
            more = tuple((name, worth) for name, worth in keywords.items() if name not in names)
            taints = all_taints([worth for _, worth in more])
            self.names[parameters.kwarg.arg] = ProgramValue(entries=None if guessing else more, taints=taints)

    def set_attribute(self, base: ProgramValue, attr: str, worth: ProgramValue) -> None:
        """`base.attr = worth`, for whoever looks at it later."""
        use(worth)
        if base.fields is not None:
            base.fields.own[attr] = worth
        elif base.name and not base.name.endswith("()"):
            self.assigned[canonical(f"{base.name}.{attr}")] = worth

    def call_on(self, receiver: ProgramValue, name: str, args: Args, keywords: Keywords) -> ProgramValue:
        """`receiver.name(...)`."""
        if receiver.fields is None and (not receiver.name or receiver.name.endswith("()")) and receiver.does is None:
            return self.call_method(receiver, name, args, keywords)
        return self.apply(self.attribute(receiver, name), args, keywords)
