"""JavaScript's plain values: what texts, arrays, objects and buffers become, without any effect."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable
from typing import Any

from interpose.effects.invocation import UNKNOWN, Lowering
from interpose.effects.languages.decoding import decode
from interpose.effects.languages.program_values import (
    MAX_TEXT,
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    concat,
    join_path,
    text_value,
)
from interpose.effects.languages.python_text import MAX_ITEMS, MAX_WIDTH, exact, lifted

Args = tuple[ProgramValue, ...]

BUFFER = "Buffer()"
REGEX = "RegExp()"


def plain_call(name: str, args: Args, low: Lowering) -> ProgramValue | None:  # noqa: C901 - one case per function
    """Calls without an effect whose value is worth knowing."""
    first = args[0] if args else NOT_KNOWN
    taints = all_taints(args)
    match name:
        case "Buffer.from" | "atob" | "Buffer" | "Uint8Array" | "Uint8Array.from" | "Buffer.alloc" | "Uint8Array.of":
            return _buffer(name, args)
        case "btoa":
            return ProgramValue(taints=taints)
        case "String.fromCharCode" | "String.fromCodePoint":
            codes = [arg.number for arg in args[:MAX_ITEMS]]
            if all(code is not None and 0 <= code < 0x110000 for code in codes):
                return text_value("".join(chr(code) for code in codes if code is not None))
            return ProgramValue(taints=taints)
        case "String.raw":
            return first
        case "os.homedir" | "Deno.homeDir":
            return text_value(low.home)
        case "process.cwd" | "Deno.cwd":
            return text_value(low.cwd)
        case "os.tmpdir":
            return text_value("/tmp")  # noqa: S108 - a path of the program, not ours
        case "path.join" | "path.posix.join":
            parts = [arg.text if index == 0 else arg.text.lstrip("/") for index, arg in enumerate(args)]
            return text_value(join_path(parts), taints, glob=any(arg.glob for arg in args))
        case "path.resolve" | "path.posix.resolve" | "path.normalize":
            return text_value(join_path([arg.text for arg in args]), taints, glob=any(arg.glob for arg in args))
        case "path.dirname" | "path.basename" if first.known:
            head, _, tail = first.text.rpartition("/")
            return text_value(head if name.endswith("dirname") else tail, taints)
        case "decodeURIComponent" | "decodeURI" | "unescape" | "querystring.unescape" if first.known:
            return text_value(urllib.parse.unquote(first.text), taints)
        case "JSON.parse" if first.known and first.items is None:
            try:
                return lifted(json.loads(first.text), taints)
            except (ValueError, RecursionError):
                return ProgramValue(taints=taints)
        case "JSON.stringify" | "encodeURIComponent" | "escape" | "util.inspect" | "qs.stringify" | "String":
            return ProgramValue(text=first.text if name == "String" or first.known else UNKNOWN, taints=taints)
        case "parseInt" | "Number" if first.known:
            try:
                return lifted(int(first.text, args[1].number or 10 if len(args) > 1 else 0), taints)
            except ValueError:
                return ProgramValue(taints=taints)
        case "Object.values" | "Object.entries" | "Object.keys":
            return _of_object(name, first)
        case "Object.assign" | "Object.create" | "structuredClone" | "Object.freeze":
            pairs = tuple(pair for arg in args for pair in arg.entries or ())
            return ProgramValue(entries=pairs, taints=taints, name=first.name, fields=first.fields)
        case "Object.fromEntries" if first.items is not None:
            made = [item.items for item in first.items if item.items and len(item.items) > 1]
            return ProgramValue(entries=tuple((pair[0].text, pair[1]) for pair in made), taints=taints)
        case (
            "Array.from" | "Array.of" | "Set" | "Promise.resolve" | "Promise.all" | "util.promisify" | "Object" | "URL"
        ):
            if name == "Array.from" and first.items is None and first.known and not first.name:
                return ProgramValue(items=tuple(text_value(char) for char in first.text[:MAX_ITEMS]), taints=taints)
            return ProgramValue(items=args, taints=taints) if name == "Array.of" else first
        case _:
            return None


def _of_object(name: str, value: ProgramValue) -> ProgramValue:
    if name == "Object.keys":
        keys = tuple(text_value(key) for key, _ in value.entries or ())
        return ProgramValue(items=keys) if value.entries is not None else ProgramValue(element=NOT_KNOWN)
    if value.entries is None:
        worth = ProgramValue(taints=value.taints)
        if "environment" in value.taints:
            worth = ProgramValue(taints=value.taints - {"environment"} | {"each-variable"})
        pair = ProgramValue(items=(NOT_KNOWN, worth), taints=worth.taints)
        return ProgramValue(element=pair if name.endswith("entries") else worth, taints=value.taints)
    if name == "Object.values":
        return ProgramValue(items=tuple(worth for _, worth in value.entries), taints=value.taints)
    pairs = tuple(ProgramValue(items=(text_value(key), worth), taints=worth.taints) for key, worth in value.entries)
    return ProgramValue(items=pairs, taints=value.taints)


def _buffer(name: str, args: Args) -> ProgramValue:
    first = args[0] if args else NOT_KNOWN
    encoding = args[1].text if len(args) > 1 else ("base64" if name == "atob" else "utf8")
    if name == "Uint8Array.of":
        first = ProgramValue(items=args)
    if encoding in ("base64", "base64url", "hex"):
        value = decode(encoding, (first,))
        return ProgramValue(text=_utf8(value.text), taints=value.taints)
    if first.items is not None and all(item.number is not None for item in first.items):
        return text_value("".join(chr((item.number or 0) & 0xFF) for item in first.items))
    return first


def _utf8(text: str) -> str:
    return text.encode("latin-1", "replace").decode("utf-8", "replace") if UNKNOWN not in text else text


def _slice(text: Any, start: int = 0, end: int | None = None) -> Any:
    return text[start:end]


def _substring(text: str, start: int = 0, end: int | None = None) -> str:
    one, two = max(0, start), len(text) if end is None else max(0, end)
    return text[min(one, two) : max(one, two)]


def _at(found: Any, index: int = 0) -> Any:
    return found[index]


def _pad(text: str, width: int, fill: str, *, left: bool) -> str:
    padding = (fill * MAX_WIDTH)[: max(0, min(width, MAX_WIDTH) - len(text))]
    return padding + text if left else text + padding


_TEXT: dict[str, Callable[..., Any]] = {
    "slice": _slice, "substring": _substring, "at": _at, "charAt": _at, "trim": str.strip, "trimEnd": str.rstrip,
    "trimStart": str.lstrip, "toLowerCase": str.lower, "toUpperCase": str.upper, "toLocaleLowerCase": str.lower,
    "toLocaleUpperCase": str.upper, "normalize": lambda text, *_: text,
    "substr": lambda text, start=0, count=MAX_TEXT: text[start:][:count],
    "charCodeAt": lambda text, index=0: ord(text[index]), "codePointAt": lambda text, index=0: ord(text[index]),
    "repeat": lambda text, times: text * times if len(text) * times <= MAX_TEXT else None,
    "padStart": lambda text, width, fill=" ": _pad(text, width, fill, left=True),
    "padEnd": lambda text, width, fill=" ": _pad(text, width, fill, left=False),
}  # fmt: skip
_SAME_TEXT = frozenset({"toString", "text", "json", "valueOf", "trim", "toJSON", "decode", "values", "flat", "read",
                        "readText", "arrayBuffer", "bytes", "toArray", "next", "toReversed"})  # fmt: skip


def text_method(value: ProgramValue, name: str, args: Args) -> ProgramValue:  # noqa: C901 - one case per method
    """A method of a text, an array, or something that came from elsewhere."""
    first = args[0] if args else NOT_KNOWN
    taints = value.taints | all_taints(args)
    if value.items is None and name in _TEXT:
        try:
            return lifted(_TEXT[name](exact(value), *(exact(arg) for arg in args)), taints)
        except Exception:  # noqa: BLE001 - whatever is said about values that a hostile program chose: not known
            return ProgramValue(taints=taints)
    match name:
        case "toString" if value.number is not None and first.number is not None and 2 <= first.number <= 36:
            return text_value(_digits(value.number, first.number), taints)
        case "toString" if args and first.text in ("base64", "hex"):
            return ProgramValue(taints=taints)
        case "join" if value.items is not None:
            out = text_value("", taints)
            separator = first if args else text_value(",")
            for index, item in enumerate(value.items[:MAX_ITEMS]):
                out = concat(out, item if index == 0 else concat(separator, item))
            return out
        case "concat" if value.items is None:
            out = value
            for arg in args:
                out = concat(out, arg)
            return out
        case "concat" if value.items is not None:
            more = tuple(item for arg in args for item in (arg.items if arg.items is not None else (arg,)))
            return ProgramValue(items=(*value.items, *more), taints=taints)
        case "slice" if value.items is not None and all(arg.number is not None for arg in args):
            start, end = (*(arg.number for arg in args), None, None)[:2]
            return ProgramValue(items=value.items[start:end], taints=taints)
        case "at" if value.items and first.number is not None and -len(value.items) <= first.number < len(value.items):
            return value.items[first.number]
        case "split" if value.known and args and first.known:
            parts = value.text.split(first.text) if first.text else list(value.text[:4096])
            return ProgramValue(items=tuple(text_value(part, taints) for part in parts[:4096]), taints=taints)
        case "reverse" | "toReversed" if value.items is not None:
            return ProgramValue(items=value.items[::-1], taints=taints)
        case "replace" | "replaceAll" if value.known and len(args) > 1 and args[1].known and args[1].does is None:
            return _replaced(value, first, args[1], taints)
        case "get" | "getItem" if value.entries is not None and first.known:
            return next((worth for key, worth in value.entries if key == first.text), NOT_KNOWN)
        case _ if name in _SAME_TEXT:
            return ProgramValue(text=value.text, items=value.items, entries=value.entries, taints=taints)
        case _:
            return ProgramValue(taints=taints)


def _digits(number: int, base: int) -> str:
    out = ""
    left = abs(number)
    while left and len(out) < MAX_WIDTH:
        left, digit = divmod(left, base)
        out = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + out
    return ("-" if number < 0 else "") + (out or "0")


def _replaced(value: ProgramValue, found: ProgramValue, new: ProgramValue, taints: frozenset[str]) -> ProgramValue:
    """`replace` of a text, or of a pattern that is nothing but one text or a few characters."""
    targets = [found.text] if found.known and found.text and found.name != REGEX else []
    if found.name == REGEX:
        pattern = found.text
        inside = pattern[1:-1] if pattern.startswith("[") and pattern.endswith("]") else ""
        if inside and not set(inside) & set("^-\\[]"):
            targets = list(inside[:32])
        elif not set(pattern) & set("^$.*+?()[]{}|\\"):
            targets = [pattern]
        if not targets:
            return ProgramValue(taints=taints)
    text = value.text
    for target in targets:
        if text.count(target) * len(new.text) > MAX_TEXT:
            return ProgramValue(taints=taints)
        text = text.replace(target, new.text)
    return text_value(text, taints)
