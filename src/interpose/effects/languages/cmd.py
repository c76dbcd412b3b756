"""Programs of Windows' command interpreter: words, `&` and `|`, `%VARIABLES%`, loops, and its built-in commands."""

from __future__ import annotations

from msgspec import Struct

from interpose.effects.invocation import NOTHING, UNKNOWN, Lowering, Stream, Word
from interpose.effects.languages.windows_paths import posix_word

_KEPT = ("userprofile", "systemroot", "windir", "systemdrive", "homedrive", "temp", "tmp", "homepath", "home",
         "appdata", "localappdata", "programfiles", "programdata", "allusersprofile", "public")  # fmt: skip
_LONGEST = 4096
"""Longer values of variables are not remembered."""
_LEADERS = frozenset({"call", "start", "else", "do", "not", "/i", "/b", "/wait", "/min", "/max", ""})
_SILENT = frozenset(
    {"echo", "rem", "set", "cd", "chdir", "dir", "cls", "ver", "title", "pause", "exit", "goto", "setlocal", "endlocal",
     "path", "pushd", "popd", "color", "vol", "prompt", "shift", "date", "time", "verify", "break", "echo."}
)  # fmt: skip


class CmdCommand(Struct):
    """One command of a line. `piped`: it reads what the one before it prints."""

    words: list[str]
    piped: bool = False


def lower(code: str, low: Lowering, _via: str) -> None:
    """State what a line of cmd.exe would do."""
    found = _commands(code)
    loop: tuple[str, list[str], bool] | None = None
    printed: Stream | None = None
    for index, command in enumerate(found):
        first = command.words[0].lstrip("@").lower()
        if first == "for":
            loop = _loop(command.words, found[index + 1].words if index + 1 < len(found) else [])
            printed = None
        elif loop is not None and first == "do":
            for words in _bound(command.words[1:], loop):
                run_command([*words, "/s"] if loop[2] and words[0].lower() in ("del", "erase") else words, low)
        elif loop is not None and found[index - 1].words[-1].lower() == "in":
            continue  # what a loop goes through
        else:
            words = command.words
            if loop is not None:
                for bound in _bound(words, loop):
                    run_command(bound, low)
            else:
                printed = run_command(words, low, printed if command.piped else None)


def _loop(words: list[str], group: list[str]) -> tuple[str, list[str], bool]:
    """The variable of a loop, what it stands for one after the other, and whether that is a tree."""
    flags = [word.lower() for word in words if word.startswith("/")]
    variable = next((word for word in words if word.startswith("%")), "%i")
    if "do" in [word.lower() for word in words]:
        return variable, [UNKNOWN], False
    if "/f" in flags or "/l" in flags:
        return variable, [UNKNOWN], False
    if "/r" in flags:
        root = next((word for word in words[words.index(variable) - 1 :: -1] if not word.startswith(("/", "%"))), ".")
        return variable, [f"{root if root.lower() != 'for' else '.'}\\*"], True
    return variable, group or [UNKNOWN], "/d" in flags


def _bound(words: list[str], loop: tuple[str, list[str], bool]) -> list[list[str]]:
    variable, values, _ = loop
    name = variable.lstrip("%").lower()
    bound = []
    for value in values[:8]:
        bound.append([_put(word, name, value) for word in words])
    return bound


def _put(word: str, name: str, value: str) -> str:
    lowered = word.lower()
    for mark in ("%%", "%"):
        if lowered.strip('"') in (f"{mark}{name}", f"{mark}~{name}", f"{mark}~f{name}", f"{mark}~fs{name}"):
            return value
    return UNKNOWN if word.startswith("%") and len(word) < 4 else word


def run_command(words: list[str], low: Lowering, stdin: Stream | None = None) -> Stream:  # noqa: C901 - one case per command
    """One command with its redirections; gives what it prints."""
    words = _redirected(words, low)
    words = _unconditional(words)
    if not words:
        return Stream()
    name = words[0].lstrip("@(").lower().removesuffix(".exe").removesuffix(".com")
    flags = {word.lower() for word in words[1:] if word.startswith("/")}
    flags |= {"/" + letter for flag in flags for letter in flag.split("/") if letter}
    operands = [Word(word, glob="*" in word) for word in words[1:] if not word.startswith("/")]
    places = [posix_word(word, low.home) for word in operands]
    taints = NOTHING
    match name:
        case "del" | "erase":
            for place in places:
                low.delete(place, recursive="/s" in flags, forced="/f" in flags or "/q" in flags)
        case "rd" | "rmdir":
            for place in places:
                low.delete(place, recursive="/s" in flags, forced="/q" in flags)
        case "type" | "more":
            for place in places:
                taints |= low.read(place).taints
        case "copy" | "xcopy" | "move" | "ren" | "rename" | "replace":
            low.run((Word("mv" if name in ("move", "ren", "rename") else "cp"), *places[:2]), via="cmd")
        case "md" | "mkdir":
            low.run((Word("mkdir"), *places), via="cmd")
        case "set" if len(words) == 1:
            low.emit("secret.read", "environment", certainty="possible", rule="environment-dump",
                     reason="Prints the whole environment, with the tokens and passwords in it")  # fmt: skip
            taints |= {"env", "secret"}
        case "sc":
            low.run((Word("sc.exe"), *(Word(word) for word in words[1:])), via="cmd")
        case "mklink":
            if len(places) > 1:
                low.write(places[0], link=places[1].text)
        case "assoc" | "ftype" if any("=" in word for word in words[1:]):
            low.emit("persistence", " ".join(words[1:]), rule="file-association",
                     reason="Changes which program opens a kind of file")  # fmt: skip
        case _ if name in _SILENT:
            pass
        case _:
            # What the line itself put into a file may be what it starts.
            program = posix_word(Word(words[0]), low.home) if words[0].startswith("%") else Word(name)
            rest = (posix_word(Word(word), low.home) if word.startswith("%") else Word(word) for word in words[1:])
            low.run((program, *rest), via="cmd", stdin=stdin)
    return Stream(None, taints)


def _unconditional(words: list[str]) -> list[str]:
    """The command behind `if exist x`, `if "%a%"=="b"`, `call`, `start "title"`."""
    index = 0
    while index < len(words):
        first = words[index].lower().lstrip("@(")
        if first == "if":
            index += 1
            while index < len(words) and words[index].lower() in ("/i", "not"):
                index += 1
            following = [word.lower() for word in words[index : index + 2]]
            if following[:1] and following[0] in ("exist", "defined", "errorlevel", "cmdextversion"):
                index += 2
            elif len(following) > 1 and following[1] in ("==", "equ", "neq", "lss", "leq", "gtr", "geq"):
                index += 3
            else:
                index += 1
        elif first == "start" and words[index + 1 : index + 2] == [""]:
            index += 2  # an empty title of the window
        elif first in _LEADERS or first == "start":
            index += 1
        else:
            break
    return words[index:]


def _redirected(words: list[str], low: Lowering) -> list[str]:
    kept: list[str] = []
    index = 0
    while index < len(words):
        word = words[index].lstrip("12")
        if word in (">", ">>") and index + 1 < len(words):
            if words[index + 1].lower() != "nul":
                low.write(posix_word(Word(words[index + 1]), low.home), Stream(None), append=word == ">>")
            index += 2
            continue
        kept.append(words[index])
        index += 1
    return kept


class _Line:
    """Reads one line. Variables that are set in it are known behind that."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.index = 0
        self.commands: list[CmdCommand] = []
        self.words: list[str] = []
        self.word: list[str] = []
        self.started = False
        self.piped = False
        self.variables: dict[str, str] = {}

    def end_word(self) -> None:
        if self.started:
            self.words.append("".join(self.word))
        self.word.clear()
        self.started = False

    def end_command(self, mark: str) -> None:
        self.end_word()
        if self.words:
            self._assign()
            self.commands.append(CmdCommand(self.words, self.piped))
            self.words = []
            self.piped = False
        if mark == "|":
            self.piped = (
                self.code[self.index : self.index + 1] != "|" and self.code[self.index - 2 : self.index - 1] != "|"
            )

    def _assign(self) -> None:
        if self.words[0].lstrip("@").lower() != "set" or len(self.words) < 2:
            return
        name, equals, value = " ".join(word for word in self.words[1:] if word.lower() not in ("/a", "/p")).partition(
            "="
        )
        if equals and name.strip():
            asked = any(word.lower() == "/p" for word in self.words) or len(value) > _LONGEST
            self.variables[name.strip().lower()] = UNKNOWN if asked else value

    def put(self, text: str) -> None:
        self.word.append(text)
        self.started = True

    def variable(self, mark: str) -> bool:
        """Put the value of `%name%` or `!name!` into the word, if one stands here."""
        end = self.code.find(mark, self.index, self.index + 80)
        if end <= self.index or " " in self.code[self.index : end]:
            return False
        name, colon, cut = self.code[self.index : end].partition(":")
        if not name.replace("_", "").replace("(", "").replace(")", "").isalnum():
            return False
        self.index = end + 1
        known = self.variables.get(name.lower())
        if known is None:
            self.put(f"%{name}%" if name.lower() in _KEPT and not colon else UNKNOWN)
        else:
            value = _cut(known, cut) if colon else known
            *before, last = [value] if self.started else value.rstrip().split(" ")
            for word in before:  # a whole command in a variable
                self.put(word)
                self.end_word()
            self.put(last)
        return True


def _cut(text: str, cut: str) -> str:
    """`%x:~1,2%` is a part of the value, `%x:a=b%` has one text in place of another."""
    if not cut.startswith("~"):
        old, equals, new = cut.partition("=")
        return text.replace(old, new) if equals and old else UNKNOWN
    start, _, length = cut[1:].partition(",")
    try:
        first = int(start or 0)
        size = int(length) if length else None
    except ValueError:
        return UNKNOWN
    rest = text[first:]
    return rest if size is None else rest[:size]


def _commands(code: str) -> list[CmdCommand]:
    line = _Line(code)
    quoted = False
    while line.index < len(code):
        char = code[line.index]
        line.index += 1
        if char == '"':
            quoted = not quoted
            line.started = True
        elif char == "^" and not quoted and line.index < len(code):
            line.put(code[line.index])
            line.index += 1
        elif char in "%!" and line.variable(char):
            continue
        elif not quoted and char in " \t,":
            line.end_word()
        elif not quoted and char in "&|\n()":
            line.end_command(char)
        elif not quoted and char == ">":
            line.end_word()
            if code[line.index : line.index + 1] == ">":
                line.index += 1
                char = ">>"
            line.words.append(char)
        elif not quoted and char == "=" and code[line.index : line.index + 1] == "=":
            line.end_word()
            line.words.append("==")
            line.index += 1
        else:
            line.put(char)
    line.end_command("")
    return line.commands
