"""Programs of Windows' command interpreter: words, `&` and `|`, `%VARIABLES%`, and its built-in commands."""

from __future__ import annotations

from interpose.shell.invocation import UNKNOWN, Lowering, Stream, Word
from interpose.shell.languages.windows_paths import posix_word

_KEPT = ("userprofile", "systemroot", "windir", "systemdrive", "homedrive", "temp", "tmp", "homepath", "home")


def lower(code: str, low: Lowering, _via: str) -> None:
    """State what a line of cmd.exe would do."""
    for words in _commands(code):
        run_command(words, low)


def run_command(words: list[str], low: Lowering) -> None:
    """One command with its redirections."""
    words = _redirected(words, low)
    while words and words[0].lower().lstrip("@(") in (
        "call",
        "start",
        "if",
        "else",
        "do",
        "exist",
        "not",
        "errorlevel",
        "",
    ):
        words = words[1:]
    if not words:
        return
    name = words[0].lstrip("@(").lower().removesuffix(".exe").removesuffix(".com")
    flags = {word.lower() for word in words[1:] if word.startswith("/")}
    flags |= {"/" + letter for flag in flags for letter in flag.split("/") if letter}
    operands = [Word(word, glob="*" in word) for word in words[1:] if not word.startswith("/")]
    places = [posix_word(word, low.home) for word in operands]
    match name:
        case "del" | "erase":
            for place in places:
                low.delete(place, recursive="/s" in flags, forced="/f" in flags or "/q" in flags)
        case "rd" | "rmdir":
            for place in places:
                low.delete(place, recursive="/s" in flags, forced="/q" in flags)
        case "type" | "more":
            for place in places:
                low.read(place)
        case "copy" | "xcopy" | "move" | "ren" | "rename":
            low.run((Word("cp" if "copy" in name else "mv"), *places[:2]), via="cmd")
        case "md" | "mkdir":
            low.run((Word("mkdir"), *places), via="cmd")
        case (
            "echo"
            | "rem"
            | "set"
            | "cd"
            | "chdir"
            | "dir"
            | "cls"
            | "ver"
            | "title"
            | "pause"
            | "exit"
            | "goto"
            | "setlocal"
            | "path"
        ):
            pass
        case "do":
            run_command([UNKNOWN if word.startswith("%") and len(word) < 4 else word for word in words[1:]], low)
        case "for":
            if "do" in [word.lower() for word in words]:
                index = [word.lower() for word in words].index("do")
                run_command(
                    [UNKNOWN if word.startswith("%") and len(word) < 4 else word for word in words[index + 1 :]], low
                )
        case _:
            low.run((Word(name), *(Word(word) for word in words[1:])), via="cmd")


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


def _commands(code: str) -> list[list[str]]:
    commands: list[list[str]] = []
    words: list[str] = []
    word: list[str] = []
    started = False
    quoted = False
    index = 0

    def end_word() -> None:
        nonlocal started
        if started:
            words.append("".join(word))
        word.clear()
        started = False

    while index < len(code):
        char = code[index]
        index += 1
        if char == '"':
            quoted = not quoted
            started = True
        elif char == "^" and not quoted and index < len(code):
            word.append(code[index])
            started = True
            index += 1
        elif char == "%" and (end := code.find("%", index)) > index and " " not in code[index:end]:
            name = code[index:end]
            word.append(
                f"%{name}%" if name.lower() in _KEPT else (UNKNOWN if name.replace("_", "").isalnum() else f"%{name}%")
            )
            started = True
            index = end + 1
        elif not quoted and char in " \t,":
            end_word()
        elif not quoted and char in "&|\n()":
            end_word()
            if words:
                commands.append(words)
                words = []
        elif not quoted and char == ">":
            end_word()
            if code[index : index + 1] == ">":
                index += 1
                char = ">>"
            words.append(char)
        else:
            word.append(char)
            started = True
    end_word()
    if words:
        commands.append(words)
    return commands
