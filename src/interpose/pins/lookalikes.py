"""Names that look like other names: letters of other scripts, one letter more or less, other separators or case."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator

_LOOK_LIKE = {
    "a": "\u0430\u0251\u03b1", "b": "\u0432", "c": "\u0441\u03f2", "d": "\u0501", "e": "\u0435\u04bd",
    "g": "\u0261\u0581", "h": "\u04bb\u0570", "i": "\u0456\u0131\u0269\u03b9\u026a", "j": "\u0458\u03f3\u0237",
    "k": "\u043a\u03ba", "l": "\u04cf\u217c\u029f", "m": "\u043c", "n": "\u043f\u0578",
    "o": "\u043e\u03bf\u0585\u03c3\u1d0f", "p": "\u0440\u03c1", "q": "\u051b", "r": "\u0433\u0280", "s": "\u0455",
    "t": "\u0442\u03c4", "u": "\u057d\u03c5\u028b", "v": "\u0475\u03bd\u1d20", "w": "\u051d\u03c9\u1d21",
    "x": "\u0445\u03c7", "y": "\u0443\u03b3\u028f", "z": "\u1d22", "A": "\u0410\u0391", "B": "\u0412\u0392",
    "C": "\u0421\u03f9", "E": "\u0415\u0395", "H": "\u041d\u0397", "I": "\u0406\u0399\u04c0", "J": "\u0408",
    "K": "\u041a\u039a", "M": "\u041c\u039c", "N": "\u039d", "O": "\u041e\u039f", "P": "\u0420\u03a1", "S": "\u0405",
    "T": "\u0422\u03a4", "X": "\u0425\u03a7", "Y": "\u0423\u03a5", "W": "\u051c", "Z": "\u0396",
}  # fmt: skip
"""Letters of Latin, and those of Cyrillic, Greek, Armenian and others that look the same."""
BUILT_IN = frozenset({
    "Agent", "ApplyPatch", "Bash", "BashOutput", "Delete", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS",
    "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "ReadFile", "Shell", "Skill", "SlashCommand", "Task",
    "TodoRead", "TodoWrite", "WebFetch", "WebSearch", "Write", "WriteFile", "apply_patch", "codebase_search",
    "execute_bash", "execute_command", "fs_read", "fs_write", "google_web_search", "insert_edit_into_file",
    "local_shell", "read_many_files", "replace_in_file", "replace_string_in_file", "run_in_terminal",
    "run_shell_command", "run_terminal_cmd", "save_memory", "str_replace_based_edit_tool", "str_replace_editor",
    "text_editor", "unified_exec", "update_plan", "view_image", "write_stdin", "write_to_file",
})  # fmt: skip
"""Tools that agents bring along, as they spell them."""
_SHORTEST = 5
"""Names with fewer letters are alike by chance."""
_LATIN = {ord(char): letter for letter, chars in _LOOK_LIKE.items() for char in chars}


def latin(text: str) -> str:
    """A text with letters of other scripts that look like Latin ones replaced by these."""
    return text if text.isascii() else text.translate(_LATIN)


def skeleton(name: str) -> str:
    """What is left of a name for who reads it in a hurry."""
    return _bare(name).replace("0", "o").replace("1", "l").replace("rn", "m").replace("vv", "w")


def _bare(name: str) -> str:
    plain = latin(unicodedata.normalize("NFKC", name)).casefold()
    return "".join(char for char in unicodedata.normalize("NFKD", plain) if char.isalnum())


def disguise_of(name: str) -> str:
    """Which letters of a name are not what they seem; empty if none are."""
    if name.isascii():
        return ""
    scripts = {_script(char) for char in name if char.isalpha()}
    strange = [char for char in name if not char.isascii() and char.isalpha()]
    if strange and (("LATIN" in scripts and len(scripts) > 1) or latin(unicodedata.normalize("NFKC", name)).isascii()):
        shown = ", ".join(dict.fromkeys(f"{char} is {unicodedata.name(char, 'unnamed')}" for char in strange[:3]))
        return shown
    return ""


def _script(char: str) -> str:
    return unicodedata.name(char, "?").split(" ")[0] if not char.isascii() else "LATIN"


def alike(name: str, others: Collection[str]) -> Iterator[str]:
    """Those of some names that one looks like, without being the same."""
    seen, bare = skeleton(name), _bare(name)
    for other in others:
        if other != name and (seen == skeleton(other) or _is_slip(bare, _bare(other))):
            yield other


def same_for_the_eye(name: str, other: str) -> bool:
    """Whether two different names differ only in what nobody sees: case, separators, letters that look alike."""
    return name != other and skeleton(name) == skeleton(other)


def are_disguised(name: str, other: str) -> bool:
    """Whether two names look the same by other letters or digits. Case and separators alone are no disguise."""
    return skeleton(name) == skeleton(other) and _bare(name) != _bare(other)


def _near(one: str, other: str) -> bool:
    """Whether one letter makes the difference: another, one more, one less, or two that changed places."""
    if min(len(one), len(other)) < _SHORTEST or abs(len(one) - len(other)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, rest_other = one[start:], other[start:]
    if len(rest) == len(rest_other):
        return rest[1:] == rest_other[1:] or (rest[:2] == rest_other[1::-1] and rest[2:] == rest_other[2:])
    return rest[1:] == rest_other if len(rest) > len(rest_other) else rest == rest_other[1:]


def _is_slip(one: str, other: str) -> bool:
    """Near each other, and not as people name things: `db1` and `db2`, `get_issue` and `get_issues`."""
    counted = one.rstrip("0123456789") == other.rstrip("0123456789") or f"{one}s" == other or f"{other}s" == one
    return _near(one, other) and not counted
