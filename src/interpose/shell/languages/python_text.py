"""Python's plain values: what texts, bytes and paths become, without any effect."""

from __future__ import annotations

from interpose.shell.invocation import UNKNOWN, Lowering
from interpose.shell.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    concat,
    join_path,
    tainted,
    text_value,
)
from interpose.shell.languages.python_names import constant

Args = tuple[ProgramValue, ...]

FILE = "file()"
RESPONSE = "response()"
BYTES = "bytes()"


def plain(name: str, args: Args, low: Lowering) -> ProgramValue | None:  # noqa: C901 - one case per function
    """Calls without an effect whose value is worth knowing."""
    first = args[0] if args else NOT_KNOWN
    match name:
        case "chr":
            return (
                text_value(chr(first.number))
                if first.number is not None and 0 <= first.number < 0x110000
                else NOT_KNOWN
            )
        case (
            "str"
            | "bytes"
            | "bytearray"
            | "memoryview"
            | "os.fspath"
            | "shlex.quote"
            | "sqlalchemy.text"
            | "text"
            | "list"
            | "tuple"
        ):
            if name in ("bytes", "bytearray") and first.items and all(item.number is not None for item in first.items):
                return text_value("".join(chr((item.number or 0) & 0xFF) for item in first.items))
            return first
        case "int":
            return ProgramValue(
                text=first.text, number=int(first.text) if first.text.isdecimal() and len(first.text) < 10 else None
            )
        case "reversed":
            return text_value(first.text[::-1], first.taints) if first.known else first
        case "sorted" | "set" | "iter":
            return first
        case "map":
            if first.name == "chr" and len(args) > 1 and args[1].items is not None:
                return ProgramValue(items=tuple(plain("chr", (item,), low) or NOT_KNOWN for item in args[1].items))
            return ProgramValue(element=NOT_KNOWN)
        case "shlex.split":
            return ProgramValue(items=tuple(text_value(part) for part in first.text.split()), taints=first.taints)
        case "os.path.join":
            return text_value(join_path([arg.text for arg in args]), all_taints(args))
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
            return text_value(low.path(first.word), first.taints)
        case "os.getcwd":
            return text_value(low.cwd)
        case "os.getenv" | "os.environ.get":
            return constant(f"os.environ[{first.text}]", low) or tainted("env")
        case "socket.gethostname" | "os.getpid" | "os.getuid" | "tempfile.mkdtemp" | "tempfile.mktemp":
            return text_value("/tmp/" + UNKNOWN) if name.startswith("tempfile") else NOT_KNOWN  # noqa: S108
        case _:
            return None


def text_method(value: ProgramValue, name: str, args: Args) -> ProgramValue:
    first = args[0] if args else NOT_KNOWN
    taints = value.taints | all_taints(args)
    if value.name in (FILE, RESPONSE, "socket()", "os.environ"):
        if name in (
            "read",
            "readline",
            "json",
            "decode",
            "text",
            "iter_content",
            "readlines",
            "communicate",
            "items",
            "copy",
        ):
            return ProgramValue(text=value.text, taints=value.taints)
        return ProgramValue(taints=value.taints, name=value.name)
    match name:
        case "join" if value.known:
            if first.items is None:
                return ProgramValue(taints=taints)
            out = text_value("", taints)
            for index, item in enumerate(first.items):
                out = concat(out, item if index == 0 else concat(value, item))
            return out
        case "decode" if value.name == BYTES:
            return _decoded(value, first.text if args else "utf-8")
        case (
            "decode"
            | "encode"
            | "strip"
            | "rstrip"
            | "lstrip"
            | "lower"
            | "upper"
            | "title"
            | "swapcase"
            | "expandtabs"
        ):
            if name == "encode" and value.known and not args:
                return ProgramValue(
                    text=value.text.encode("utf-8", "replace").decode("latin-1"), name=BYTES, taints=taints
                )
            if value.known and not args and name not in ("decode", "encode"):
                return text_value(str(getattr(value.text, name)()), taints)
            return ProgramValue(text=value.text, taints=taints, name=value.name)
        case "replace" if value.known and len(args) > 1 and first.known and args[1].known and first.text:
            return text_value(value.text.replace(first.text, args[1].text), taints)
        case "format" if value.known:
            filled = value.text
            for arg in args:
                filled = filled.replace("{}", arg.text, 1)
            return text_value(filled if "{" not in filled else UNKNOWN, taints)
        case "split" if value.known and (not args or (first.known and first.text)):
            parts = value.text.split(first.text if args else None)
            return ProgramValue(items=tuple(text_value(part) for part in parts[:256]), taints=taints)
        case _:
            return ProgramValue(taints=taints)


def _decoded(value: ProgramValue, codec: str) -> ProgramValue:
    try:
        text = value.text.encode("latin-1", "replace").decode(codec if codec.isascii() else "utf-8", "replace")
    except (LookupError, ValueError):
        return ProgramValue(taints=value.taints | {"decoded"})
    return text_value(text, value.taints)
