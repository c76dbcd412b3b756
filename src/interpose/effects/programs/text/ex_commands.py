"""The command language of vi, ex and ed: what runs, what is written, what is read."""

from __future__ import annotations

import re
from itertools import islice

from interpose.effects.invocation import UNKNOWN, Lowering, Stream, Word

MAX_COMMANDS = 500
MAX_CALLS = 20
MAX_ARGUMENTS = 500
"""How many calls of a line, and how much text behind each, is looked at."""

_RANGE = re.compile(r"[\s:]*(?:%|\d+|\$|\.|'[a-z<>])?(?:[,;](?:\d+|\$|\.|'[a-z<>]))?\s*")
_NAME = re.compile(r"[a-zA-Z]+|!|@:")
_MODIFIERS = frozenset(
    {"sil", "silent", "verb", "verbose", "noa", "noautocmd", "keepalt", "keepj", "keepjumps", "au", "autocmd"}
)
_EACH = frozenset({"bufdo", "argdo", "windo", "tabdo", "cdo", "ldo", "g", "global", "v", "vglobal"})
_WRITES = frozenset(
    {"w", "wr", "write", "wq", "x", "xit", "sav", "saveas", "W", "up", "update", "wn", "wa", "wall", "wqa", "xa"}
)
_READS = frozenset(
    {"r", "re", "read", "e", "ed", "edit", "sp", "split", "vs", "vsplit", "tabe", "tabedit", "new", "find", "view"}
)
_SCRIPTS = frozenset({"so", "source", "ru", "runtime", "luafile", "pyfile", "py3file"})
_LANGUAGES = dict.fromkeys(("py", "python", "py3", "python3", "pyx"), "python") | {
    "lua": "lua",
    "luado": "lua",
    "perl": "perl",
    "perldo": "perl",
    "ruby": "ruby",
    "rubydo": "ruby",
}
_SHELL_CALLS = re.compile(r"\b(?:system|systemlist|term_start|job_start|jobstart|termopen)\(")
_DELETE_CALL = re.compile(r"\bdelete\(")
_WRITE_CALL = re.compile(r"\bwritefile\(")
_EMPTIES = re.compile(r"(?:%|1,\$|,)[ \t]*d(?:elete)?!?|g/(?:\^|\.|\.\*)?/d")
"""Every line is deleted."""
_OPENS = re.compile(r"(?:e|ed|edit|tabe|tabedit|sp|split|vs|vsplit)!?\s+([^\s|!+`%#][^|]{0,4000})")
"""A file that is opened by a command."""
_STRING = re.compile(r"'([^'\n]*)'|\"((?:[^\"\\\n]|\\.)*)\"")


def lower_ex(code: str, files: list[Word], low: Lowering, via: str) -> None:
    """State what a text of ex commands does. `files` are those being edited, which `:w` writes."""
    count = 0
    emptied = False
    for line in code.split("\n"):
        for step in _steps(line):
            count += 1
            bare = step.strip().lstrip(":")
            if _EMPTIES.fullmatch(bare):
                emptied = True
            elif emptied and bare[:1] in ("w", "x"):
                for file in files:
                    low.write(file, emptied=True)
            elif bare[:1] in ("a", "i", "c", "r", "p", "u"):
                emptied = False  # something else takes the place of what was there
            if count > MAX_COMMANDS:
                low.emit(
                    "opaque", via, certainty="unknown", reason="The editor is given too many commands to understand"
                )
                return
            _command(step, files, low, via)
            files = [*files, *opened_by(bare)]  # the next `:w` writes it too


def opened_by(text: str) -> list[Word]:
    """The file that a command opens."""
    found = _OPENS.fullmatch(text.strip().lstrip(":"))
    return [] if found is None else [Word(found[1])]


def _steps(line: str) -> list[str]:
    """The commands of a line. A shell command takes the rest of its line, bars included."""
    if "!" in line:
        return [line]
    return line.split("|") if "|" in line else [line]


def _command(text: str, files: list[Word], low: Lowering, via: str) -> None:
    for _ in range(8):
        spaces = _RANGE.match(text)
        text = text[spaces.end() :] if spaces else text
        match = _NAME.match(text)
        if match is None:
            return
        name = match.group()
        rest = text[match.end() :]
        if name in _MODIFIERS:
            text = rest.lstrip("!0123456789 ")
            if rest.lstrip().startswith("!!") or rest.startswith((" !", "! !")):
                text = "!" + text
            continue
        if name in _EACH:
            text = _inner(name, rest)
            continue
        break
    else:
        return
    _state(name, rest, files, low, via)


def _inner(name: str, rest: str) -> str:
    """`:g/pattern/command` has a pattern in front of its command; `:bufdo command` has none."""
    if name in ("g", "global", "v", "vglobal") and rest[:1] and not rest[:1].isalnum():
        return rest[1:].partition(rest[0])[2]
    return rest


def _state(name: str, rest: str, files: list[Word], low: Lowering, via: str) -> None:
    argument = rest.strip().lstrip("!").strip() if name != "!" else rest.strip()
    runs = rest.lstrip().startswith("!")
    if name == "!" or name in ("te", "ter", "term", "terminal"):
        low.shell(argument, via=f"{via} :!")
    elif name in _WRITES:
        if runs and rest.startswith(" "):
            low.shell(argument, via=f"{via} :w !")
        elif argument and not argument.startswith(("+", ">>")):
            low.write(argument)
        else:
            for file in files:
                low.write(file, in_place=True)
    elif name in _READS:
        if runs and rest.startswith((" ", "!")) and name.startswith("r"):
            low.shell(argument, via=f"{via} :r !")
        elif argument:
            low.read(argument)
    elif name in _SCRIPTS and argument:
        low.run_file(argument, via=f"{via} :{name}", language=_LANGUAGES.get(name.removesuffix("file"), "vim"))
    elif name in _LANGUAGES and argument:
        low.code(_LANGUAGES[name], argument, via=f"{via} :{name}")
    elif name in ("exe", "execute"):
        code = _literal(argument)
        if code is None:
            low.emit("opaque", via, certainty="unknown", reason="The editor's commands are computed")
        else:
            lower_ex(code.replace("\\n", "\n"), files, low, via)
    elif name in ("norm", "normal") and ":!" in argument:
        low.shell(argument.partition(":!")[2], via=f"{via} :normal")
    _calls(f"{name}{rest}", low, via)


def _literal(text: str) -> str | None:
    match = _STRING.fullmatch(text.strip())
    if match is None:
        return None
    return match.group(1) if match.group(1) is not None else match.group(2).replace('\\"', '"')


def _calls(text: str, low: Lowering, via: str) -> None:
    for call in islice(_SHELL_CALLS.finditer(text), MAX_CALLS):
        strings = _strings(text, call.end())
        low.shell(strings[0] if strings else Stream(None, frozenset({"input"})), via=f"{via} system()")
    for call in islice(_DELETE_CALL.finditer(text), MAX_CALLS):
        strings = _strings(text, call.end())
        recursive = len(strings) > 1 and "r" in strings[1]
        low.delete(strings[0] if strings else Word(UNKNOWN), recursive=recursive, forced=True)
    for call in islice(_WRITE_CALL.finditer(text), MAX_CALLS):
        strings = _strings(text, call.end())
        if strings:
            low.write(strings[-1])


def _strings(text: str, start: int) -> list[str]:
    found = _STRING.finditer(text, start, min(len(text), start + MAX_ARGUMENTS))
    return [match.group(1) if match.group(1) is not None else match.group(2) for match in found]
