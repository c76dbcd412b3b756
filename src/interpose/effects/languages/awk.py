"""awk programs: what they run (`system`, pipes, `getline`), and which files they read and write."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from interpose.effects.invocation import UNKNOWN, Lowering, Stream, Word
from interpose.effects.secret_names import is_secret_name

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\\]+|\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\[\s\S])*(?:"|(?=\n)|\\?\Z))
    |(?P<number>\d[\d.]*)
    |(?P<name>@?[A-Za-z_]\w*)
    |(?P<operator>\|\&|\|\||&&|>>|[<>=!+\-*/%^~]=|\+\+|--|\n|[\s\S])
    """,
    re.VERBOSE,
)
_BEFORE_REGEX = frozenset(
    {"", "(", ",", "{", "}", ";", "\n", "!", "~", "&&", "||", "!~", "=", "return", "print", "in", "case"}
)
_ENDS_PRINT = frozenset({";", "\n", "}", ">", ">>", "|", "|&"})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "/": "/", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_NO_END = re.compile(r"\b(?:while *\( *1 *\)|for *\( *; *; *\))")
_ENDS = re.compile(r"\b(?:exit|break|getline|return|system|next)\b")
MAX_TOKENS = 5000
MAX_EXPRESSION = 64
"""How far one expression is read. What is longer is computed in a way we do not follow."""
_STANDARD = frozenset({"/dev/stdout", "/dev/stderr", "/dev/stdin", "-"})


class AwkToken(Struct, frozen=True):
    """One token: its kind (`string`, `regex`, `number`, `name`, `operator`) and its text, unquoted for strings."""

    kind: str
    text: str


class AwkProgram(Struct):
    """A program while it is read: what its variables are known to hold, and what its input is."""

    tokens: list[AwkToken]
    low: Lowering
    via: str
    stdin: Stream
    variables: dict[str, str | None]


def lower(code: str, low: Lowering, via: str) -> None:
    """State what an awk program does besides printing to standard output."""
    lower_with(code, low, via, Stream(None, frozenset({"input"})), {})


def lower_with(code: str, low: Lowering, via: str, stdin: Stream, variables: Mapping[str, str | None]) -> None:
    """The same, with what the program reads and the variables it is given."""
    found = tokens(code)
    if len(found) > MAX_TOKENS:
        low.emit(
            "opaque", via, certainty="unknown", rule="too-large", reason="This awk program is too long to be understood"
        )
        return
    if _NO_END.search(code) and not _ENDS.search(code):
        low.emit("system", via, certainty="possible", rule="disk-fill",
                 reason="A loop without an end prints until the disk is full")  # fmt: skip
    program = AwkProgram(found, low, via, stdin, dict(variables))
    _environment(program)
    _assignments(program)
    for index, token in enumerate(program.tokens):
        if token.kind == "name":
            match token.text:
                case "system" if _text(program, index + 1) == "(":
                    _run(program, _expression(program, index + 2, frozenset({")"}))[0])
                case "print" | "printf":
                    _printed(program, index)
                case "getline":
                    _getline(program, index)
                case "ENVIRON" if _text(program, index - 1) == "in" and index:
                    low.emit("secret.read", "environment", certainty="possible", rule="environment-dump",
                             reason="Goes through the whole environment, tokens and passwords included")  # fmt: skip
                case "@load" | "@include":
                    _loaded(program, index)
                case _:
                    pass


def _environment(program: AwkProgram) -> None:
    """All variables of the environment are gone through, or one that is secret leaves the machine."""
    secret = False
    for index, token in enumerate(program.tokens):
        if token.text != "ENVIRON" or token.kind != "name":
            continue
        before, key = _text(program, index - 1), _text(program, index + 2)
        if before == "in":
            secret = True
            program.low.emit("secret.read", "environment", certainty="possible", rule="environment-dump",
                             reason="Prints the whole environment, with the tokens and passwords in it")  # fmt: skip
        secret = secret or is_secret_name(key)
    remote = next(
        (token.text for token in program.tokens if token.kind == "string" and token.text.startswith("/inet")), ""
    )
    if secret and remote:
        program.low.emit("net.upload", remote, certainty="possible", secret=True)


def tokens(code: str) -> list[AwkToken]:
    """The tokens of a program. A slash opens a regex where no value stands before it."""
    found: list[AwkToken] = []
    index = 0
    while index < len(code):
        before = found[-1] if found else AwkToken("", "")
        if code[index] == "/" and (before.text in _BEFORE_REGEX and before.kind != "string"):
            end = _regex_end(code, index)
            found.append(AwkToken("regex", code[index:end]))
            index = end
            continue
        match = _TOKEN.match(code, index)
        if match is None:
            break
        index = match.end()
        kind = match.lastgroup or "operator"
        if kind == "string":
            found.append(AwkToken("string", _unescaped(match.group()[1:].removesuffix('"'))))
        elif kind != "space":
            found.append(AwkToken(kind, match.group()))
    return found


def _regex_end(code: str, index: int) -> int:
    index += 1
    while index < len(code) and code[index] != "\n":
        if code[index] == "\\":
            index += 2
            continue
        if code[index] == "/":
            return index + 1
        index += 1
    return index


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    index = 0
    while index < len(text):
        if text[index] != "\\":
            out.append(text[index])
            index += 1
            continue
        octal = re.match(r"[0-7]{1,3}", text[index + 1 : index + 4])
        if octal:
            out.append(chr(int(octal.group(), 8) & 0xFF))
            index += 1 + octal.end()
        elif text[index + 1 : index + 2] == "x" and (
            digits := re.match(r"[0-9A-Fa-f]{1,2}", text[index + 2 : index + 4])
        ):
            out.append(chr(int(digits.group(), 16)))
            index += 2 + digits.end()
        else:
            following = text[index + 1 : index + 2]
            out.append(_ESCAPES.get(following, following))
            index += 2
    return "".join(out)


def _text(program: AwkProgram, index: int) -> str:
    return program.tokens[index].text if 0 <= index < len(program.tokens) else ""


def _assignments(program: AwkProgram) -> None:
    """Variables that are set once, to something known. Set twice, or changed, they are not known."""
    for index, token in enumerate(program.tokens):
        if token.kind != "name":
            continue
        operator = _text(program, index + 1)
        if operator == "=" and program.tokens[index + 1].kind == "operator":
            value, _ = _expression(program, index + 2, frozenset({";", "\n", "}", ")", ","}))
            program.variables[token.text] = None if token.text in program.variables else value
        elif operator in ("+=", "-=", "*=", "/=", "++", "--"):
            program.variables[token.text] = None


def _expression(program: AwkProgram, index: int, ends: frozenset[str]) -> tuple[str, int]:
    """The text of a concatenation, with UNKNOWN for what is computed, and where it ended."""
    parts: list[str] = []
    depth = 0
    limit = min(len(program.tokens), index + MAX_EXPRESSION)
    while index < limit:
        token = program.tokens[index]
        if token.kind == "operator":
            if depth == 0 and token.text in ends:
                break
            if token.text == "$":
                parts.append(_field(program, index + 1))
                index += 1
            elif token.text in "([":
                depth += 1
            elif token.text in ")]":
                depth -= 1
                if depth < 0:
                    break
            else:
                parts.append(UNKNOWN)
        elif token.kind in ("string", "number"):
            parts.append(token.text)
        elif token.kind == "name":
            value = program.variables.get(token.text)
            parts.append(UNKNOWN if value is None else value)
        else:
            parts.append(UNKNOWN)
        index += 1
    else:
        if limit < len(program.tokens):
            parts.append(UNKNOWN)
    text = "".join(parts)
    while UNKNOWN * 2 in text:
        text = text.replace(UNKNOWN * 2, UNKNOWN)
    return text, index


def _field(program: AwkProgram, index: int) -> str:
    """`$0` is the line itself. Of the other fields nothing is known."""
    line = program.stdin.text
    return line.rstrip("\n") if line is not None and _text(program, index) == "0" else UNKNOWN


def _run(program: AwkProgram, command: str, stdin: Stream | None = None) -> None:
    if not command:
        return
    if UNKNOWN in command and not command.replace(UNKNOWN, "").strip():
        program.low.shell(Stream(None, program.stdin.taints | {"input"}), via=program.via)
        return
    words = command.split()
    if stdin is not None and words and all(word.replace("-", "").replace("/", "").isalnum() for word in words):
        program.low.run(tuple(Word(word) for word in words), via=program.via, stdin=stdin)
        return
    taints = program.stdin.taints | {"input"} if UNKNOWN in command else frozenset()
    program.low.shell(Word(command, taints=frozenset(taints)), via=program.via)


def _printed(program: AwkProgram, index: int) -> None:
    """`print ... > file` and `print ... | command`."""
    start = index + 1
    wrapped = _text(program, start) == "("
    text, end = _expression(program, start, _ENDS_PRINT)
    operator = _text(program, end)
    if operator not in (">", ">>", "|", "|&"):
        return
    target, _ = _expression(program, end + 1, frozenset({";", "\n", "}"}))
    content = (
        program.stdin
        if end == start
        else Stream(text if UNKNOWN not in text and not wrapped else None, program.stdin.taints)
    )
    if operator.startswith("|"):
        _run(program, target, content)
    elif target not in _STANDARD and not target.startswith("/dev/fd/"):
        program.low.write(target, content, append=operator == ">>")


def _getline(program: AwkProgram, index: int) -> None:
    """`"command" | getline` and `getline < "file"`."""
    before = index - 1
    if _text(program, before) in ("|", "|&"):
        start = before
        depth = 0
        while start > max(0, before - MAX_EXPRESSION):
            token = program.tokens[start - 1]
            if token.kind == "operator":
                if token.text == ")":
                    depth += 1
                elif token.text == "(":
                    if depth == 0:
                        break
                    depth -= 1
                elif token.text in ("{", "}", ";", "\n", "&&", "||", "!"):
                    break
            elif token.text in ("while", "if", "print") and token.kind == "name":
                break
            start -= 1
        command, _ = _expression(program, start, frozenset({"|", "|&"}))
        _run(program, command)
        return
    at = index + 1
    if at < len(program.tokens) and program.tokens[at].kind == "name":
        at += 1
    if _text(program, at) == "<":
        path, _ = _expression(program, at + 1, frozenset({";", "\n", "}", ")", "&&", "||", ">", "<"}))
        if path and path not in _STANDARD:
            program.low.read(path)


def _loaded(program: AwkProgram, index: int) -> None:
    name = _text(program, index + 1)
    if name:
        program.low.run_file(name, via=f"{program.via} {program.tokens[index].text}", language="awk")
