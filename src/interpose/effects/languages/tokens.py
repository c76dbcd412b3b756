"""A small linear tokenizer for languages without a parser here: strings, quoted commands, names and marks."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.invocation import UNKNOWN

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "e": "\x1b", "\n": ""}
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

_PERCENT = ("x", "q", "Q", "w", "W", "i", "I", "(", "[", "{")

TOKENS = 8
"""Tokens of a program that are one step, beside those of its characters."""

Kind = Literal["string", "command", "name", "mark"]


class ProgramToken(Struct, frozen=True):
    """A string constant, a command in quotes of its own (backticks, `qx`), a dotted name, or any other mark."""

    kind: Kind
    text: str


class TokenRules(Struct, frozen=True, kw_only=True):
    """What differs between these languages."""

    comments: tuple[str, ...] = ("#",)
    backticks: bool = True
    """Backticks hold a command."""
    quote_words: tuple[str, ...] = ()
    """Words that open a quote of any delimiter: perl's `q`, `qq`, `qx`, ruby's `%x`."""
    holes: tuple[str, ...] = ("$", "@", "#{")
    """What puts an unknown value into a double-quoted string."""
    joiners: tuple[str, ...] = ("::", "->", ".")
    """What joins two names to one."""
    quotes: str = "'\""
    """Which characters open a string."""
    letters: str = ""
    """What names may hold beside letters, digits and underscores: `shell-command`."""
    regexes: bool = False
    """A slash where a value is expected opens a pattern; quotes in it open nothing."""
    angles: bool = False
    """`</etc/*>` is a list of files."""
    long_brackets: bool = False
    """`[[...]]` is a string."""


def tokens(code: str, syntax: TokenRules) -> list[ProgramToken]:
    """The tokens of a program, in one pass."""
    out: list[ProgramToken] = []
    # INVARIANT: what was searched for its end in vain is not searched again, or hostile text would take for ever.
    unclosed: dict[str, int] = {}
    index = 0
    while index < len(code):
        char = code[index]
        if char.isspace():
            if char == "\n":
                out.append(ProgramToken("mark", "\n"))
            index += 1
        elif _is_comment(code, index, syntax):
            end = code.find("\n", index)
            index = len(code) if end < 0 else end
        elif char in syntax.quotes or (char == "`" and syntax.backticks):
            text, index = _quoted(code, index + 1, char, "" if char == "'" else char, syntax)
            out.append(ProgramToken("command" if char == "`" else "string", text))
        elif char in "/<[" and (special := _special(code, index, syntax, out, unclosed)):
            index = special
        elif char == "%" and "%x" in syntax.quote_words and code[index + 1 : index + 2] in _PERCENT:
            index = _percent_quote(code, index, syntax, out)
        elif char in _WORD:
            index = _name(code, index, syntax, out, unclosed)
        else:
            out.append(ProgramToken("mark", char))
            index += 1
    return out


def _special(code: str, index: int, syntax: TokenRules, out: list[ProgramToken], unclosed: dict[str, int]) -> int:
    """Where a pattern, a list of files or a string in long brackets ends, or 0 when none begins here."""
    close, kept = "", False
    if code[index] == "/" and syntax.regexes and _wants_value(out):
        close = "/"
    elif code[index] == "<" and syntax.angles and code[index + 1 : index + 2] in ("/", "~", ".", "*"):
        close, kept = ">", True
    elif syntax.long_brackets and code.startswith("[[", index):
        end = code.find("]]", index)
        out.append(ProgramToken("string", code[index + 2 : end if end >= 0 else len(code)]))
        return len(code) if end < 0 else end + 2
    if not close or index < unclosed.get(close, 0):
        return 0
    end = index + 1
    while end < len(code) and code[end] not in (close, "\n"):
        end += 2 if code[end] == "\\" else 1
    if code[end : end + 1] != close:
        unclosed[close] = end
        return 0
    if "(?" in code[index:end] and "{" in code[index:end]:
        out.extend(tokens(code[index + 1 : end], replace(syntax, regexes=False)))  # perl runs code in a pattern
    if kept:
        out.extend((ProgramToken("name", "glob"), ProgramToken("string", code[index + 1 : end])))
    return end + 1


_BEFORE_VALUE = frozenset(
    {"if", "unless", "and", "or", "not", "while", "until", "split", "grep", "when", "return", "map", "print", "puts"}
)


def _wants_value(out: list[ProgramToken]) -> bool:
    if not out:
        return True
    before = out[-1]
    return (
        before.text in _BEFORE_VALUE if before.kind == "name" else before.kind == "mark" and before.text not in ")]}$"
    )


def _is_comment(code: str, index: int, syntax: TokenRules) -> bool:
    if not code.startswith(syntax.comments, index):
        return False
    # INVARIANT: `$#` and `@#` are perl variables, and a `#` in the middle of a word starts no comment.
    return index == 0 or code[index - 1] not in "$@&\\"


def _quoted(code: str, index: int, close: str, kind: str, syntax: TokenRules, opened: str = "") -> tuple[str, int]:
    """Text up to `close`; `kind` is empty for strings that hold no variables."""
    out: list[str] = []
    depth = 0
    while index < len(code):
        char = code[index]
        if char == "\\" and index + 1 < len(code):
            out.append(_escape(code[index + 1], close, raw=not kind))
            index += 2
            continue
        if char == close and depth == 0:
            return "".join(out), index + 1
        if opened and char == opened:
            depth += 1
        elif char == close:
            depth -= 1
        if kind and (hole := _hole(code, index, syntax)):
            out.append(UNKNOWN)
            index = hole
            continue
        out.append(char)
        index += 1
    return "".join(out), index


def _escape(char: str, close: str, *, raw: bool) -> str:
    if raw:
        return char if char in (close, "\\") else "\\" + char
    return _ESCAPES.get(char, char)


def _hole(code: str, index: int, syntax: TokenRules) -> int:
    """Where an interpolated value ends, or 0 when none begins here."""
    for start in syntax.holes:
        if code.startswith(start, index):
            after = index + len(start)
            if start.endswith(("{", "(")) or code[after : after + 1] in ("{", "("):
                end = code.find("}" if "{" in code[index : after + 1] else ")", after)
                return len(code) if end < 0 else end + 1
            end = after
            while end < len(code) and (code[end] in _WORD or code.startswith("::", end)):
                end += 1
            return end if end > after else 0
    return 0


def _name(code: str, index: int, syntax: TokenRules, out: list[ProgramToken], unclosed: dict[str, int]) -> int:
    end = index
    while end < len(code):
        if code[end] in _WORD or (syntax.letters and code[end] in syntax.letters):
            end += 1
            continue
        joiner = next((mark for mark in syntax.joiners if code.startswith(mark, end)), "")
        after = end + len(joiner)
        if not joiner or code[after : after + 1] not in _WORD or code[index].isdigit():
            break
        end = after
    word = code[index:end]
    if syntax.regexes and word in _PATTERN_WORDS and (after := _pattern(code, end, word, syntax, out, unclosed)):
        return after
    if word in syntax.quote_words:
        after = end
        while code[after : after + 1].isspace():
            after += 1
        mark = code[after : after + 1]
        if mark and mark not in _WORD and mark not in ",;=)" and not (mark == "#" and after > end):
            close = _CLOSING.get(mark, mark)
            text, end = _quoted(
                code, after + 1, close, "" if word == "q" else word, syntax, mark if close != mark else ""
            )
            out.append(ProgramToken("command" if word == "qx" else "string", text))
            return end
    if code[end : end + 1] in "!?" and code[end : end + 1] and code[end + 1 : end + 2] != "=":
        end += 1
        word = code[index:end]
    out.append(ProgramToken("name", word))
    return end


_PATTERN_WORDS = {"m": 1, "qr": 1, "s": 2, "tr": 2, "y": 2}
"""Words that open a pattern of any delimiter, and how many parts it has."""
_LONGEST_PART = 2000


def _pattern(
    code: str, index: int, word: str, syntax: TokenRules, out: list[ProgramToken], unclosed: dict[str, int]
) -> int:
    """Where `s/a/b/e` ends, or 0 when it is none. With an `e`, what is put in place is code."""
    part, end = "", index
    mark = ""
    for number in range(_PATTERN_WORDS[word]):
        if not mark or mark in _CLOSING:
            mark = code[end : end + 1]
            if not mark or mark in _WORD or mark.isspace() or mark in ",;=)>.":
                return 0
            end += 1
        close = _CLOSING.get(mark, mark)
        if end < unclosed.get(f"s{close}", 0):
            return 0
        start, end = end, _closing(code, end, mark, close)
        if end < 0:
            unclosed[f"s{close}"] = start + _LONGEST_PART
            return 0
        part = code[start:end] if number else ""
        end += 1
    flags = end
    while code[flags : flags + 1].isalpha():
        flags += 1
    if part and "e" in code[end:flags]:
        out.append(ProgramToken("mark", ";"))
        out.extend(tokens(part.replace("\\/", "/"), syntax))
        out.append(ProgramToken("mark", ";"))
    return flags


def _closing(code: str, index: int, opened: str, close: str) -> int:
    depth = 0
    limit = min(len(code), index + _LONGEST_PART)
    while index < limit:
        char = code[index]
        if char == "\\":
            index += 2
            continue
        if char == close:
            if depth == 0:
                return index
            depth -= 1
        elif char == opened and opened != close:
            depth += 1
        index += 1
    return -1


def _percent_quote(code: str, index: int, syntax: TokenRules, out: list[ProgramToken]) -> int:
    letter, mark = code[index + 1], code[index + 2 : index + 3]
    if letter in _CLOSING:
        if not _wants_value(out):
            out.append(ProgramToken("mark", "%"))
            return index + 1
        letter, mark, index = "Q", letter, index - 1
    if not mark or mark in _WORD or mark.isspace():
        out.append(ProgramToken("mark", "%"))
        return index + 1
    close = _CLOSING.get(mark, mark)
    text, end = _quoted(code, index + 3, close, "" if letter in "qw" else letter, syntax, mark if close != mark else "")
    out.append(ProgramToken("command" if letter == "x" else "string", text))
    return end
