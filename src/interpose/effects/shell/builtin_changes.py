"""What the shell's own commands change in the shell: names, arguments, aliases. Effects are their handlers' part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.effects.invocation import UNKNOWN, Invocation, Stream, Word
from interpose.effects.late_patterns import late
from interpose.effects.programs.shared.options import parse
from interpose.effects.shell.state import FROM_ENVIRONMENT, MAX_ALTERNATIVES, UNSET, Arguments, Variable

if TYPE_CHECKING:
    from interpose.effects.shell.walk import Walker

_ESCAPED = late(r"\\(.)")

Change = Callable[["Walker", Invocation], None]


def _alias(walker: Walker, inv: Invocation) -> None:
    for word in inv.args:
        name, equals, text = word.text.partition("=")
        if equals:
            walker.state.aliases[name] = (text,)


def _unalias(walker: Walker, inv: Invocation) -> None:
    for word in inv.args:
        if word.text == "-a":
            walker.state.aliases.clear()
        walker.state.aliases.pop(word.text, None)


def _unset(walker: Walker, inv: Invocation) -> None:
    options = parse(inv.args)
    for word in options.operands:
        name = word.text.partition("[")[0]
        if not options.has("-v"):
            walker.state.functions.pop(name, None)
        if not options.has("-f"):
            walker.state.variables[name] = UNSET if name == word.text else Variable(UNKNOWN)


def _set(walker: Walker, inv: Invocation) -> None:
    texts = [word.text for word in inv.args]
    if "--" in texts:
        walker.state.arguments = (inv.args[texts.index("--") + 1 :],)
        return
    for position, text in enumerate(texts):
        if text in ("-o", "+o"):
            return
        if not text.startswith(("-", "+")):
            walker.state.arguments = (inv.args[position:],)
            return


def _shift(walker: Walker, inv: Invocation) -> None:
    count = inv.args[0].text if inv.args else "1"
    shifted = (_shifted(arguments, count) for arguments in walker.state.arguments)
    walker.state.arguments = tuple(dict.fromkeys(ways for arguments in shifted for ways in arguments))


def _shifted(arguments: Arguments, count: str) -> tuple[Arguments, ...]:
    """What the arguments may be afterwards."""
    if arguments is None:
        return (None,)
    if count.isdecimal():
        number = int(count[:9])
        return (arguments[number:] if number <= len(arguments) else arguments,)
    # Not known by how many: each of them may be the first.
    return tuple(arguments[number:] for number in range(min(len(arguments), MAX_ALTERNATIVES - 1) + 1))


def _declare(walker: Walker, inv: Invocation) -> None:
    options = parse(inv.args, plus=True)
    exports = inv.name == "export" or options.has("-x")
    variables = walker.state.variables
    for word in options.operands:
        name, equals, text = word.text.partition("=")
        append = name.endswith("+")
        name = name.removesuffix("+")
        if options.has("-f"):
            if exports:
                walker.state.exported_functions.add(name)
            continue
        if "[" in name and equals:
            base, _, key = name.partition("[")
            walker.assign_element(base, key.removesuffix("]"), Word(text, word.span, taints=word.taints))
        if "[" in name or not name:
            continue
        before = variables.get(name)
        if equals:
            value = Word(text, word.span, taints=word.taints)
            walker.assign(name, _attributed(walker, value, options.has, before if append else None))
        elif inv.name in ("local", "declare", "typeset") and walker.active and not exports and before is None:
            variables[name] = UNSET
        if options.has("-i") and not equals:
            variables[name] = replace(variables.get(name, FROM_ENVIRONMENT), integer=True)
        if options.has("-n") and not equals:
            variables[name] = replace(variables.get(name, UNSET), reference=True)
        if exports and name in variables:
            variables[name] = replace(variables[name], exported=True)
        if (inv.name == "readonly" or options.has("-r")) and name in variables:
            variables[name] = replace(variables[name], readonly=True)


def _attributed(walker: Walker, value: Word, has: Callable[..., bool], before: Variable | None) -> Variable:
    text = value.text
    if has("-n"):
        return Variable(text, value.taints, reference=True)
    if has("-i"):
        number = walker.expander.arithmetic(text)
        return Variable(UNKNOWN if number is None else str(number), value.taints, integer=True)
    if before is not None:
        text = before.text + text
    if has("-l", "-u"):
        text = text.lower() if has("-l") else text.upper()
    return Variable(text, value.taints)


def _read(walker: Walker, inv: Invocation) -> None:
    """What `read` gets when its input is known: the next line, split by IFS."""
    options = parse(inv.args, values=("-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"))
    descriptor = options.value("-u")
    stream = inv.stdin if descriptor is None else _opened(walker, descriptor.text)
    if stream is None or stream.text is None:
        return
    delimiter = options.value("-d")
    line = stream.text.partition("\n" if delimiter is None else delimiter.text[:1] or "\0")[0]
    if (count := options.value("-n", "-N")) is not None:
        if not count.text.isdecimal():
            return
        line = (stream.text if options.has("-N") else line)[: int(count.text[:9])]
    if not options.has("-r"):
        line = _ESCAPED.sub(r"\1", line)
    ifs = dict(inv.env).get("IFS") or walker.state.variables.get("IFS")
    separators = " \t\n" if ifs is None or UNKNOWN in ifs.text else ifs.text
    array = options.value("-a")
    if array is not None:
        walker.budget.spend(len(line) // 3)
        fields = _fields(line, separators, len(line) + 1)
        items = tuple((str(index), text) for index, text in enumerate(fields))
        walker.assign(array.text, Variable(fields[0] if fields else "", stream.taints, items))
        return
    names = [word.text for word in options.operands] or ["REPLY"]
    fields = [line] if names == ["REPLY"] else _fields(line, separators, len(names))
    for index, name in enumerate(names):
        text = fields[index] if index < len(fields) else ""
        base, bracket, key = name.partition("[")
        if bracket:
            walker.assign_element(base, key.removesuffix("]"), Word(text, taints=stream.taints))
        else:
            walker.assign(name, Variable(text, stream.taints))


def _opened(walker: Walker, number: str) -> Stream | None:
    channel = walker.state.fds.get(int(number[:9])) if number.isdecimal() else None
    return None if channel is None else channel.stream


def _fields(line: str, separators: str, count: int) -> list[str]:
    """At most `count` fields; the last one is the rest of the line."""
    blank = "".join(mark for mark in separators if mark in " \t\n")
    rest = line.strip(blank) if blank else line
    fields: list[str] = []
    while rest and len(fields) < count - 1:
        end = next((index for index, mark in enumerate(rest) if mark in separators), -1)
        if end < 0:
            break
        fields.append(rest[:end])
        rest = rest[end:].lstrip(blank) if blank else rest[end:]
        if rest and rest[0] in separators and rest[0] not in blank:
            rest = rest[1:].lstrip(blank) if blank else rest[1:]
    return [*fields, rest] if rest else fields


def _mapfile(walker: Walker, inv: Invocation) -> None:
    options = parse(inv.args, values=("-d", "-n", "-O", "-s", "-u", "-C", "-c"))
    name = options.operands[0].text if options.operands else "MAPFILE"
    value = walker.state.variables.get(name)
    if value is not None and UNKNOWN not in value.text:
        given = options.value("-d")
        mark = "\n" if given is None else given.text[:1] or "\0"
        end = "" if options.has("-t") else mark
        lines = [line + end for line in value.text.removesuffix(mark).split(mark)]
        items = tuple((str(index), text) for index, text in enumerate(lines))
        walker.assign(name, Variable(lines[0] if lines else "", value.taints, items))


def _hash(walker: Walker, inv: Invocation) -> None:
    """`hash -p path name` makes `name` run `path`."""
    options = parse(inv.args, values=("-p",))
    path = options.value("-p")
    if path is not None:
        for word in options.operands:
            walker.state.hashed[word.text] = (path.text,)


def _cd(walker: Walker, inv: Invocation) -> None:
    """`cd -` goes back to where the last `cd` came from."""
    before = walker.state.variables.get("OLDPWD")
    if before is not None and any(word.text == "-" for word in inv.args):
        walker.state.cwds = (before.text,)


def _pushd(walker: Walker, inv: Invocation) -> None:
    before, stack = walker.state.variables.get("OLDPWD"), walker.state.variables.get("DIRSTACK")
    if before is not None and inv.args:
        items = (*(stack.items or () if stack is not None else ()), ("", before.text))
        walker.assign("DIRSTACK", Variable(before.text, items=items))


def _popd(walker: Walker, _inv: Invocation) -> None:
    stack = walker.state.variables.get("DIRSTACK")
    if stack is not None and stack.items:
        walker.state.cwds = (stack.items[-1][1],)
        walker.assign("DIRSTACK", Variable(stack.text, items=stack.items[:-1]))


def _shopt(walker: Walker, inv: Invocation) -> None:
    """Once patterns may match nothing, they are taken to: switching it off again does not bring certainty back."""
    if any(word.text == "nullglob" for word in inv.args) and not any(word.text == "-u" for word in inv.args):
        walker.nullglob = True


CHANGES: dict[str, Change] = {
    "cd": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "alias": _alias,
    "unalias": _unalias,
    "unset": _unset,
    "set": _set,
    "shift": _shift,
    "export": _declare,
    "declare": _declare,
    "typeset": _declare,
    "local": _declare,
    "readonly": _declare,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "hash": _hash,
    "shopt": _shopt,
}
"""Applied after the command's handler."""

LOCALS = frozenset({"local", "declare", "typeset"})


def remember_locals(walker: Walker, inv: Invocation) -> None:
    """Inside a function these names are its own: what they were before comes back when it returns."""
    if not walker.locals or any(word.text == "-g" for word in inv.args):
        return
    frame = walker.locals[-1]
    for word in inv.args:
        name = word.text.partition("=")[0].partition("[")[0].removesuffix("+")
        if name and not name.startswith(("-", "+")) and name not in frame:
            frame[name] = walker.state.variables.get(name)
