"""`interpose --help`: every verb, by what people do with it. Printed at once, so nothing heavy is imported."""

from __future__ import annotations

from interpose.cli.terminal import bold, page_width, wrapped
from interpose.cli.verbs import GROUPS, HELPS

_HEAD = "The layer between AI agents and their tools: it allows, rewrites, asks about or refuses every call."
_TAIL = (
    ("interpose VERB --help", "everything about one verb"),
    ("interpose help", "the documentation, by topic"),
    ("interpose --version", "which version this is"),
    ("man interpose", "all of it on one page"),
)


def overview() -> str:
    """The page."""
    across = page_width()
    indent = max(map(len, HELPS)) + 4
    lines = ["usage: interpose VERB [options]", "", *wrapped(_HEAD, across), ""]
    for title, (example, verbs) in GROUPS.items():
        lines.append(f"{bold(f'{title:{indent + 9}}')} $ {example}")
        for verb, line in verbs.items():
            lines += wrapped(line, across, first=f"  {verb:{indent - 2}}", later=" " * indent)
        lines.append("")
    lines += [f"{words:{indent + 9}} {meaning}" for words, meaning in _TAIL]
    return "\n".join(lines)
