"""`interpose` alone and `interpose --help`. Printed at once, so nothing heavy is imported."""

from __future__ import annotations

from interpose.doors.cli.shared.terminal import bold, page_width, wrapped
from interpose.doors.cli.verbs import FIRST, GROUPS, HELPS
from interpose.effects.ourselves.command_line import VERBS, below

_HEAD = "The layer between AI agents and their tools: it allows, rewrites, asks about or refuses every call."
_TAIL = (
    ("interpose VERB --help", "everything about one verb"),
    ("interpose help", "the documentation, by topic"),
    ("interpose --version", "which version this is"),
    ("man interpose", "all of it on one page"),
)


def overview() -> str:
    """Every verb, by what people do with it."""
    across = page_width()
    indent = max(map(len, HELPS)) + 4
    lines = ["usage: interpose VERB [options]", "", *wrapped(_HEAD, across), ""]
    for title, (example, verbs) in GROUPS.items():
        lines.append(f"{bold(f'{title:{indent + 9}}')} $ {example}")
        for verb in verbs:
            lines += wrapped(HELPS[verb], across, first=f"  {verb:{indent - 2}}", later=" " * indent)
            if rows := below(VERBS[verb]):
                names = f"below it: {', '.join(row.path[-1] for row in rows)}"
                lines += wrapped(names, across, first=" " * indent, later=" " * indent)
        lines.append("")
    lines += [f"{words:{indent + 9}} {meaning}" for words, meaning in _TAIL]
    return "\n".join(lines)


def beginning() -> str:
    """What a new user needs."""
    across = page_width()
    indent = max(map(len, FIRST)) + 4
    lines = ["usage: interpose VERB [options]", "", *wrapped(_HEAD, across), ""]
    for verb, line in FIRST.items():
        lines += wrapped(line, across, first=f"  {verb:{indent - 2}}", later=" " * indent)
    return "\n".join([*lines, "", "`interpose --help` shows every verb, `interpose help` the documentation."])
