"""Programs that never stop and take all of something: processes, memory, the disk. Judged by their text.

Which loops have no end is the same in every language, and what a program does in one without ever pausing is a small
set of words. Long programs that wait for something have one of the words that pause.
"""

from __future__ import annotations

from interpose.effects.invocation import Lowering
from interpose.effects.late_patterns import late

_LONGEST = 4_000
_LOOP = late(
    r"\bwhile *\(? *(?:1|true|True|!0|:)\b|\bfor *\( *;[^;\n]{0,40}; *\)|\bloop *(?:do\b|\{)|\biter\( *int *, *1 *\)"
    r"|\bitertools\.(?:count|cycle|repeat)\b|\bsetInterval *\(|\bfork +while\b|\bdo +\{.{0,80}\} *while *\(? *1\b"
    r"|\buntil +false\b|\brepeat\b.{0,80}\buntil +false\b"
)
_SPAWN = late(
    r"\bfork\b|\bPopen\b|\bspawn\w*|\bpcntl_fork\b|\bchild_process\b|\bThread\b|\bProcess\b"
    r"|\b(?:system|exec|execute|popen|shell_exec)\b.{0,80}&"
)
_GROW = late(r"\.append\b|\.push\b|\barray_push\b|\+=|\*=|\.concat\b|<<|\bx *1e\d+|\bstr_repeat\b")
_WRITE = late(r"\.write\w*\b|\bfwrite\b|\bfputs\b|\bfile_put_contents\b|\bappendFile\w*|\bwriteFile\w*|\bsyswrite\b")
_PRINT = late(r"\b(?:print|puts|say|echo|printf|console\.log|io\.write)\b")
_PAUSE = late(
    r"\b(?:sleep|usleep|wait|waitpid|break|last|join|exit|return|raise|throw|die|await|yield|accept|recv\w*|read\w*"
    r"|getline|input|select|poll|next|getch|get|receive|timeout|gets|STDIN|stdin|quit)\b"
)
_HUGE = late(r"\* *10 *\*\* *(?:1\d|[2-9]\d)|\bx *1e(?:1\d|[2-9]\d)|\* *1<< *[3-9]\d|\b(?:allocUnsafe|alloc)\(1e1\d")

_WHAT = {
    "fork-bomb": "A loop without an end starts processes",
    "memory-fill": "A loop without an end takes memory until none is left",
    "disk-fill": "A loop without an end writes until the disk is full",
}


def state_endless(text: str, low: Lowering, via: str) -> bool:
    """State what a program takes without an end. Whether it prints without one."""
    if len(text) > _LONGEST:
        return False
    rule = "memory-fill" if _HUGE.search(text) else ""
    loops = _LOOP.search(text) is not None and _PAUSE.search(text) is None
    if loops and not rule:
        rule = (
            "fork-bomb" if _SPAWN.search(text)
            else "disk-fill" if _WRITE.search(text)
            else "memory-fill" if _GROW.search(text) and not _PRINT.search(text)
            else ""
        )  # fmt: skip
    if rule:
        low.emit("system", via, certainty="possible", rule=rule, wide=rule == "fork-bomb", reason=_WHAT[rule])
    return loops and _PRINT.search(text) is not None
