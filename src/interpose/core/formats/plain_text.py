"""Text that the agent chose, shown to people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0))))
)
"""Letters that count as printable and that nobody sees: fillers, an empty pattern of dots, and what makes a variant of
the letter before (but for the two that emoji have)."""

MOST_BLANK = 2
_BLANKS = " \t\r\v\f\xa0" + "".join(sorted(BLANK))


def plain(text: str) -> str:
    """Text that the agent chose, shown so that it can't move the cursor or repaint the question. Lines stay lines."""
    return text if _is_shown(text) else "\n".join(one_line(line) for line in text.split("\n"))


def squeezed(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Lines for a screen, each with how many of the text's lines it shows. Two blank lines are enough: more of them
    would push what stands above off the screen, so their number is shown instead."""
    blank = 0
    for place, line in enumerate(lines):
        if line.strip(_BLANKS):
            yield line, 1
            continue
        blank += 1
        if place + 1 == len(lines) or lines[place + 1].strip(_BLANKS):
            if blank > MOST_BLANK:
                yield f"({blank} blank lines)", blank
            else:
                yield from [("", 1)] * blank
            blank = 0


def without_blank_runs(text: str) -> str:
    """The same text with its runs of blank lines counted instead of shown."""
    return "\n".join(line for line, _ in squeezed(text.split("\n")))


def one_line(text: str) -> str:
    """The same on one line: a line break is shown as `\\n`, and what can't be shown as the escape that Python has."""
    if _is_shown(text):
        return text
    return "".join(char if _is_shown(char) else char.encode("unicode_escape").decode("ascii") for char in text)


def _is_shown(text: str) -> bool:
    return text.isprintable() and (text.isascii() or BLANK.isdisjoint(text))
