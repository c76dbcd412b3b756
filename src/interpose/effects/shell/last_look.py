"""The last look at what nobody could read: a text constant that a shell would be refused is at least a question.

Only where a program was not understood: no reader for its language, a reader that said so, or a call whose name is
computed. A constant counts if it starts with a command that we know. What it would do if a shell ran it is stated as
`possible` and `literal`: the guard asks about what it would refuse, and passes over the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.frozen_values import FrozenDict
from interpose.effects.invocation import UNKNOWN, Invocation, Word
from interpose.effects.late_patterns import late
from interpose.effects.values import EffectKind

if TYPE_CHECKING:
    from interpose.effects.shell.lowering import CommandLowering

MAX_LITERALS = 24
"""How many constants are tried. Each is analysed like a command."""
MAX_LENGTH = 2000
_CHARACTERS = 128
"""Characters of a program that are one step, before any constant in it is tried."""
_LIST = 12
"""Constants in a row that are tried as the words of one command."""
_QUOTED = late(
    r"""
    "(?P<double>(?:[^"\\]|\\[\s\S])*)(?:"|\\?\Z)
    |'(?P<single>(?:[^'\\]|\\[\s\S])*)(?:'|\\?\Z)
    |`(?P<back>(?:[^`\\]|\\[\s\S])*)(?:`|\\?\Z)
    |(?:\bq[qwx]?|%[qQwWxiI]?)(?:\((?P<round>[^()]{1,400})\)|\[(?P<square>[^\[\]]{1,400})\]|\{(?P<curly>[^{}]{1,400})\})
    |\[\[(?P<long>[^\[\]]{1,400})\]\]
    """,
    re.VERBOSE,
)
_JOINED = late(r"\s*(?:\+\+?|\.\.?|&|<>|\^|\|\||~|\\)?\s*[bBrRfFuU]?\Z")
_LISTED = late(r"\s*\)?\s*(?:,|=>|\.args?|\.addArgs?)?[\s\[\](){&:]*[bBrRfFuU]?\Z")
_ENCODED = late(r"[A-Za-z0-9+/_-]{12,}={0,2}\Z")
_REFUSED: frozenset[EffectKind] = frozenset(
    {"fs.write", "fs.delete", "fs.permission", "process.exec", "process.kill", "code.remote", "net.upload",
     "net.listen", "data.destroy", "infra.destroy", "system", "guard.tamper"}
)  # fmt: skip
"""Kinds among which something is refused. Of the others the guard never says more than a question."""

_COMPUTED: dict[str, re.Pattern[str]] = {
    "python": late(
        r"getattr\(|__import__|__builtins__|__dict__|globals\(|locals\(|vars\(|__class__|__subclasses__|importlib|"
        r"operator\.|functools|methodcaller|attrgetter|ctypes|pickle|marshal|builtins|compile\(|exec\(|eval\(|"
        r"lambda|\]\s*\(|\)\s*\(|\bmap\(|pty|codecs|cffi|sys\.modules"
    ),
    "javascript": late(
        r"\]\s*\(|\)\s*\(|\beval\b|Function|Reflect\.|\.(?:call|apply|bind|constructor)\b|globalThis|\bimport\(|"
        r"process\.(?:binding|mainModule|dlopen)|require\(\s*[^'\"\s]|\bvm\b|\$\.|ObjC|Proxy|=\s*require"
    ),
}
"""Ways to call what only shows when it runs, in languages whose readers follow plain calls."""


class Constant(Struct, frozen=True):
    """A text constant of a program, and where it stands."""

    text: str
    start: int
    end: int


def computes(language: str, code: str) -> bool:
    """Whether a program of a language that has a reader calls something in a way that the reader may lose."""
    pattern = _COMPUTED.get(language)
    return pattern is not None and pattern.search(code) is not None


_GIVES_CODE = frozenset(
    {"-e", "-c", "-E", "-r", "-x", "-p", "--eval", "--execute", "--exec", "--expr", "--command", "--code", "--run",
     "--script", "--print", "eval", "exec"}
)  # fmt: skip
_CALLED = late(r"(?:[(\[{,=]|\b(?:system|exec|execute|shell|run|spawn|popen|eval))\s*\Z")
_USED = late(r"[(\[{,=]\s*\Z")
"""What stands before a constant that a program does something with, and not before one in plain text."""


def look_at_arguments(inv: Invocation, low: CommandLowering) -> None:
    """The same for a program that nobody knows: code behind an option, in a substitution, in a file of this text."""
    for before, word in zip((inv.argv0, *inv.args), inv.args, strict=False):
        name, equals, value = word.text.partition("=")
        if before.text in _GIVES_CODE:
            look(word.text, low, inv.name, before=_CALLED)
        elif equals and name in _GIVES_CODE and name.startswith("--"):
            look(value, low, inv.name, before=_CALLED)
        elif low.walker.state.files and (content := low.walker.state.files.get(low.path(word))) is not None:
            look(content.text or "", low, inv.name, before=_CALLED if word.text.startswith("/dev/fd/") else _USED)
    if inv.stdin is not None and inv.stdin.text:
        look(inv.stdin.text, low, inv.name, before=_USED)


def look(code: str, low: CommandLowering, via: str, *, before: re.Pattern[str] | None = None) -> None:
    """State what the text constants of a program would do if a shell ran them, as no more than possible.

    `before`: it may be no program but a text, so only constants count that stand behind something like this.
    """
    from interpose.effects.handler_table import HANDLERS  # the table is filled when commands are loaded

    if '"' not in code and "'" not in code and "`" not in code and "[" not in code and "(" not in code:
        return
    looked_at = low.walker.looked_at
    if code in looked_at:
        return  # a constant of it runs a program which gets the same input: that has nothing new to say
    low.spend(len(code) // _CHARACTERS)
    tried = 0
    looked_at.add(code)
    inv = low.inv
    if inv.stdin is not None and inv.stdin.text == code:
        low.inv = replace(inv, stdin=None)  # the program was read from there, so nothing is left for what it starts
    for number, words in enumerate(_candidates(code, before)):
        if number % 4 == 3:
            low.spend(1)
        first = words[0].split(None, 1)
        if not first or first[0].rpartition("/")[2] not in HANDLERS or (len(words) == 1 and len(first) < 2):
            continue
        tried += 1
        if tried > MAX_LITERALS:
            break
        _try(words, low, via)
    low.inv = inv
    looked_at.discard(code)


def _candidates(code: str, before: re.Pattern[str] | None) -> Iterator[tuple[str, ...]]:
    """What may be a command: each constant, constants that are joined, and the words of a list."""
    found = [
        Constant(_unescaped(match[match.lastgroup or 0]), match.start(), match.end())
        for match in _QUOTED.finditer(code)
    ]
    for index, constant in enumerate(found):
        if len(constant.text) > MAX_LENGTH:
            continue
        if before is not None and not before.search(code, max(0, constant.start - 24), constant.start):
            continue
        text = constant.text.strip()
        yield (text,)
        if _ENCODED.match(text) and (decoded := _decoded(text)):
            yield (decoded,)
        joined, listed = [constant.text], [constant.text]
        for earlier, after in zip(found[index : index + _LIST], found[index + 1 : index + 1 + _LIST], strict=False):
            between = code[earlier.end : after.start]
            if joined and len(between) < 12 and _JOINED.match(between):
                joined.append(after.text)
            elif not (len(between) < 24 and _LISTED.match(between)):
                break
            else:
                joined = joined if len(joined) > 1 else []
            listed.append(after.text)
        if len(joined) > 1:
            yield ("".join(joined)[:MAX_LENGTH].strip(),)
        if len(listed) > 1 and " " not in text:
            yield tuple(listed)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(r"\\([\s\S])", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text[: MAX_LENGTH * 2])


def _decoded(text: str) -> str:
    """What base64 or hexadecimal digits stand for, if that is plain text."""
    from interpose.effects.languages.decoding import plain_text_of

    return plain_text_of(text)


def _try(words: tuple[str, ...], low: CommandLowering, via: str) -> None:
    walker = low.walker
    first, ran, problems = len(walker.effects), len(walker.commands), len(walker.problems)
    outer, walker.state = walker.state, walker.state.copy()
    printed, nested, taints, links = low.printed, low.nested, low.taints, dict(walker.links)
    traps = len(walker.traps)
    if len(words) == 1:
        low.shell(words[0], via=via)
    else:
        low.run(tuple(Word(word, quoted=True) for word in words), via=via)
    # INVARIANT: nothing but possible effects stays of it. A command that may never run leaves no trace in the state.
    walker.state = outer
    walker.links = links
    low.printed, low.nested, low.taints = printed, nested, taints
    del walker.commands[ran:], walker.problems[problems:], walker.traps[traps:]
    walker.effects[first:] = [
        replace(effect, certainty="possible", details=FrozenDict({**effect.details, "literal": True}))
        for effect in walker.effects[first:]
        if effect.kind in _REFUSED and UNKNOWN not in effect.resource
    ]
