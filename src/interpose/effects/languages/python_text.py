"""Python's plain values: what texts, bytes, numbers and lists become, without any effect.

What is known exactly is computed by Python itself, with functions that do nothing else and sizes that are bounded.
"""

from __future__ import annotations

import ast
import html
import json
import re
import shlex
import textwrap
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from interpose.effects.invocation import NOTHING, UNKNOWN, Lowering
from interpose.effects.languages.program_values import (
    MAX_TEXT,
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    concat,
    join_path,
    text_value,
)

Args = tuple[ProgramValue, ...]

FILE = "file()"
RESPONSE = "response()"
BYTES = "bytes()"
MAX_ITEMS = 1024
MAX_WIDTH = 4096
MAX_BITS = 4096
_MAX_NESTING = 8
_TEXT_CODECS = frozenset({"utf8", "ascii", "latin1", "iso88591", "utf16", "utf16le", "utf16be", "utf32", "cp437",
                          "cp1252", "unicodeescape", "rawunicodeescape", "utf7"})  # fmt: skip
_WIDTH = re.compile(r"[0-9]{4}")


class _NotExactError(Exception):
    """The value is not known exactly."""


def exact(value: ProgramValue, *, loose: bool = False, depth: int = 0) -> Any:
    """The value as Python has it. `loose`: unknown text stands for itself."""
    if depth > _MAX_NESTING or value.others or value.does is not None or value.fields is not None:
        raise _NotExactError
    if value.items is not None:
        if len(value.items) > MAX_ITEMS:
            raise _NotExactError
        return [exact(item, loose=loose, depth=depth + 1) for item in value.items]
    if value.entries is not None:
        return {key: exact(worth, loose=loose, depth=depth + 1) for key, worth in value.entries[:MAX_ITEMS]}
    if value.number is not None:
        return value.number
    if not value.known and not (loose and not value.name):
        raise _NotExactError
    if value.name == BYTES:
        return value.text.encode("latin-1", "replace")
    if value.name:
        raise _NotExactError
    return value.text


def lifted(found: Any, taints: frozenset[str] = NOTHING) -> ProgramValue:
    """A value of Python's as the analysis has it."""
    if isinstance(found, bool):
        return ProgramValue(text=str(found), number=int(found), taints=taints)
    if isinstance(found, int):
        if found.bit_length() > MAX_BITS:
            return ProgramValue(taints=taints)
        return ProgramValue(text=str(found), number=found, taints=taints)
    if isinstance(found, str):
        return text_value(found, taints)
    if isinstance(found, (bytes, bytearray)):
        text = found.decode("latin-1")
        return ProgramValue(text=text if len(text) <= MAX_TEXT else UNKNOWN, name=BYTES, taints=taints)
    if isinstance(found, dict):
        pairs = list(found.items())[:MAX_ITEMS]
        return ProgramValue(entries=tuple((str(key), lifted(worth, taints)) for key, worth in pairs), taints=taints)
    if isinstance(found, (list, tuple, set, frozenset)):
        if len(found) > MAX_ITEMS:
            return ProgramValue(taints=taints)
        return ProgramValue(items=tuple(lifted(item, taints) for item in found), taints=taints)
    return ProgramValue(text="", taints=taints) if found is None else ProgramValue(taints=taints)


def _int(*args: Any) -> int:
    if isinstance(args[0], (str, bytes)) and len(args[0]) > MAX_WIDTH:
        raise _NotExactError
    return int(*args)


def _range(*args: int) -> list[int]:
    found = range(*args)
    if len(found) > MAX_ITEMS:
        raise _NotExactError
    return list(found)


def _str(found: Any = "", codec: str = "", *_: Any) -> str:
    return _decode(found, codec) if codec else str(found)


def _bytes(found: Any = b"", codec: str = "utf-8", *_: Any) -> bytes:
    return found.encode(codec if _plain_codec(codec) else "utf-8") if isinstance(found, str) else bytes(found)


def _dict(found: Any = (), **named: Any) -> dict[Any, Any]:
    return {**dict(found), **named}


def _decode(data: bytes, codec: str = "utf-8", *_: Any) -> str:
    if not _plain_codec(codec):
        raise _NotExactError
    return data.decode(codec, "replace")


def _plain_codec(codec: str) -> bool:
    return codec.lower().replace("-", "").replace("_", "") in _TEXT_CODECS


def _chain(*parts: Any) -> list[Any]:
    return [item for part in parts for item in part][:MAX_ITEMS]


_PURE: dict[str, Callable[..., Any]] = {
    "chr": chr, "ord": ord, "hex": hex, "oct": oct, "bin": bin, "int": _int, "len": len, "abs": abs, "str": _str,
    "sum": lambda found, start=0: _chain(start, *found) if isinstance(start, list) else sum(found, start),
    "min": min, "max": max, "zip": lambda *found: list(zip(*found, strict=False)), "divmod": divmod, "repr": repr,
    "enumerate": lambda found, start=0: list(enumerate(found, start)), "reversed": lambda found: list(found)[::-1],
    "sorted": lambda found, reverse=False: sorted(found, reverse=bool(reverse)), "range": _range, "xrange": _range,
    "list": list, "tuple": tuple, "set": lambda found=(): list(dict.fromkeys(found)), "dict": _dict,
    "bytes": _bytes, "bytearray": _bytes, "memoryview": bytes, "int.from_bytes": int.from_bytes, "iter": list,
    "collections.OrderedDict": _dict, "collections.deque": list, "itertools.chain": _chain, "frozenset": list,
    "itertools.chain.from_iterable": lambda found: _chain(*found), "str.maketrans": str.maketrans,
    "bytes.maketrans": bytes.maketrans, "format": lambda found, spec="": format(found, spec),
    "array.array": lambda _kind, found=(): bytes(found),
    "shlex.split": lambda text, *_: shlex.split(text), "shlex.quote": shlex.quote, "shlex.join": shlex.join,
    "urllib.parse.unquote": urllib.parse.unquote, "urllib.parse.unquote_plus": urllib.parse.unquote_plus,
    "urllib.parse.quote": urllib.parse.quote, "html.unescape": html.unescape, "textwrap.dedent": textwrap.dedent,
    "json.loads": json.loads, "ast.literal_eval": ast.literal_eval, "string.capwords": str.title,
    "operator.add": lambda one, two: one + two, "operator.concat": lambda one, two: one + two,
    "operator.getitem": lambda one, two: one[two], "operator.xor": lambda one, two: one ^ two,
}  # fmt: skip
_LARGE = frozenset({"chr", "hex", "oct", "bin", "abs", "str", "repr", "int", "divmod", "format", "operator.xor"})
"""Functions whose result is not longer than what they get, however large a number is."""
_LOOSE = frozenset({"str", "list", "tuple", "set", "dict", "reversed", "sorted", "shlex.split", "shlex.join",
                    "textwrap.dedent", "zip", "enumerate", "itertools.chain", "sum", "iter"})  # fmt: skip


def pure(name: str, args: Args, keywords: Mapping[str, ProgramValue]) -> ProgramValue | None:
    """What one of Python's own functions gives, computed; None when that is not known exactly."""
    function = _PURE.get(name)
    if function is None:
        return None
    taints = all_taints((*args, *keywords.values()))
    return _computed(function, args, keywords, taints, loose=name in _LOOSE, large=name in _LARGE)


def _computed(
    function: Callable[..., Any],
    args: Args,
    keywords: Mapping[str, ProgramValue],
    taints: frozenset[str],
    *,
    loose: bool,
    large: bool,
) -> ProgramValue | None:
    try:
        given = [exact(arg, loose=loose) for arg in args]
        named = {name: exact(value, loose=loose) for name, value in keywords.items()}
        if not large and any(isinstance(one, int) and abs(one) > MAX_WIDTH for one in (*given, *named.values())):
            return None
        if _size(given) + _size(list(named.values())) > 2 * MAX_TEXT:
            return None
        return lifted(function(*given, **named), taints)
    except Exception:  # noqa: BLE001 - whatever Python says about values that a hostile program chose: not known
        return None


def _size(found: Any) -> int:
    if isinstance(found, (str, bytes)):
        return len(found)
    if isinstance(found, dict):
        return sum(map(_size, found.values()))
    return sum(map(_size, found)) if isinstance(found, list) else 1


def plain(name: str, args: Args, keywords: Mapping[str, ProgramValue], low: Lowering) -> ProgramValue | None:  # noqa: C901 - one case per function
    """Calls without an effect whose value is worth knowing."""
    first = args[0] if args else NOT_KNOWN
    found = pure(name, args, keywords)
    if found is not None:
        return found
    match name:
        case (
            "str" | "bytes" | "bytearray" | "memoryview" | "os.fspath" | "shlex.quote" | "sqlalchemy.text" | "text"
            | "list" | "tuple" | "dict" | "sorted" | "set" | "iter" | "copy.copy" | "copy.deepcopy" | "reversed"
            | "frozenset" | "os.fsencode" | "os.fsdecode" | "io.StringIO" | "io.BytesIO" | "StringIO" | "BytesIO"
            | "tqdm.tqdm" | "typing.cast" | "sys.intern"
        ):  # fmt: skip
            if name == "typing.cast" and len(args) > 1:
                return args[1]
            if name == "dict" and keywords:
                return ProgramValue(entries=(*(first.entries or ()), *keywords.items()),
                                    taints=all_taints((*args, *keywords.values())))  # fmt: skip
            if name in ("str", "bytes", "list", "tuple", "sorted") and first.name == "os.environ":
                return ProgramValue(taints=first.taints)
            return ProgramValue(items=()) if not args and name in ("list", "tuple", "set") else first
        case "next":
            return first.items[0] if first.items else (first.element or ProgramValue(taints=first.taints))
        case "zip" | "enumerate" | "itertools.chain" | "itertools.cycle" | "itertools.islice" | "itertools.product":
            element = ProgramValue(items=tuple(_any_of(arg) for arg in args), taints=all_taints(args))
            if name == "enumerate":
                element = ProgramValue(items=(NOT_KNOWN, _any_of(first)), taints=first.taints)
            elif name in ("itertools.cycle", "itertools.islice", "itertools.chain"):
                element = _any_of(first)
            return ProgramValue(element=element, taints=all_taints(args))
        case "os.path.join" | "posixpath.join":
            return text_value(join_path([arg.text for arg in args]), all_taints(args), glob=any(a.glob for a in args))
        case "os.path.expanduser":
            text = first.text
            return text_value(low.home + text[1:] if text == "~" or text.startswith("~/") else text, first.taints)
        case "os.path.expandvars":
            return text_value(first.text.replace("${HOME}", low.home).replace("$HOME", low.home), first.taints)
        case "os.path.dirname" | "os.path.basename":
            if not first.known:
                return ProgramValue(taints=first.taints)
            head, _, tail = first.text.rpartition("/")
            return text_value(head if name.endswith("dirname") else tail, first.taints)
        case "os.path.abspath" | "os.path.realpath" | "os.path.normpath":
            return text_value(low.path(first.word), first.taints, glob=first.glob)
        case "os.getcwd" | "os.getcwdb":
            return text_value(low.cwd)
        case "socket.gethostname" | "os.getpid" | "os.getuid":
            return NOT_KNOWN
        case "tempfile.mkdtemp" | "tempfile.mktemp" | "tempfile.gettempdir":
            return text_value("/tmp/" + UNKNOWN if name != "tempfile.gettempdir" else "/tmp")  # noqa: S108
        case "string.Template":
            return ProgramValue(text=first.text, name="string.Template()", taints=first.taints)
        case _:
            return None


def _any_of(value: ProgramValue) -> ProgramValue:
    if value.element is not None:
        return value.element
    return value.items[0] if value.items and len(value.items) == 1 else ProgramValue(taints=value.taints)


_METHODS = frozenset(
    {
        "capitalize",
        "casefold",
        "center",
        "count",
        "encode",
        "endswith",
        "expandtabs",
        "find",
        "format",
        "format_map",
        "hex",
        "index",
        "isdigit",
        "join",
        "ljust",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rindex",
        "rjust",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "translate",
        "upper",
        "zfill",
        "decode",
        "to_bytes",
        "bit_length",
        "tobytes",
        "tolist",
        "keys",
        "values",
        "items",
        "get",
        "copy",
    }
)
_LOOSE_METHODS = frozenset({"join", "format", "format_map", "strip", "lstrip", "rstrip", "lower", "upper", "encode",
                            "split", "get", "items", "values", "keys", "copy"})  # fmt: skip


def _call_method(name: str, value: Any, *args: Any, **named: Any) -> Any:
    if name == "decode":
        return _decode(value, *args)
    if name in ("tobytes", "copy"):
        return value
    if name == "tolist":
        return list(value)
    if name in ("keys", "values"):
        return list(getattr(value, name)())
    if name == "items":
        return [list(pair) for pair in value.items()]
    if name == "replace" and value.count(args[0]) * len(args[1]) > MAX_TEXT:
        raise _NotExactError
    if name == "join" and len(value) * len(args[0]) > MAX_TEXT:
        raise _NotExactError
    if name == "translate" and len(value) * max(map(len, map(str, _targets(args[0]))), default=1) > MAX_TEXT * 4:
        raise _NotExactError
    if name in ("format", "format_map") and (
        _WIDTH.search(value) or value.count("{") * _size([*args, *named.values()]) > 4 * MAX_TEXT
    ):
        raise _NotExactError
    if name == "expandtabs" and value.count("\t") * max((8, *args)) > MAX_TEXT:
        raise _NotExactError
    if name == "encode" and args and not _plain_codec(args[0]):
        raise _NotExactError
    if name == "translate" and isinstance(args[0], dict):
        args = ({int(key) if str(key).isdecimal() else key: worth for key, worth in args[0].items()},)
    return getattr(value, name)(*args, **named)


def _targets(table: Any) -> list[Any]:
    return list(table.values()) if isinstance(table, dict) else [""]


def text_method(value: ProgramValue, name: str, args: Args, keywords: Mapping[str, ProgramValue]) -> ProgramValue:
    """A method of a text, a list or a dictionary that changes nothing."""
    first = args[0] if args else NOT_KNOWN
    taints = value.taints | all_taints((*args, *keywords.values()))
    if value.name in (FILE, RESPONSE, "socket()", "os.environ", "process()"):
        if name in _CONTENTS:
            return ProgramValue(text=value.text, taints=value.taints)
        return ProgramValue(taints=value.taints, name=value.name)
    if name in _METHODS:
        found = _computed(lambda *given, **named: _call_method(name, *given, **named), (value, *args), keywords,
                          taints, loose=name in _LOOSE_METHODS, large=name == "to_bytes")  # fmt: skip
        if found is not None:
            return found
    match name:
        case "join" if value.known and first.items is not None:
            out = text_value("", taints)
            for index, item in enumerate(first.items[:MAX_ITEMS]):
                out = concat(out, item if index == 0 else concat(value, item))
            return out
        case "substitute" | "safe_substitute" if value.name == "string.Template()":
            text = value.text
            for key, worth in (*(first.entries or ()), *keywords.items()):
                if len(text) + text.count("$") * len(worth.text) <= MAX_TEXT:
                    text = text.replace("${" + key + "}", worth.text).replace("$" + key, worth.text)
            return text_value(text, taints)
        case "values" | "items" | "keys" if value.entries is not None:
            items = {
                "values": tuple(worth for _, worth in value.entries),
                "keys": tuple(text_value(key) for key, _ in value.entries),
            }.get(name) or tuple(
                ProgramValue(items=(text_value(key), worth), taints=worth.taints) for key, worth in value.entries
            )
            return ProgramValue(items=items, taints=taints)
        case "copy" | "format" | "encode" | "decode" | "strip" | "rstrip" | "lstrip" | "expandtabs" | "getvalue":
            return ProgramValue(
                text=value.text if name != "format" else UNKNOWN, taints=taints, items=value.items,
                entries=value.entries, name=value.name if name != "format" else "",
            )  # fmt: skip
        case "union" | "intersection" | "difference" if value.items is not None:
            return ProgramValue(items=(*value.items, *(first.items or ())), taints=taints)
        case _:
            return ProgramValue(taints=taints)


_CONTENTS = frozenset({"read", "readline", "json", "decode", "text", "iter_content", "readlines", "communicate",
                       "items", "copy", "content", "getvalue"})  # fmt: skip


def percent(form: ProgramValue, given: ProgramValue) -> ProgramValue:
    """`"%s -rf %s" % (...)`."""
    taints = form.taints | all_taints((given,))
    if form.known and not _WIDTH.search(form.text) and "*" not in form.text:
        try:
            values = exact(given, loose=True)
            if form.text.count("%") * _size(values) > 4 * MAX_TEXT:
                return ProgramValue(taints=taints)
            worth = tuple(values) if isinstance(values, list) else values
            text = exact(form)
            return lifted(text % worth, taints)
        except Exception:  # noqa: BLE001 - a form that Python itself does not take: not known
            return ProgramValue(taints=taints)
    return ProgramValue(taints=taints)
