"""Functions of Python's library that call others, or say which to call: `map`, `getattr`, `partial`, `exec`."""

from __future__ import annotations

from interpose.effects.languages.methods import destroys
from interpose.effects.languages.pickles import pickled_calls
from interpose.effects.languages.program_values import (
    MAX_BASES,
    NOT_KNOWN,
    ObjectFields,
    ProgramFunction,
    ProgramValue,
    all_taints,
    either,
    entry,
    text_value,
)
from interpose.effects.languages.python_calls import PATH, Args, Keywords, call, printed, use
from interpose.effects.languages.python_functions import MAX_CALLBACKS, OBJECTS, RUNS_CODE, PythonFunctions
from interpose.effects.languages.python_methods import method
from interpose.effects.languages.python_names import UNPICKLE, canonical
from interpose.effects.languages.python_text import BYTES, MAX_ITEMS, lifted

_OF_TEXTS = ("str", "bytes", "bytearray", "list", "dict", "tuple", "set")
_PRINTS = frozenset({"print", "pprint.pprint", "sys.stdout.write", "sys.stderr.write", "rich.print", "pprint.pp",
                     "logging.info", "logging.warning", "logging.error", "logging.debug", "logging.critical",
                     "click.echo", "typer.echo", "sys.exit", "warnings.warn", "loguru.logger.info",
                     "rich.pretty.pprint", "rich.print_json", "json.dump", "yaml.dump"})  # fmt: skip
_KEYS_ONLY = frozenset({"len", "list", "sorted", "set", "tuple", "iter", "any", "all", "bool", "sum", "enumerate"})
_TIMED = frozenset({"timeit.timeit", "timeit.repeat", "timeit.Timer"})
_SAME_FUNCTION = frozenset({"functools.wraps()", "functools.cache", "staticmethod", "classmethod",
                            "property", "contextlib.contextmanager", "contextlib.asynccontextmanager",
                            "functools.singledispatch", "functools.cached_property", "abc.abstractmethod",
                            "dataclasses.dataclass", "asyncio.coroutine", "types.coroutine"})  # fmt: skip
_LOOKS = frozenset({"callable", "hasattr", "isinstance", "issubclass", "id", "type", "repr", "help", "hash"})
"""Functions that look at what they are given and do not call it."""
_POWERFUL = frozenset({"os", "subprocess", "shutil", "builtins", "__builtins__", "pty", "importlib", "ctypes"})
"""Modules out of which nobody takes a function by a name that is not known, for a good reason."""


class PythonLibrary(PythonFunctions):
    """Calls by names of the library."""

    def named(self, name: str, args: Args, keywords: Keywords) -> ProgramValue | None:  # noqa: C901 - one case per function
        first = args[0] if args else NOT_KNOWN
        if name in _PRINTS:
            for worth in (*args, *keywords.values()):
                use(worth)
            shown = not name.endswith("dump") or any(arg.name == "sys.stdout" for arg in args)
            return printed(args, self.session) if shown else NOT_KNOWN
        if name in RUNS_CODE:
            return self.run_text(first, name)
        if name in UNPICKLE:
            return self._unpickle(name, args)
        if first.name == "os.environ" and name in _KEYS_ONLY:
            return ProgramValue(element=NOT_KNOWN)
        head, _, tail = name.partition(".")
        if head in _OF_TEXTS and tail and args and tail not in ("fromhex", "maketrans", "fromkeys"):
            return self.call_method(first, tail, args[1:], keywords)
        if name.startswith("pathlib.Path.") and tail not in ("Path.home", "Path.cwd") and args:
            return self.call_method(ProgramValue(text=first.text, name=PATH, glob=first.glob, taints=first.taints),
                                    tail.removeprefix("Path."), args[1:], keywords)  # fmt: skip
        if head == "sh" and tail and tail not in ("Command", "ErrorReturnCode"):
            return self._sh((text_value(tail.replace("_", "-")), *args))
        if name.startswith("plumbum.cmd.") or name == "plumbum.local()":
            return self._sh((text_value(name.rpartition(".")[2]), *args))
        if name.endswith((".__getattribute__", ".__getattr__", ".__getitem__", ".__dict__.get")) and first.known:
            owner = name.rpartition(".")[0].removesuffix(".__dict__")
            if len(args) > 1 and args[1].known and name.startswith(("object.", "type.")):
                return self.attribute(first, args[1].text)
            return self.attribute(ProgramValue(name=owner), first.text)
        if name.startswith(("object.__getattribute__", "type.__getattribute__")) and len(args) > 1 and args[1].known:
            return self.attribute(first, args[1].text)
        if name.endswith((".__dict__.items", ".__dict__.values")) and name.partition(".")[0] in _POWERFUL:
            self.session.seen.add("hidden")
        if name in ("globals().get", "locals().get", "sys.modules.get", "globals().__getitem__") and first.known:
            return self.name(first.text)
        found = self._of_functions(name, args, keywords)
        if found is not None:
            return found
        if name in _LOOKS or name.startswith(("inspect.", "typing.", "pydoc.", "dis.")):
            return ProgramValue(taints=all_taints(args))
        found = call(name, args, keywords, self.session)
        if found is None and destroys(name.rpartition(".")[2], args, self.session.low):
            return NOT_KNOWN
        if found is None and "." in name:
            module = ProgramValue(name=name.rpartition(".")[0])
            for worth in (*args, *keywords.values()):
                use(worth)
            found = method(module, name.rpartition(".")[2], args, keywords, self.session)
            self.call_back(args, keywords)
            made = name if name in OBJECTS else ""
            return ProgramValue(text=found.text, taints=found.taints, name=f"{made}()" if made else found.name)
        if found is not None and name not in _PRINTS:
            self.call_back(args, keywords)
        return found

    def _sh(self, words: Args) -> ProgramValue:
        self.session.low.run(tuple(word.word for word in words), via="sh")
        return NOT_KNOWN

    def _of_functions(self, name: str, args: Args, keywords: Keywords) -> ProgramValue | None:  # noqa: C901 - one case per function
        first = args[0] if args else NOT_KNOWN
        rest = args[1:]
        match name:
            case "functools.partial" | "functools.partialmethod" if args:
                return ProgramValue(does=ProgramFunction(target=first, args=rest, keywords=keywords))
            case "operator.methodcaller" if first.known:
                return ProgramValue(name="operator.methodcaller()", text=first.text, items=rest,
                                    does=ProgramFunction(target=ProgramValue(name="operator.call_method"),
                                                         args=(first, ProgramValue(items=rest))))  # fmt: skip
            case "operator.call_method" if len(args) > 2:
                receiver = args[2]
                return self.call_on(receiver, first.text, args[1].items or (), {})
            case "operator.attrgetter" if first.known:
                target = ProgramValue(name="operator.get_attribute")
                return ProgramValue(does=ProgramFunction(target=target, args=(first,)))
            case "operator.get_attribute" if len(args) > 1:
                return self._path_of(args[1], first.text)
            case "operator.itemgetter" if args:
                target = ProgramValue(name="operator.get_item")
                return ProgramValue(does=ProgramFunction(target=target, args=(first,)))
            case "operator.get_item" if len(args) > 1:
                return self.item(args[1], first)
            case "operator.call" if args:
                return self.apply(first, rest, keywords)
            case "sh.Command" if first.known:
                return ProgramValue(name=f"sh.{first.text}")
            case "getattr" | "inspect.getattr_static" | "object.__getattribute__" if rest:
                if not rest[0].known:
                    if first.name in _POWERFUL:
                        self.session.seen.add("hidden")
                    return NOT_KNOWN
                return self.attribute(first, rest[0].text)
            case "setattr" if len(rest) > 1 and rest[0].known:
                self.set_attribute(first, rest[0].text, rest[1])
                return NOT_KNOWN
            case "pkgutil.resolve_name" | "pydoc.locate" | "django.utils.module_loading.import_string" if first.known:
                return ProgramValue(name=canonical(first.text.replace(":", ".")))
            case "__import__" | "importlib.import_module" | "importlib.__import__" | "importlib.util.module_from_spec":
                return self._module(name, first)
            case (
                "importlib.machinery.load_module"
                | "imp.load_module"
                | "importlib.machinery.BuiltinImporter.load_module"
            ):
                return self._module("importlib.import_module", first)
            case "functools.wraps" | "functools.lru_cache" | "functools.update_wrapper":
                return ProgramValue(name="functools.wraps()")
            case "importlib.reload" | "inspect.unwrap" | "types.MethodType" if args:
                return first if name != "types.MethodType" else ProgramValue(
                    does=ProgramFunction(target=first, args=rest))  # fmt: skip
            case "importlib.load_source" | "runpy.run_path" | "importlib.machinery.SourceFileLoader":
                path = rest[0] if name != "runpy.run_path" and rest else first
                self.session.low.run_file(path.word, via=name, language="python")
                return NOT_KNOWN
            case "globals" | "locals" | "vars" | "dir":
                if args and first.fields is not None:
                    return ProgramValue(entries=tuple(first.fields.own.items()))
                return ProgramValue(name=f"{first.name}.__dict__" if args and first.name else "globals()")
            case "compile" | "codeop.compile_command" | "ast.parse" | "types.CodeType":
                return first
            case "types.FunctionType" | "types.LambdaType" if args:
                return ProgramValue(does=ProgramFunction(target=ProgramValue(name="exec"), args=(first,)))
            case _ if name in _TIMED:
                for worth in (*args[:2], *(keywords[key] for key in ("stmt", "setup") if key in keywords)):
                    if worth.does is not None or worth.name:
                        self.apply(worth, (), {})
                    elif worth.number is None:
                        self.run_text(worth, name)
                return NOT_KNOWN
            case "code.interact" | "code.InteractiveConsole.interact" | "IPython.embed" | "IPython.start_ipython":
                return self.run_text(ProgramValue(taints=frozenset({"stdin"})), name)
            case "map" | "itertools.starmap" | "filter" | "itertools.filterfalse" | "itertools.takewhile" if rest:
                return self._mapped(name, first, rest)
            case "functools.reduce" | "reduce" if rest:
                return self._reduced(first, rest)
            case "sorted" | "max" | "min" if "key" in keywords and args:
                for item in (first.items or (first.element or NOT_KNOWN,))[:MAX_CALLBACKS]:
                    self.apply(keywords["key"], (item,), {})
                return None
            case "type" if len(args) > 2 and rest[1].entries is not None:
                return ProgramValue(fields=ObjectFields(dict(rest[1].entries), is_class=True))
            case "types.SimpleNamespace" | "argparse.Namespace":
                return ProgramValue(fields=ObjectFields(dict(keywords)))
            case "breakpoint" if "sys.breakpointhook" in self.assigned:
                return self.apply(self.assigned["sys.breakpointhook"], args, keywords)
            case "logging.config.dictConfig" if args:
                self._configured(first, 0)
                return NOT_KNOWN
            case "super":
                return self.names.get("self", NOT_KNOWN)
            case "object":
                return ProgramValue(fields=ObjectFields({}))
            case _ if name in _SAME_FUNCTION and args:
                return first
            case _:
                return None

    def _configured(self, value: ProgramValue, depth: int) -> None:
        """A configuration that names functions, and what they are called with."""
        made = entry(value, "()") or entry(value, "class")
        if made is not None and made.known:
            named = {key: worth for key, worth in value.entries or () if key not in ("()", "class")}
            self.apply(ProgramValue(name=canonical(made.text.removeprefix("ext://"))), (), named)
        for _, worth in value.entries or () if depth < MAX_CALLBACKS else ():
            self._configured(worth, depth + 1)

    def _path_of(self, base: ProgramValue, dotted: str) -> ProgramValue:
        for attr in dotted.split(".")[:MAX_BASES]:
            base = self.attribute(base, attr)
        return base

    def _module(self, name: str, first: ProgramValue) -> ProgramValue:
        if not first.known or not first.text:
            return ProgramValue(name=first.name) if first.name else NOT_KNOWN
        # `__import__("a.b")` gives the package `a`.
        whole = not name.endswith("__import__")
        return ProgramValue(name=canonical(first.text if whole else first.text.partition(".")[0]))

    def _mapped(self, name: str, function: ProgramValue, lists: Args) -> ProgramValue:
        source = lists[0]
        if source.items is None:
            element = source.element or ProgramValue(taints=source.taints)
            given = (element.items or (element,)) if name.endswith("starmap") else (element,)
            result = self.apply(function, given, {})
            return ProgramValue(element=element if "map" not in name else result, taints=result.taints)
        results: list[ProgramValue] = []
        columns = [column.items or () for column in lists]
        for row in list(zip(*columns, strict=False))[:MAX_ITEMS]:
            given = (row[0].items or ()) if name.endswith("starmap") else row
            results.append(self.apply(function, given, {}))
        if "map" not in name:  # some of them, nobody knows which
            return ProgramValue(element=either(source.items), taints=all_taints(source.items))
        return ProgramValue(items=tuple(results), taints=all_taints(results))

    def _reduced(self, function: ProgramValue, rest: Args) -> ProgramValue:
        items = (*rest[1:2], *(rest[0].items or (rest[0].element or NOT_KNOWN, NOT_KNOWN)))
        result = items[0] if items else NOT_KNOWN
        for item in items[1:MAX_ITEMS]:
            result = self.apply(function, (result, item), {})
        return result

    def _unpickle(self, name: str, args: Args) -> ProgramValue:
        first = args[0] if args else NOT_KNOWN
        low = self.session.low
        if "remote" in all_taints(args):
            low.emit("code.remote", name)
        elif name.startswith("marshal.") and (first.known or "decoded" in first.taints):
            low.emit("opaque", name, certainty="unknown", rule="hidden-call",
                     reason="The program runs code that it carries in a form that nobody reads")  # fmt: skip
        elif name.startswith("yaml."):
            self._yaml(first)
        elif first.known and first.name in ("", BYTES):
            for called, given in pickled_calls(first.text):
                self.apply(ProgramValue(name=canonical(called)), given, {})
        return ProgramValue(taints=first.taints)

    def _yaml(self, text: ProgramValue) -> None:
        """Tags of YAML that name a function: `!!python/object/apply:os.system ["rm -rf /"]`."""
        for part in text.text.split("!!python/object/")[1:MAX_CALLBACKS] if text.known else ():
            called, _, given = part.partition(":")[2].partition("\n" if "\n" in part.strip() else " ")
            said = given.strip().strip("[]- \n").strip("'\"")
            self.apply(ProgramValue(name=canonical(called.strip())), (lifted(said),), {})
