"""Draws refusal.svg: what `interpose check` prints at a terminal, with its colours, as it really is.

python docs/images/refusal.py [FILE]

Run it again when the output changes; a test compares the two.
"""

from __future__ import annotations

import os
import pty
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

COMMAND = "echo cm0gLXJmIC8= | base64 -d | sh"
"""The code deletes everything below the root. It is only ever an argument of `check`, which runs nothing."""
LEFT, TOP, LINE, WIDE = 24, 58, 22, 8.43
"""Of the text, in pixels: where it begins, how high a line is, how wide a letter."""
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#f2cc60", "36": "#79c0ff", "2": "#9aa4b2", "0": "#e6edf3"}
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"
_STYLED = re.compile(r"\x1b\[([\d;]+)m(.*?)\x1b\[0m")


def printed(command: str) -> str:
    """What a person at a terminal sees, colours included."""
    with tempfile.TemporaryDirectory() as home:
        child, screen = pty.fork()
        if child == 0:
            os.chdir(home)
            place = {"HOME": home, "PATH": os.defpath, "TERM": "xterm", "LANG": "C.UTF-8", "COLUMNS": "100"}
            check = [sys.executable, "-I", "-m", "interpose", "check", command]
            os.execve(sys.executable, check, place)  # noqa: S606 - our own program; a shell is what we don't want
        seen = b""
        try:
            while more := os.read(screen, 65536):
                seen += more
        except OSError:
            pass  # how a terminal says that nobody writes any more
        os.close(screen)
        os.waitpid(child, 0)
    return seen.decode().replace("\r\n", "\n").strip("\n")


def drawn(command: str, output: str) -> str:
    """The picture of a terminal. It brings its own ground, so that it can be read on a light page and on a dark one."""
    lines = [f"$ interpose check '{command}'", *output.split("\n")]
    plain = [_STYLED.sub(r"\2", line) for line in lines]
    width, height = round(2 * LEFT + WIDE * max(map(len, plain))), TOP + LINE * len(lines)
    title = escape("\n".join(plain))
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}" font-size="14">',
        f"<title>{title}</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10" fill="#0d1117" stroke="#6e7681"/>',
        *(f'<circle cx="{LEFT + 18 * at}" cy="22" r="5.5" fill="#484f58"/>' for at in range(3)),
        *(_text(line, TOP + LINE * at) for at, line in enumerate(lines) if line.strip()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _text(line: str, y: int) -> str:
    """One line. Letters stand where a terminal has them, whatever font there is."""
    spans = ""
    for at, run, colour, weight in _runs(line):
        text = run.strip()
        x = LEFT + WIDE * (at + len(run) - len(run.lstrip()))
        shown = escape(text).replace(" ", "\N{NO-BREAK SPACE}")
        spans += f'<tspan x="{x:.2f}" textLength="{WIDE * len(text):.2f}" fill="{colour}"{weight}>{shown}</tspan>'
    return f'<text y="{y}">{spans}</text>'


def _runs(line: str) -> Iterator[tuple[int, str, str, str]]:
    """Texts of one colour, with the column where each begins."""
    at = done = 0
    for styled in _STYLED.finditer(line):
        before = line[done : styled.start()]
        if before.strip():
            yield at, before, COLOURS["0"], ""
        at += len(before)
        codes = styled[1].split(";")
        colour = next((COLOURS[code] for code in codes if code in COLOURS), COLOURS["0"])
        yield at, styled[2], colour, ' font-weight="bold"' if "1" in codes else ""
        at += len(styled[2])
        done = styled.end()
    if line[done:].strip():
        yield at, line[done:], COLOURS["0"], ""


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".svg")
    target.write_text(drawn(COMMAND, printed(COMMAND)), encoding="utf-8")
