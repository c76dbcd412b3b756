"""What is left of Interpose: files by their names and by what is in them, and processes."""

from __future__ import annotations

import os
from pathlib import Path

TRANSCRIPTS = (
    ".claude/projects/", ".claude/history.jsonl", ".claude/debug/", ".claude/shell-snapshots/",
    ".local/share/applications/claude-code-",
)  # fmt: skip
"""Where the agent itself writes down what was said to it, refusals included, and where its own program is."""
_LARGEST = 8 << 20


def remains(root: Path) -> list[str]:
    """Everything below a directory that has our name, or has it inside."""
    found: list[str] = []
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(TRANSCRIPTS):
            continue
        if "interpose" in name.lower():
            found.append(name)
        elif path.is_symlink() and "interpose" in str(path.readlink()).lower():
            found.append(f"{name} (a link)")
        elif _says_so(path):
            found.append(f"{name} (by what is in it)")
    return found


def _says_so(path: Path) -> bool:
    readable = path.is_file() and not path.is_symlink() and path.stat().st_size < _LARGEST
    return readable and b"interpose" in path.read_bytes().lower()


def processes_of(home: Path) -> list[str]:
    """Processes that have this home: `process 4711 (interpose serve)`."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdecimal() or int(place.name) == os.getpid():
            continue
        try:
            if f"HOME={home}\0".encode() in (place / "environ").read_bytes():
                words = (place / "cmdline").read_bytes().split(b"\0")
                found.append(f"process {place.name} ({b' '.join(words).decode(errors='replace').strip()})")
        except OSError:
            continue
    return found
