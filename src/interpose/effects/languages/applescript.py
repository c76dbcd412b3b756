"""AppleScript reads like sentences: `do shell script "..."`, `tell application "Finder" to empty trash`."""

from __future__ import annotations

from interpose.effects.invocation import UNKNOWN, Lowering, Word
from interpose.effects.languages.generic_values import argument
from interpose.effects.languages.program_values import ProgramValue, concat, run_shell
from interpose.effects.languages.tokens import ProgramToken, TokenRules, tokens

_SYNTAX = TokenRules(comments=("--",), backticks=False, holes=(), joiners=(), quotes='"')
_REACH = 64
_PLACES = {
    "home": "~", "desktop": "~/Desktop", "documents": "~/Documents", "downloads": "~/Downloads", "trash": "~/.Trash",
    "startup": "/", "library": "~/Library", "pictures": "~/Pictures", "applications": "/Applications",
}  # fmt: skip
_TYPED = frozenset({"keystroke", "input", "insert"})


def lower(code: str, low: Lowering, via: str) -> None:
    """State what the sentences of a script do."""
    found = tokens(code, _SYNTAX)
    words = [token.text.lower() if token.kind == "name" else "" for token in found]
    for index, word in enumerate(words):
        match words[index : index + 3]:
            case ["do", "shell", "script"]:
                run_shell(_joined(found[index + 3 : index + 3 + _REACH]), low, "do shell script")
            case ["do", "script" | "javascript", *_]:
                _typed(found, index + 2, low, word)
            case ["write", "text", *_] | ["keystroke", *_]:
                _typed(found, index + (2 if word == "write" else 1), low, word)
            case ["run", "script", *_] | ["load", "script", *_]:
                value = _joined(found[index + 2 : index + 2 + _REACH])
                low.code("osascript", value.word, via="run script")
            case ["empty", "trash", *_] | ["empty", "the", "trash"]:
                low.emit("fs.delete", low.path("~/.Trash"), recursive=True)
            case ["shut", "down", *_] | ["restart", *_] | ["log", "out", *_] | ["sleep", *_]:
                if "finder" in words or '"finder"' in code.lower() or "system events" in code.lower() or len(found) < 6:
                    low.emit("system", word, rule="power", reason="This shuts the machine down")
            case ["delete" | "move" | "erase", *_] if "finder" in code.lower() or "system events" in code.lower():
                _delete(found, words, index, low)
            case ["the", "clipboard", *_]:
                low.emit("secret.read", "clipboard", certainty="possible", strength="soft",
                         reason="Reads the clipboard, into which people copy passwords")  # fmt: skip
            case ["read", "posix" | "file" | "alias", *_]:
                low.read(_joined([token for token in found[index : index + 8] if token.kind == "string"][:1]).word)
            case ["login", "item", *_] | ["make", "login", "item"] if "make" in words:
                low.emit("persistence", "login item", rule="login-item",
                         reason="Something will run at every login")  # fmt: skip
            case _:
                pass
    if "display dialog" in code.lower() and "hidden answer" in code.lower():
        low.emit("secret.read", via, rule="password-dialog", reason="Asks the person for a password in a window")


def _typed(found: list[ProgramToken], start: int, low: Lowering, word: str) -> None:
    """What is typed into a window: if it is a command line, it is judged as one."""
    value = _joined(found[start : start + _REACH])
    if word == "keystroke" and " " not in value.text.strip():
        low.emit("guard.tamper", "terminal", certainty="possible", rule="terminal-input",
                 reason="Types into a window in which a person may be asked something")  # fmt: skip
        return
    run_shell(value, low, word)


def _delete(found: list[ProgramToken], words: list[str], index: int, low: Lowering) -> None:
    """`delete every item of home`, `delete POSIX file "/x"`, `delete folder "x" of desktop`."""
    rest = range(index + 1, min(len(found), index + 12))
    if words[index] == "move" and "trash" not in words[index:]:
        return
    named = next((found[at].text for at in rest if found[at].kind == "string"), "")
    place = next((_PLACES[words[at]] for at in rest if words[at] in _PLACES and words[at] != "trash"), "")
    if named.startswith(("/", "~")):
        low.delete(Word(named), recursive=True)
    elif place:
        low.delete(Word(f"{place}/{named}" if named else place), recursive=True)
    else:
        low.delete(Word(UNKNOWN), recursive=True)


def _joined(found: list[ProgramToken]) -> ProgramValue:
    """AppleScript joins texts with `&`; what follows without it belongs to the sentence."""
    value = argument(found[:1])
    for mark, part in zip(found[1::2], found[2::2], strict=False):
        if mark.text != "&":
            break
        value = concat(value, argument([part]))
    return value
