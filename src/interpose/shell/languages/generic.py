"""Languages without a parser here: calls with constant arguments are found, computed ones are stated as not known."""

from __future__ import annotations

from itertools import pairwise

from interpose.shell.commands.shared.handler_table import HANDLERS
from interpose.shell.invocation import UNKNOWN, Lowering, Stream, Word
from interpose.shell.languages.generic_tables import FORK_BOMBS, NETWORK, TABLES, Action
from interpose.shell.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    concat,
    download,
    run_list,
    run_shell,
    text_value,
)
from interpose.shell.languages.tokens import ProgramToken, TokenRules, tokens

MAX_ARGUMENT_TOKENS = 64
_OPEN, _CLOSE = "([{", ")]}"
SEARCHES = (
    "glob",
    "Dir.glob",
    "Dir",
    "Dir.children",
    "Dir.each_child",
    "Dir.entries",
    "Find.find",
    "list.files",
    "readdir",
)
"""Calls whose result is what is removed one by one."""
SEARCHED_CALLS = ("unlink", "rmdir")
_JOINS = (".", "+", "..", "~", "*")

_PERL = TokenRules(quote_words=("q", "qq", "qx", "qw"))
_RUBY = TokenRules(quote_words=("%x",), holes=("#{",))
_PHP = TokenRules(comments=("#", "//"), holes=("$", "{$"))
_LUA = TokenRules(comments=("--",), backticks=False, holes=())
_R = TokenRules(backticks=False, holes=())
_JULIA = TokenRules(holes=("$",))
_GROOVY = TokenRules(comments=("//",), backticks=False, holes=("$",))
_PYTHON = TokenRules(backticks=False, holes=())


def perl(code: str, low: Lowering, via: str) -> None:
    _scan(code, low, via, "perl", _PERL)


def ruby(code: str, low: Lowering, via: str) -> None:
    _scan(code, low, via, "ruby", _RUBY)


def php(code: str, low: Lowering, via: str) -> None:
    _scan(code, low, via, "php", _PHP)


def lua(code: str, low: Lowering, via: str) -> None:
    _scan(code, low, via, "lua", _LUA)


def r(code: str, low: Lowering, via: str) -> None:
    _scan(code, low, via, "r", _R)


def julia(code: str, low: Lowering, via: str) -> None:
    _scan(code, low, via, "julia", _JULIA)


def groovy(code: str, low: Lowering, via: str) -> None:
    _scan(code, low, via, "groovy", _GROOVY)


def python(code: str, low: Lowering, via: str) -> None:
    """Python that Python 3 cannot parse: the old dialect, or broken."""
    found = _scan(code, low, via, "python", _PYTHON)
    if not found:
        unparsed(low, via)


def osascript(code: str, low: Lowering, _via: str) -> None:
    """AppleScript reads like sentences: `do shell script "..."`, `tell application "Finder" to empty trash`."""
    found = tokens(code, TokenRules(comments=("--",), backticks=False, holes=(), joiners=()))
    words = [token.text.lower() if token.kind == "name" else "" for token in found]
    for index in range(len(found)):
        if words[index : index + 3] == ["do", "shell", "script"]:
            run_shell(_joined(found[index + 3 : index + 3 + MAX_ARGUMENT_TOKENS]), low, "do shell script")
        elif words[index : index + 2] == ["do", "script"]:
            run_shell(_joined(found[index + 2 : index + 2 + MAX_ARGUMENT_TOKENS]), low, "do script")
        elif words[index : index + 2] == ["empty", "trash"] or words[index : index + 3] == ["empty", "the", "trash"]:
            low.emit("fs.delete", low.path("~/.Trash"), recursive=True)
        elif words[index : index + 2] == ["shut", "down"] or words[index] == "restart":
            low.emit("system", words[index], rule="power", reason="This shuts the machine down")
        elif words[index] == "delete" and "finder" in code.lower():
            low.delete(Word(UNKNOWN))


def _joined(found: list[ProgramToken]) -> ProgramValue:
    """AppleScript joins texts with `&`; what follows without it belongs to the sentence."""
    value = _argument(found[:1])
    for mark, part in zip(found[1::2], found[2::2], strict=False):
        if mark.text != "&":
            break
        value = concat(value, _argument([part]))
    return value


def _sent(code: str, low: Lowering) -> None:
    """What expect types into a program it started: a shell would run it."""
    found = tokens(code, TokenRules(backticks=False, holes=("$",), joiners=()))
    for name, text in pairwise(found):
        if name.text == "send" and text.kind == "string" and text.text.partition(" ")[0] in HANDLERS:
            low.shell(text.text.strip(), via="send")


def tcl(code: str, low: Lowering, _via: str) -> None:
    """Tcl's programs are commands of words, as a shell's are."""
    _sent(code, low)
    for line in code.replace("[", ";").replace("]", ";").replace("\n", ";").split(";"):
        words = [word.strip('{}"') for word in line.split()]
        while words and words[0] in (
            "catch",
            "if",
            "eval",
            "then",
            "else",
            "puts",
            "set",
            "spawn",
            "exec",
            "system",
            "open",
            "file",
        ):
            head = words.pop(0)
            if head in ("exec", "spawn", "system"):
                rest = line.partition(head)[2].split()
                while rest and rest[0] in ("-ignorestderr", "-keepnewline", "--", "-noecho"):
                    rest.pop(0)
                # Braces are Tcl's single quotes.
                low.shell(" ".join(rest).replace("{", "'").replace("}", "'"), via=head)
                break
            if head == "file" and words[:1] == ["delete"]:
                for word in words[1:]:
                    if not word.startswith("-"):
                        low.delete(Word(UNKNOWN if word.startswith("$") else word), recursive=True, forced=True)
                break
            if head == "open" and words and words[0].startswith("|"):
                low.shell(" ".join(words).lstrip("|"), via="open")
                break


def unparsed(low: Lowering, via: str) -> None:
    """A program that is not one of its language: it does nothing, or something that we do not see."""
    low.emit("opaque", via, certainty="unknown", rule="unknown-code",
             reason="The program could not be parsed, so what it does is not known")  # fmt: skip


def _scan(code: str, low: Lowering, via: str, language: str, syntax: TokenRules) -> bool:
    table = TABLES[language]
    found = tokens(code, syntax)
    names = {token.text for token in found if token.kind == "name"}
    seen = ran = False
    constants: dict[str, ProgramValue] = {}
    searched: list[ProgramValue] = []
    for index, token in enumerate(found):
        if token.kind == "command":
            seen = ran = True
            run_shell(text_value(token.text), low, via)
        elif token.kind == "string" and [part.text for part in found[index + 1 : index + 3]] == [".", "execute"]:
            seen = ran = True
            run_shell(text_value(token.text), low, "execute")
        elif token.kind == "name":
            if found[index + 1 : index + 2] == [ProgramToken("mark", "=")] and _plain_string(found, index + 2):
                constants[token.text] = text_value(found[index + 2].text)
            action = _action(token.text, table)
            if action is not None and not _is_definition(found, index):
                seen = True
                ran = ran or action.does in ("shell", "run")
                args = _arguments(found, index + 1, constants)
                if action.does == "delete" and searched and not all(arg.known for arg in args):
                    args = searched
                _act(action, token.text, args, low)
            elif token.text in SEARCHES:
                searched.extend(arg for arg in _arguments(found, index + 1, constants)[:1] if arg.known)
    if names & NETWORK and ran:
        low.emit("code.remote", via, rule="reverse-shell", wide=True,
                 reason="This hands control of a shell to somebody on the network")  # fmt: skip
    compact = "".join(code.split())
    if any(bomb in compact for bomb in FORK_BOMBS):
        low.emit("system", "processes", rule="fork-bomb", wide=True,
                 reason="Processes that start processes without end bring the machine down")  # fmt: skip
    words = code.split(None, 2)
    if not seen and len(words) > 1 and words[0].isidentifier() and words[1][:1] == "-" and words[1][1:2].isalpha():
        # Not a program of this language but a shell command by mistake: what it would do is what was meant.
        low.shell(code, via=via)
    return seen


def _action(name: str, table: dict[str, Action]) -> Action | None:
    found = table.get(name)
    if found is None and ("." in name or "::" in name or "->" in name):
        tail = name.replace("::", ".").replace("->", ".").rpartition(".")[2]
        found = table.get("." + tail)
    return found


def _is_definition(found: list[ProgramToken], index: int) -> bool:
    before = found[index - 1] if index else None
    return before is not None and before.kind == "name" and before.text in ("def", "sub", "function", "fn")


def _plain_string(found: list[ProgramToken], index: int) -> bool:
    ends = index + 1 >= len(found) or found[index + 1].text in (";", "\n", ",", ")")
    return index < len(found) and found[index].kind == "string" and ends


def _arguments(found: list[ProgramToken], start: int, constants: dict[str, ProgramValue]) -> list[ProgramValue]:
    """The arguments of a call, with or without parentheses; lists are flattened."""
    args: list[ProgramValue] = []
    current: list[ProgramToken] = []
    depth = 0
    for token in found[start : start + MAX_ARGUMENT_TOKENS]:
        if token.kind == "mark":
            if token.text in _OPEN:
                depth += 1
                continue
            if token.text in _CLOSE:
                depth -= 1
                if depth <= 0:
                    break
                continue
            if token.text == ";" or (token.text == "\n" and depth == 0):
                break
            if token.text == ",":
                args.append(_argument(current, constants))
                current = []
                continue
        elif (
            token.kind == "name"
            and token.text in ("or", "and", "if", "unless", "while", "do", "end", "for")
            and depth == 0
        ):
            break
        current.append(token)
    if current or args:
        args.append(_argument(current, constants))
    return args


def _argument(found: list[ProgramToken], constants: dict[str, ProgramValue] | None = None) -> ProgramValue:
    """One argument: a constant, constants joined, or something computed."""
    value: ProgramValue | None = None
    glob = False
    for token in found:
        if token.kind == "string":
            part = text_value(token.text)
        elif token.kind == "name" and token.text in ("glob", "Dir.glob", "Dir", "expand", "File.expand_path", "c"):
            glob = True
            continue
        elif token.kind == "name" and constants and token.text in constants:
            part = constants[token.text]
        elif token.kind == "mark" and (token.text in _JOINS or token.text in "$@\n&\\:<"):
            continue
        else:
            part = text_value(token.text) if token.kind == "name" and token.text.isdecimal() else NOT_KNOWN
        value = part if value is None else concat(value, part)
    if value is None:
        return NOT_KNOWN
    return ProgramValue(text=value.text, glob=glob or any(mark in value.text for mark in "*?"))


def _act(action: Action, name: str, args: list[ProgramValue], low: Lowering) -> None:  # noqa: C901 - one case per sort of call
    first = args[0] if args else NOT_KNOWN
    match action.does:
        case "shell":
            if len(args) > 1 and action.words:
                run_list(tuple(arg for arg in args if not arg.text.startswith("recursive")), low, name)
            elif args:
                run_shell(first, low, name)
        case "run":
            run_list(tuple(args), low, name)
        case "delete":
            if action.position and first.text not in SEARCHED_CALLS:
                return
            for arg in args[action.position :] or [NOT_KNOWN]:
                low.delete(arg.word, recursive=action.recursive, forced=action.recursive)
                if not action.words:
                    break
        case "write":
            low.write((args[action.position] if len(args) > action.position else NOT_KNOWN).word, Stream(None))
        case "read":
            if args and not first.text.startswith(("http://", "https://")):
                low.read(first.word)
            elif args:
                download(first, low)
        case "open":
            _open(args, low, name)
        case "command":
            low.run((*map(Word, action.command), *(arg.word for arg in args)), via=name)
        case "download":
            download(first, low)
        case "code":
            if "http://" in first.text or "https://" in first.text:
                low.emit("code.remote", first.text)
            elif first.known:
                low.code(action.language, first.word, via=name)
            elif args:
                low.code(action.language, Word(UNKNOWN), via=name)


def _open(args: list[ProgramValue], low: Lowering, name: str) -> None:
    """`open` of perl, ruby, php, lua: the mode stands in a second or third argument, or in front of the path."""
    texts = [arg.text for arg in args]
    if not texts:
        return
    for index, text in enumerate(texts):
        stripped = text.strip()
        if stripped in (">", ">>", "+<", "+>", "<", "-|", "|-") and index + 1 < len(texts):
            _open_mode(stripped, args[index + 1 :], low, name)
            return
        if stripped.startswith((">", "|")) or stripped.endswith("|"):
            mode = "|-" if "|" in (stripped[0], stripped[-1]) else ">"
            _open_mode(mode, [text_value(stripped.strip("|> "))], low, name)
            return
    mode = texts[1] if len(texts) > 1 else "r"
    if mode[:1] in ("w", "a", "x", "c") or "+" in mode:
        low.write(args[0].word, Stream(None), append=mode.startswith("a"))
    elif not texts[0].startswith(("http://", "https://")):
        low.read((args[1] if len(args) > 1 and not args[0].known else args[0]).word)
    else:
        download(args[0], low)


def _open_mode(mode: str, rest: list[ProgramValue], low: Lowering, name: str) -> None:
    if "|" in mode:
        if len(rest) > 1:
            run_list(tuple(rest), low, name)
        else:
            run_shell(rest[0], low, name)
    elif rest[0].text.startswith("&"):
        return
    elif ">" in mode or "+" in mode:
        low.write(rest[0].word, Stream(None), append=mode == ">>")
    else:
        low.read(rest[0].word)
