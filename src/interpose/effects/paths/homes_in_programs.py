"""Programs that read a whole home, in which our own keys lie: how languages name it, walk it and read what is there."""

from __future__ import annotations

from itertools import islice

from interpose.effects.late_patterns import late

_HOME = late(
    r"(?:os\.path\.expanduser\(\s{0,4}['\"]~/?|(?:pathlib\.)?Path\.home\(\)|os\.environ\[['\"]HOME['\"]\]"
    r"|os\.getenv\(['\"]HOME['\"]\)|(?:os\.)?homedir\(\)|process\.env\.HOME"
    r"|\$?ENV[\{\[]['\"]?HOME['\"]?[\}\]]|Dir\.home)"
    r"(?:['\"]?\s{0,4}[+/,.]?\s{0,4}['\"]?/?(?:\.config|\.local(?:/state|/share)?))?/?['\"\])]{0,4}(?=\s{0,4}[,).\n]|$)"
)
"""A home, or a directory of it in which ours lie, as an argument of its own."""
_WALK = late(r"\b(?:walk|scandir|fwalk|walkSync|globSync|readdirSync|find)\w{0,20}\s{0,4}[({]")
_WALKED = late(r"\.(?:rglob|walk)\(")
_READS = late(r"\b(?:open|read\w*|slurp|copy\w*|upload|send\w*|post)\b")
_BEFORE = 200
_MOST = 1_000


def reads_whole_home(text: str) -> bool:
    """Whether a program goes through all files of a home and reads what it finds."""
    if _READS.search(text) is None:
        return False
    found = list(islice(_HOME.finditer(text), _MOST + 1))
    # INVARIANT: many homes before one hide nothing.
    return len(found) > _MOST or any(
        _WALKED.match(text, each.end()) is not None
        or _WALK.search(text[max(0, each.start() - _BEFORE) : each.start()].rpartition("\n")[2]) is not None
        for each in found
    )
