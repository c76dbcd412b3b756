"""Parameter expansion: `$x`, `${x:-y}`, `${x//a/b}`, `${!x}`, `${x[@]:1:2}`, `${x@P}`, as far as values are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.effects.invocation import DUMP, NOTHING, SHOWN, UNKNOWN, VARIABLE_NAMES
from interpose.effects.secret_names import is_secret_name
from interpose.effects.shell import patterns
from interpose.effects.shell.state import CUT, MAX_ALTERNATIVES, Variable
from interpose.effects.syntax.escapes import ansi_c
from interpose.effects.syntax.tree import Parameter, RawWord

if TYPE_CHECKING:
    from interpose.effects.shell.expand import Expander

ENVIRONMENT = {
    "USER": "dev", "LOGNAME": "dev", "TMPDIR": "/tmp", "IFS": " \t\n", "PATH": "/usr/local/bin:/usr/bin:/bin",  # noqa: S108
    "SHELL": "/bin/bash", "BASH": "/bin/bash", "UID": "1000", "EUID": "1000", "PS1": "", "PS2": "> ", "PS4": "+ ",
    "OSTYPE": "linux-gnu", "OPTIND": "1", "SHLVL": "1",
}  # fmt: skip
"""Variables whose values are the same nearly everywhere: enough to see through `${PATH:0:1}`."""

BELOW_HOME = {
    "XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state", "XDG_DATA_HOME": ".local/share",
}  # fmt: skip
"""Where the directories of a home are that are named by a variable, unless somebody moved them."""

_PARAM = frozenset({"param"})


class ExpansionResult(Struct, frozen=True):
    """What an expansion gives. `separate`: even quoted, each text is a word of its own; `whole`: never split.

    `instead`: a word that takes the place of the expansion, with its own quoting.
    """

    texts: tuple[str, ...]
    taints: frozenset[str] = NOTHING
    separate: bool = False
    whole: bool = False
    instead: RawWord | None = None


_UNKNOWN = ExpansionResult((UNKNOWN,))
_NAMES = ExpansionResult((UNKNOWN,), frozenset({VARIABLE_NAMES}))
_GLIMPSE = 12
"""So many characters of a secret say which one it is, and no more."""
_BY_NAME = frozenset({"env", "secret", DUMP})
"""Taints of what the names of variables, one after the other, stand for."""


def values(expander: Expander, part: Parameter) -> ExpansionResult:
    """The values of `part`, after its operator."""
    if part.operator == "bad":
        return _bad(expander, part)
    if part.operator == "template":
        return ExpansionResult((UNKNOWN,), frozenset({"template"}))
    if part.indirect:
        return _indirect(expander, part)
    base, is_set = _base(expander, part.name, part.subscript)
    return _operate(expander, part, base, is_set)


def _bad(expander: Expander, part: Parameter) -> ExpansionResult:
    span = part.argument.span if part.argument is not None else (0, 0)
    if part.argument is not None:
        expander.single(part.argument)
    expander.shell.give_up("unparsed", "A parameter expansion is not understood", span)
    expander.shell.fault()
    return _UNKNOWN


def _base(expander: Expander, name: str, subscript: RawWord | None) -> tuple[ExpansionResult, bool | None]:
    """The values of a parameter, and whether it is set (None: it may come from outside)."""
    arguments = expander.arguments() if name in "@*#" else None
    if name in "@*":
        if arguments is None:
            return ExpansionResult((UNKNOWN,), _PARAM, name == "@"), None
        taints = frozenset().union(*(word.taints for word in arguments))
        return ExpansionResult(tuple(word.text for word in arguments), taints, name == "@"), bool(arguments)
    if name.isdigit():
        return _positional(expander, int(name))
    if name == "#":
        return (_UNKNOWN if arguments is None else ExpansionResult((str(len(arguments)),))), True
    if not (name[0].isalpha() or name[0] == "_"):
        return _UNKNOWN, True
    if name == "_" and (last := expander.shell.last_word) is not None:
        return ExpansionResult((last.text,), last.taints), True
    variable = expander.variable(name)
    is_set = None if variable.outside else variable.is_set
    if subscript is None:
        taints = variable.taints
        if variable.outside and is_secret_name(name):
            taints = taints | {"secret", SHOWN}
        return ExpansionResult((variable.text,), taints), is_set
    return _element(expander, variable, subscript), is_set


def _positional(expander: Expander, number: int) -> tuple[ExpansionResult, bool | None]:
    if number == 0:
        zero = expander.shell.state.zero
        return ExpansionResult((zero.text,), zero.taints), True
    arguments = expander.arguments()
    if arguments is None:
        return ExpansionResult((UNKNOWN,), _PARAM), None
    if number > len(arguments):
        return ExpansionResult(("",)), False
    word = arguments[number - 1]
    return ExpansionResult((word.text,), word.taints), True


def _element(expander: Expander, variable: Variable, subscript: RawWord) -> ExpansionResult:
    key = expander.single(subscript)
    items = variable.items if variable.items is not None else (("0", variable.text),) if variable.is_set else ()
    if key.text in ("@", "*"):
        return ExpansionResult(tuple(text for _, text in items), variable.taints, key.text == "@")
    if variable.outside:
        expander.arithmetic(key.text)
        return ExpansionResult((UNKNOWN,), variable.taints)
    found = dict(items)
    certain = not any(UNKNOWN in name for name in found)
    if certain and key.text in found:
        return ExpansionResult((found[key.text],), variable.taints)
    number = expander.arithmetic(key.text)
    if number is None or not certain:
        return _any_of(expander, variable, tuple(dict.fromkeys(found.values())))
    if number < 0:
        return ExpansionResult((items[number][1] if -number <= len(items) else "",), variable.taints)
    return ExpansionResult((found.get(str(number), ""),), variable.taints)


def _any_of(expander: Expander, variable: Variable, texts: tuple[str, ...]) -> ExpansionResult:
    """An element of an array, not known which."""
    if not 0 < len(texts) < MAX_ALTERNATIVES:
        return ExpansionResult((UNKNOWN,), variable.taints | ({CUT} if texts else NOTHING))
    choice = expander.shell.pick(f"[{texts}]", len(texts) + 1)
    return ExpansionResult((texts[choice] if choice < len(texts) else UNKNOWN,), variable.taints)


def _indirect(expander: Expander, part: Parameter) -> ExpansionResult:
    """`${!x}` is the variable that x names; `${!x[@]}` are the keys; `${!x@}` the names that start with x."""
    if part.subscript is not None and expander.single(part.subscript).text in ("@", "*"):
        items = expander.variable(part.name).items
        return ExpansionResult(tuple(key for key, _ in items), separate=True) if items is not None else _UNKNOWN
    if part.operator == "@" or part.name in "@*":
        return _NAMES
    base, _ = _base(expander, part.name, part.subscript)
    name = "".join(base.texts)
    expander.reference(name)
    if UNKNOWN in name or not (name.replace("_", "a").isalnum() and name.isascii()):
        expander.shell.fault()
        return ExpansionResult((UNKNOWN,), base.taints | _BY_NAME if VARIABLE_NAMES in base.taints else base.taints)
    target, is_set = _base(expander, name, None)
    return _operate(expander, part, target, is_set)


def _operate(expander: Expander, part: Parameter, base: ExpansionResult, is_set: bool | None) -> ExpansionResult:
    operator = part.operator
    if not operator:
        return base
    if operator == "length":
        every = part.name in "@*" or (part.subscript is not None and expander.single(part.subscript).text in ("@", "*"))
        return _length(base, every=every)
    argument = part.argument or RawWord((), (0, 0), "")
    match operator.lstrip(":")[:1]:
        case "-" | "=" | "?" | "+":
            return _default(expander, part, argument, base, is_set)
        case "":
            return _slice(expander, argument, base, positional=part.name in "@*")
        case "@":
            return _transform(expander, argument, base)
        case "^" | "," | "~":
            return _changed_case(expander, operator, argument, base)
        case "#" | "%":
            pattern = expander.pattern(argument)
            strip = patterns.strip_prefix if operator[0] == "#" else patterns.strip_suffix
            if UNKNOWN in pattern.text:
                return ExpansionResult((UNKNOWN,), base.taints | pattern.taints)
            _spend(expander, base, pattern.text)
            return _each(base, lambda text: strip(text, pattern.text, longest=len(operator) == 2))
        case _:
            pattern = expander.pattern(argument)
            new = expander.single(part.replacement) if part.replacement is not None else None
            text_of_new = new.text if new is not None else ""
            base = ExpansionResult(base.texts, base.taints | (new.taints if new else NOTHING), base.separate)
            if UNKNOWN in pattern.text:
                return ExpansionResult((UNKNOWN,), base.taints)
            _spend(expander, base, pattern.text)
            return _each(base, lambda text: patterns.substitute(text, pattern.text, text_of_new, operator))


def _spend(expander: Expander, base: ExpansionResult, pattern: str) -> None:
    expander.shell.budget.spend(sum(patterns.steps_of(text, pattern) for text in base.texts))


def _each(base: ExpansionResult, change: _Change) -> ExpansionResult:
    texts = tuple(UNKNOWN if UNKNOWN in text or (new := change(text)) is None else new for text in base.texts)
    return ExpansionResult(texts, base.taints, base.separate)


if TYPE_CHECKING:
    from collections.abc import Callable

    _Change = Callable[[str], str | None]


def _length(base: ExpansionResult, *, every: bool) -> ExpansionResult:
    if every:
        return _UNKNOWN if UNKNOWN in base.texts else ExpansionResult((str(len(base.texts)),))
    text = "".join(base.texts)
    return _UNKNOWN if UNKNOWN in text else ExpansionResult((str(len(text)),))


def _default(
    expander: Expander, part: Parameter, argument: RawWord, base: ExpansionResult, is_set: bool | None
) -> ExpansionResult:
    """`-`, `=`, `?`, `+` and their colon forms. An unset variable takes the default: it is what is meant."""
    empty = part.operator.startswith(":") and all(not text for text in base.texts)
    if part.operator.startswith(":") and is_set and not "".join(base.texts).strip(UNKNOWN) and not empty:
        # Set, but to what nobody knows: it may be empty.
        empty = expander.shell.pick(f":{part.name}", 2) == 1
    absent = is_set is not True or empty
    if part.operator.endswith("+"):
        if is_set is None and expander.shell.pick(f"+{part.name}", 2) == 1:
            return ExpansionResult(("",))
        if is_set is False or empty:
            return ExpansionResult(("",))
        return ExpansionResult((), instead=argument)
    if part.operator.endswith("?"):
        return base
    if not absent:
        return base
    taints = base.taints if is_set is None else NOTHING
    if not part.operator.endswith("="):
        return ExpansionResult((), taints, instead=argument)
    word = expander.single(argument)
    if part.name[0].isalpha() or part.name[0] == "_":
        expander.shell.assign(part.name, Variable(word.text, word.taints | taints))
    return ExpansionResult((word.text,), word.taints | taints)


def _slice(expander: Expander, argument: RawWord, base: ExpansionResult, *, positional: bool) -> ExpansionResult:
    first, colon, second = expander.single(argument).text.partition(":")
    start = expander.arithmetic(first)
    count = expander.arithmetic(second) if colon else None
    if count is not None and 0 <= count <= _GLIMPSE:
        base = ExpansionResult(base.texts, base.taints - {SHOWN}, base.separate)
    if start is None or (colon and count is None):
        return ExpansionResult((UNKNOWN,), base.taints)
    if base.separate or positional:
        texts = (expander.shell.state.zero.text, *base.texts) if positional else base.texts
        return ExpansionResult(texts[start:] if count is None else texts[start:][:count], base.taints, base.separate)
    return _each(base, lambda text: _part(text, start, count))


def _part(text: str, start: int, count: int | None) -> str:
    begin = start if start >= 0 else len(text) + start
    if begin < 0:
        return ""
    end = len(text) if count is None else begin + count if count >= 0 else len(text) + count
    return text[begin:end]


def _changed_case(expander: Expander, operator: str, argument: RawWord, base: ExpansionResult) -> ExpansionResult:
    """Only letters that match the pattern behind the operator change; without one, all of them."""
    pattern = expander.pattern(argument)
    if not pattern.text:
        return _each(base, lambda text: _case(text, operator))
    if UNKNOWN in pattern.text:
        return ExpansionResult((UNKNOWN,), base.taints | pattern.taints)
    expander.shell.budget.spend(sum(map(len, base.texts)))

    def change(text: str) -> str:
        last = len(text) if len(operator) == 2 else 1
        every = operator[0] * 2
        return "".join(
            _case(letter, every) if index < last and patterns.matches(letter, pattern.text) else letter
            for index, letter in enumerate(text)
        )

    return _each(base, change)


def _case(text: str, operator: str) -> str:
    match operator:
        case "^^":
            return text.upper()
        case ",,":
            return text.lower()
        case "^":
            return text[:1].upper() + text[1:]
        case ",":
            return text[:1].lower() + text[1:]
        case _:
            return text.swapcase() if operator == "~~" else text[:1].swapcase() + text[1:]


def _transform(expander: Expander, argument: RawWord, base: ExpansionResult) -> ExpansionResult:
    """`${x@P}` expands x as a prompt, which runs the substitutions in it; the others only change its spelling."""
    kind = expander.single(argument).text
    match kind:
        case "P":
            for text in base.texts:
                expander.run_expansions(text)
            return ExpansionResult((UNKNOWN,), base.taints)
        case "U" | "u" | "L":
            return _each(base, lambda text: _case(text, {"U": "^^", "u": "^", "L": ",,"}[kind]))
        case "E":
            return _each(base, ansi_c)
        case "Q" | "K" | "A" | "k" | "a":
            return ExpansionResult((UNKNOWN,) * len(base.texts), base.taints, base.separate)
        case _:
            return ExpansionResult((UNKNOWN,), base.taints)
