"""A small linear tokenizer for languages without a parser here: strings, quoted commands, names and marks."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from interpose.shell.invocation import UNKNOWN

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "e": "\x1b", "\n": ""}
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

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


def tokens(code: str, syntax: TokenRules) -> list[ProgramToken]:
    """The tokens of a program, in one pass."""
    out: list[ProgramToken] = []
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
        elif char in "'\"" or (char == "`" and syntax.backticks):
            text, index = _quoted(code, index + 1, char, "" if char == "'" else char, syntax)
            out.append(ProgramToken("command" if char == "`" else "string", text))
        elif char == "%" and "%x" in syntax.quote_words and code[index + 1 : index + 2] in ("x", "q", "Q", "w"):
            index = _percent_quote(code, index, syntax, out)
        elif char in _WORD:
            index = _name(code, index, syntax, out)
        else:
            out.append(ProgramToken("mark", char))
            index += 1
    return out


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


def _name(code: str, index: int, syntax: TokenRules, out: list[ProgramToken]) -> int:
    end = index
    while end < len(code):
        if code[end] in _WORD:
            end += 1
            continue
        joiner = next((mark for mark in syntax.joiners if code.startswith(mark, end)), "")
        after = end + len(joiner)
        if not joiner or code[after : after + 1] not in _WORD or code[index].isdigit():
            break
        end = after
    word = code[index:end]
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


def _percent_quote(code: str, index: int, syntax: TokenRules, out: list[ProgramToken]) -> int:
    letter, mark = code[index + 1], code[index + 2 : index + 3]
    if not mark or mark in _WORD or mark.isspace():
        out.append(ProgramToken("mark", "%"))
        return index + 1
    close = _CLOSING.get(mark, mark)
    text, end = _quoted(code, index + 3, close, "" if letter in "qw" else letter, syntax, mark if close != mark else "")
    out.append(ProgramToken("command" if letter == "x" else "string", text))
    return end
