"""What stands in a call of a language without a parser here: constants, joined constants, and lists of them."""

from __future__ import annotations

from msgspec import Struct

from interpose.effects.invocation import NOTHING
from interpose.effects.languages.generic_tables import Action
from interpose.effects.languages.program_values import NOT_KNOWN, ProgramValue, concat, text_value
from interpose.effects.languages.tokens import ProgramToken
from interpose.effects.secret_names import is_secret_name

MAX_ARGUMENT_TOKENS = 64
MAX_CONSTANT = 4096
"""Longer values of names are not remembered."""
_OPEN, _CLOSE = "([{", ")]}"
_JOINS = (".", "+", "..", "~", "*")
_PATH_CALLS = frozenset(
    {"glob", "Dir.glob", "Dir", "expand", "File.expand_path", "c", "Pathname", "Pathname.new", "path.expand", "new",
     "list", "array", "URI", "URI.parse", "joinpath", "File.join", "Path.expand"}
)  # fmt: skip
"""Calls that hand on what they are given, as far as paths and words go."""
ENVIRONMENTS = frozenset(
    {"ENV", "getenv", "Sys.getenv", "os.getenv", "_ENV", "_SERVER", "System.getenv", "System.get_env", "ENV.fetch",
     "System.fetch_env!", "os.Getenv", "env"}
)  # fmt: skip
"""Names by which a program asks for a variable of the environment."""
_STATEMENT = ("or", "and", "if", "unless", "while", "do", "end", "for", "rescue")


class Names(Struct):
    """What the names of a program are known to stand for."""

    constants: dict[str, ProgramValue]
    lists: dict[str, tuple[ProgramValue, ...]]
    aliases: dict[str, Action]


def end_of_call(found: list[ProgramToken], start: int) -> int:
    """Where the arguments end of the call whose name stands before `start`."""
    depth = 0
    for index in range(start, min(len(found), start + MAX_ARGUMENT_TOKENS)):
        token = found[index]
        if token.kind == "mark":
            if token.text in _OPEN:
                depth += 1
            elif token.text in _CLOSE:
                depth -= 1
                if depth <= 0:
                    return index
            elif token.text == ";" or (token.text == "\n" and depth == 0):
                return index
    return min(len(found), start + MAX_ARGUMENT_TOKENS)


def arguments(found: list[ProgramToken], start: int, names: Names) -> list[ProgramValue]:
    """The arguments of a call, with or without parentheses; lists are flattened."""
    args: list[ProgramValue] = []
    current: list[ProgramToken] = []
    depth = 0
    block = found[start : start + 1] == [ProgramToken("mark", "{")]
    program: ProgramValue | None = None

    def end_argument() -> None:
        listed = _list_named(current, names)
        if listed is not None:
            args.extend(listed)
        elif current or not args:
            args.append(argument(current, names))
        current.clear()

    for token in found[start : start + MAX_ARGUMENT_TOKENS]:
        if token.kind == "mark":
            if token.text in _OPEN:
                depth += 1
                continue
            if token.text in _CLOSE:
                depth -= 1
                if depth <= 0:
                    if block and token.text == "}":
                        # perl's `system {"program"} "name", ...`: what is in the block runs, the name is only shown.
                        program = argument(current, names)
                        block, depth = False, 0
                        current.clear()
                        continue
                    break
                continue
            if token.text == ";" or (token.text == "\n" and depth == 0):
                break
            if token.text == ",":
                end_argument()
                continue
        elif token.kind == "name" and token.text in _STATEMENT and depth == 0:
            break
        current.append(token)
    if current:
        end_argument()
    return args if program is None else [program, *args[1:]]


def _list_named(found: list[ProgramToken], names: Names) -> tuple[ProgramValue, ...] | None:
    plain = [token for token in found if token.kind != "mark" or token.text not in "$@*\n&\\"]
    return names.lists.get(plain[0].text) if len(plain) == 1 and plain[0].kind == "name" else None


def argument(found: list[ProgramToken], names: Names | None = None) -> ProgramValue:
    """One argument: a constant, constants joined, or something computed."""
    value: ProgramValue | None = None
    glob = False
    asked = False
    if (
        len(found) > 2
        and found[0].kind == "name"
        and found[1].text in ("=", ":")
        and found[2].text not in ("=", ":", ">")
    ):
        found = found[2:]  # a named argument
    for token in found:
        if token.kind == "string":
            part = text_value(token.text)
            if asked:
                taints = frozenset({"env", "secret"}) if is_secret_name(token.text) else frozenset({"env"})
                home = token.text in ("HOME", "USERPROFILE")
                part = text_value("~") if home and value is None else ProgramValue(taints=taints)
                asked = False
        elif token.kind == "name" and token.text in _PATH_CALLS:
            glob = True
            continue
        elif token.kind == "name" and token.text in ENVIRONMENTS:
            asked = True
            continue
        elif token.kind == "name" and names is not None and token.text in names.constants:
            part = names.constants[token.text]
        elif token.text == "-" and token.kind == "mark" and value is None and len(found) == 2:
            part = text_value("-")
        elif token.kind == "mark" and (token.text in _JOINS or token.text in "$@\n&\\:<"):
            continue
        else:
            part = text_value(token.text) if token.kind == "name" and token.text.isdecimal() else NOT_KNOWN
        value = part if value is None else concat(value, part)
    if value is None:
        return NOT_KNOWN
    return ProgramValue(text=value.text, glob=glob or any(mark in value.text for mark in "*?"), taints=value.taints)


def learn(found: list[ProgramToken], index: int, names: Names) -> None:
    """Remember what the name at `index` is given, if that is known: `x = "rm" + " -rf"`, `@w = ("rm", "-rf")`."""
    name = found[index].text
    after = [token.text for token in found[index + 1 : index + 4]]
    if after[:2] in ([".", "="], ["+", "="]) and name in names.constants:
        value = concat(names.constants[name], argument(_expression(found, index + 3), names))
        names.constants[name] = value if len(value.text) <= MAX_CONSTANT else NOT_KNOWN
        return
    if after[:2] == ["<", "-"]:
        index += 1  # R's arrow
        after = ["="]
    if after[:1] != ["="] or after[1:2] in (["="], ["~"], [">"]):
        return
    expression = _expression(found, index + 2)
    if any(token.kind == "mark" and token.text == "," for token in expression):
        parts: list[list[ProgramToken]] = [[]]
        for token in expression:
            if token.kind == "mark" and token.text == ",":
                parts.append([])
            elif token.kind != "mark" or token.text not in "()[]{}":
                parts[-1].append(token)
        listed = tuple(argument(part, names) for part in parts if part)
        if all(item.known for item in listed):
            names.lists[name] = listed
        return
    inner = [token for token in expression if token.kind != "mark" or token.text not in "()[]{}"]
    value = argument(inner, names) if inner and all(token.kind != "command" for token in inner) else NOT_KNOWN
    if (value.known or value.taints) and len(value.text) <= MAX_CONSTANT:
        names.constants[name] = value
    else:
        names.constants.pop(name, None)


def _expression(found: list[ProgramToken], start: int) -> list[ProgramToken]:
    depth = 0
    for index in range(start, min(len(found), start + MAX_ARGUMENT_TOKENS)):
        token = found[index]
        if token.kind == "mark":
            if token.text in _OPEN:
                depth += 1
            elif token.text in _CLOSE:
                depth -= 1
            if depth < 0 or (depth == 0 and token.text in (";", "\n")):
                return found[start:index]
    return found[start : start + MAX_ARGUMENT_TOKENS]


def no_names() -> Names:
    """Nothing is known yet."""
    return Names({}, {}, {})


def taints_of(values: list[ProgramValue]) -> frozenset[str]:
    """Where any of these comes from."""
    return NOTHING.union(*(value.taints for value in values)) if values else NOTHING
