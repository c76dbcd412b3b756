"""Names that look like other names: letters of other scripts, one letter more or less, other separators or case."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

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
_LONGEST = 100
_MOST_ALIKE = 5
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
        return ", ".join(dict.fromkeys(f"{char} is {unicodedata.name(char, 'unnamed')}" for char in strange[:3]))
    return ""


def _script(char: str) -> str:
    return unicodedata.name(char, "?").split(" ")[0] if not char.isascii() else "LATIN"


class NameIndex:
    """Names among which look-alikes are found, however many there are."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._by_skeleton: dict[str, list[str]] = {}
        self._by_rest: dict[str, list[str]] = {}
        for name in names:
            self._by_skeleton.setdefault(skeleton(name), []).append(name)
            for rest in _rests(_bare(name)):
                self._by_rest.setdefault(rest, []).append(name)

    def same_for_the_eye(self, name: str) -> Iterator[str]:
        """Those that differ from a name only in what nobody sees: case, separators, letters that look alike."""
        return (other for other in self._by_skeleton.get(skeleton(name), ()) if other != name)

    def alike(self, name: str) -> Iterator[str]:
        """Those that a name looks like, without being the same."""
        found = dict.fromkeys(self.same_for_the_eye(name))
        bare = _bare(name)
        for rest in _rests(bare):
            found |= {other: None for other in self._by_rest.get(rest, ()) if _is_slip(bare, _bare(other))}
        return (other for other in list(found)[:_MOST_ALIKE] if other != name)


def _rests(bare: str) -> set[str]:
    """What is left without any one letter: names that differ by one have one of these in common."""
    if not _SHORTEST - 1 <= len(bare) <= _LONGEST:
        return set()
    return {bare, *(bare[:at] + bare[at + 1 :] for at in range(len(bare)))}


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
