"""sed scripts: which files they read and write, and what they run (`w`, `r`, `e`, `s///w`, `s///e`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from interpose.effects.invocation import UNKNOWN, Lowering, Stream

_SPECIAL = frozenset("\\\\()*+?{}|[]")
MAX_WITH_STAR = 4096
"""How long a text may be for a pattern with `.*`, which looks at the rest of the line from each place."""


class SedSubstitution(Struct, frozen=True):
    """One `s` command."""

    pattern: str
    replacement: str
    flags: str


class SedCommand(Struct, frozen=True):
    """One sed command: its letter, its argument, whether an address limits it, and its substitution if it is `s`."""

    letter: str
    argument: str = ""
    addressed: bool = False
    substitution: SedSubstitution | None = None


def lower(code: str, low: Lowering, via: str) -> None:
    """State what a sed script does besides printing."""
    low.spend(len(code) // 6)
    for step in commands(code):
        state(step, low, via)


def state(step: SedCommand, low: Lowering, via: str) -> None:
    """State what one command does besides printing."""
    argument = step.argument.strip()
    if step.letter in "rR" and argument:
        low.read(argument)
    elif step.letter in "wW" and argument:
        low.write(argument)
    elif step.letter == "e":
        low.shell(argument or Stream(None, frozenset({"input"})), via=f"{via} e")
    elif step.substitution is not None:
        flags, _, target = step.substitution.flags.partition("w")
        if target.strip():
            low.write(target.strip())
        if "e" in flags:
            _state_executed(step.substitution, low, via)


def _state_executed(step: SedSubstitution, low: Lowering, via: str) -> None:
    """`s///e` runs the line that comes out. All of it is known only when the pattern takes the whole line."""
    literal = _plain_replacement(step.replacement)
    if literal is not None and step.pattern in (".*", "^.*", "^.*$", ".*$"):
        low.shell(literal, via=f"{via} s///e")
        return
    if literal:
        low.shell(literal, via=f"{via} s///e")
    low.shell(Stream(None, frozenset({"input"})), via=f"{via} s///e")


@lru_cache(maxsize=4)
def commands(code: str) -> tuple[SedCommand, ...]:
    """The commands of a script, one after the other. What is not understood ends the reading with an `e` of unknown."""
    found: list[SedCommand] = []
    index = 0
    while index < len(code):
        if code[index] in " \t\n;{}":
            index += 1
            continue
        if code[index] == "#":
            index = _line_end(code, index)
            continue
        index, addressed = _skip_addresses(code, index)
        while index < len(code) and code[index] in " \t!":
            index += 1
        if index >= len(code):
            break
        letter = code[index]
        index += 1
        if letter == "s":
            index, substitution = _substitution(code, index)
            found.append(SedCommand("s", "", addressed, substitution))
        elif letter == "y":
            index = _skip_delimited(
                code, _skip_delimited(code, index, code[index : index + 1]) - 1, code[index : index + 1]
            )
            found.append(SedCommand("y"))
        elif letter in "aic":
            end = _text_end(code, index)
            found.append(SedCommand(letter, code[index:end], addressed))
            index = end
        elif letter in "rRwWe":
            end = _line_end(code, index)
            found.append(SedCommand(letter, code[index:end], addressed))
            index = end
        elif letter in ":btT":
            end = index
            while end < len(code) and code[end] not in ";\n}":
                end += 1
            found.append(SedCommand(letter, code[index:end], addressed))
            index = end
        else:
            found.append(SedCommand(letter, "", addressed))
    return tuple(found)


def _line_end(code: str, index: int) -> int:
    end = code.find("\n", index)
    return len(code) if end < 0 else end


def _text_end(code: str, index: int) -> int:
    """Text to insert goes on over each line that ends with a backslash."""
    while True:
        end = _line_end(code, index)
        if end >= len(code) or code[end - 1] != "\\":
            return end
        index = end + 1


def _skip_addresses(code: str, index: int) -> tuple[int, bool]:
    start = index
    while index < len(code):
        char = code[index]
        if char in "0123456789$,~+ \t":
            index += 1
        elif char == "/":
            index = _skip_delimited(code, index, "/")
            index = _skip_flags(code, index)
        elif char == "\\" and index + 1 < len(code):
            index = _skip_delimited(code, index + 1, code[index + 1])
            index = _skip_flags(code, index)
        else:
            break
    return index, index > start


def _skip_flags(code: str, index: int) -> int:
    while index < len(code) and code[index] in "IM":
        index += 1
    return index


def _skip_delimited(code: str, index: int, delimiter: str) -> int:
    """The place behind the delimiter that closes what `code[index]` opens."""
    index += 1
    bracket = False
    while index < len(code):
        char = code[index]
        if char == "\\":
            index += 2
            continue
        if char == "[" and not bracket and delimiter == "/":
            bracket = "]" in code[index + 2 : index + 80]
        elif char == "]":
            bracket = False
        elif char == delimiter and not bracket:
            return index + 1
        index += 1
    return len(code)


def _substitution(code: str, index: int) -> tuple[int, SedSubstitution]:
    delimiter = code[index : index + 1]
    if not delimiter:
        return len(code), SedSubstitution("", "", "")
    middle = _skip_delimited(code, index, delimiter)
    end = _skip_replacement(code, middle, delimiter)
    flags_end = end
    while flags_end < len(code) and code[flags_end] not in ";\n}" and code[flags_end] != "w":
        flags_end += 1
    if flags_end < len(code) and code[flags_end] == "w":
        flags_end = _line_end(code, flags_end)
    pattern = code[index + 1 : middle - 1].replace(f"\\{delimiter}", delimiter)
    replacement = code[middle : end - 1].replace(f"\\{delimiter}", delimiter)
    return flags_end, SedSubstitution(pattern, replacement, code[end:flags_end])


def _skip_replacement(code: str, index: int, delimiter: str) -> int:
    while index < len(code):
        if code[index] == "\\":
            index += 2
            continue
        if code[index] == delimiter:
            return index + 1
        index += 1
    return len(code) + 1


def _plain_replacement(text: str) -> str | None:
    """The replacement as it comes out, or None when it takes parts of what was matched."""
    out: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        if char == "&":
            return None
        if char == "\\":
            following = text[index + 1 : index + 2]
            if following.isdigit():
                return None
            out.append({"n": "\n", "t": "\t"}.get(following, following))
            index += 2
            continue
        out.append(char)
        index += 1
    return "".join(out)


def added_by(code: str) -> str | None:
    """Everything that a script may put into the lines of a file, piece by piece; None when that is not known."""
    pieces: list[str] = []
    for step in commands(code):
        if step.letter in "rRe" or (step.substitution is not None and "e" in step.substitution.flags.partition("w")[0]):
            return None
        if step.substitution is not None:
            pieces.append(_piece(step.substitution.replacement))
        elif step.letter in "aic":
            pieces.append(_piece(step.argument.lstrip().removeprefix("\\").lstrip(), matched=False))
    return "\n".join(pieces)


def _piece(text: str, *, matched: bool = True) -> str:
    """One text that is put in. What it takes of the line is the file's own: in front, it stands for a command."""
    out = re.sub(
        r"\\(.)|&", lambda found: _escaped(found) if matched else found.group(1) or found.group(), text, flags=re.DOTALL
    )
    if matched and out.strip() and out[-1].isspace():
        out += UNKNOWN
    return f": {out}" if out.startswith(UNKNOWN) else out


def _escaped(found: re.Match[str]) -> str:
    following = found.group(1)
    if following is None or following.isdigit():
        return UNKNOWN
    return {"n": "\n", "t": "\t", "r": "\r"}.get(following, following)


def change_of(code: str, *, quiet: bool) -> Callable[[str], str | None] | None:
    """What a script makes of a text, when it is nothing but simple substitutions and deletions of all characters."""
    steps = commands(code)
    if quiet or not steps or any(step.letter != "s" or step.addressed or step.substitution is None for step in steps):
        return None
    made: list[tuple[re.Pattern[str], str, int]] = []
    for step in steps:
        substitution = step.substitution
        if substitution is None:
            return None
        replacement = _plain_replacement(substitution.replacement)
        flags = substitution.flags.strip()
        if replacement is None or flags.strip("gI") or not _is_simple(substitution.pattern):
            return None
        try:
            compiled = re.compile(substitution.pattern, re.IGNORECASE if "I" in flags else 0)
        except re.error:
            return None
        made.append((compiled, replacement, 0 if "g" in flags else 1))
    return lambda text: _applied(text, made)


def _is_simple(pattern: str) -> bool:
    """Literals, `.`, anchors and at most one `.*`: what cannot backtrack badly on hostile text."""
    return not _SPECIAL & set(pattern.replace(".*", "", 1))


def _applied(text: str, made: list[tuple[re.Pattern[str], str, int]]) -> str | None:
    if UNKNOWN in text or (len(text) > MAX_WITH_STAR and any(".*" in pattern.pattern for pattern, _, _ in made)):
        return None
    ends = text.endswith("\n")
    lines = text.removesuffix("\n").split("\n")
    for pattern, replacement, count in made:
        lines = [pattern.sub(lambda _, text=replacement: text, line, count) for line in lines]  # type: ignore[misc]
    return "\n".join(lines) + ("\n" if ends else "")
