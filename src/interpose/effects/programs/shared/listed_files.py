"""Files that a command reads because their names are listed: on its input, or in a file that it is given."""

from __future__ import annotations

from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.late_patterns import late
from interpose.effects.programs.files.deletion import TREE
from interpose.effects.streams import joined

_MOST_NAMES = 200
_FROM = late(r"--[a-z0-9-]*from(?:[0-9]|-stdin|-file|-raw|-verbatim)?(?:=(?:-|/dev/stdin))?|-T-?|-@|@-|--names-stdin")
"""Options by which programs of all kinds take the names of files from their input: `tar -T -`, `--files-from=-`."""
_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0"})


def read_listed(names: Stream, low: Lowering) -> Stream:
    """State that the files of these names are read. A directory that a search found stands for all below it."""
    if names.text is None:
        return names
    lines = names.text.replace("\0", "\n").split("\n")[:_MOST_NAMES]
    whole = TREE in names.taints
    return joined(low.read(Word(name, taints=names.taints), recursive=whole) for name in lines if name)


def state_listed(inv: Invocation, low: Lowering) -> None:
    """State what a program of any kind reads by names that a search before it in the pipe has found."""
    if inv.stdin is None or "output" not in inv.stdin.taints or inv.stdin.text is None:
        return
    for word, after in zip(inv.args, [*(each.text for each in inv.args[1:]), "-"], strict=False):
        if _FROM.fullmatch(word.text) and ("=" in word.text or after in _INPUT or after[:1] == "-" or "@" in word.text):
            read_listed(inv.stdin, low)
            return
