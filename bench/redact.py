"""Redaction: how fast, beside Python's own `re` doing the same patterns in the same run, and how often wrongly.

python -m bench.redact [FILE ...]     more files are counted for wrong redactions, too
"""

from __future__ import annotations

import random
import re
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from interpose.secrets import Redactor
from interpose.secrets.kinds import SHAPED
from interpose.secrets.scanner import scanner

MEGABYTE = 1_000_000
ROUNDS = 15
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def library() -> Iterator[Path]:
    """The sources of the standard library, tests included."""
    root = Path(sysconfig.get_paths()["stdlib"])
    yield from (path for path in sorted(root.rglob("*.py")) if "site-packages" not in path.parts)


def project() -> Iterator[Path]:
    """This project's own text. Its cases of secrets are left out: they are meant to be found."""
    here = Path(__file__).parents[1]
    for room in ("src", "docs", "bench", "tests"):
        for path in sorted((here / room).rglob("*.*")):
            if "__pycache__" not in path.parts and "cases/secrets" not in path.as_posix():
                yield path


def sample(size: int) -> bytes:
    """Ordinary text: sources, one after the other."""
    data = bytearray()
    for path in library():
        data += path.read_bytes()
        if len(data) >= size:
            break
    return bytes(data[:size])


def with_secrets(data: bytes, count: int) -> bytes:
    """The same text with secrets of many kinds among its lines."""
    dice = random.Random(1)

    def text(length: int, alphabet: str = _LETTERS) -> str:
        return "".join(dice.choices(alphabet, k=length))

    makers: tuple[Callable[[], str], ...] = (
        lambda: "gh" + "p_" + text(36),
        lambda: "AK" + "IA" + text(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        lambda: "glp" + "at-" + text(20),
        lambda: f'API_TOKEN = "{text(32)}"',
        lambda: f"https://bob:{text(12)}@db.corp.internal/x",
        lambda: f"Authorization: Bearer {text(40)}",
    )
    lines = data.split(b"\n")
    for number in range(count):
        place = (number * len(lines)) // count + 7
        lines[place % len(lines)] += b" " + makers[number % len(makers)]().encode()
    return b"\n".join(lines)


def median(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Milliseconds of the middle run."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def by_re(patterns: list[re.Pattern[bytes]], data: bytes) -> int:
    """What a scanner made of Python's `re` does: every pattern over the whole text."""
    return sum(1 for pattern in patterns for _ in pattern.finditer(data))


def speed() -> None:
    """The table of times."""
    redactor = Redactor()
    clean = sample(MEGABYTE)
    texts = {"clean": clean, "30 secrets": with_secrets(clean, 30), "1000 secrets": with_secrets(clean, 1000)}
    start = time.perf_counter()
    scanner()
    print(f"making the scanner: {(time.perf_counter() - start) * 1000:.0f} ms, once in a process")
    start = time.perf_counter()
    redactor.redact(clean.decode("utf-8", "replace"))
    print(f"first megabyte: {(time.perf_counter() - start) * 1000:.0f} ms\n")
    patterns = [re.compile(rb"\b" + kind.pattern.encode()) for kind in SHAPED]
    print(f"{'1 MB':14} {'found':>6} {'interpose':>12} {'re, ' + str(len(patterns)) + ' of the patterns':>26}")
    for name, data in texts.items():
        text = data.decode("utf-8", "replace")
        found = len(redactor.redact(text).found)
        ours = median(lambda text=text: redactor.redact(text))  # type: ignore[misc]
        theirs = median(lambda data=data: by_re(patterns, data), rounds=1)  # type: ignore[misc]
        print(f"{name:14} {found:6} {ours:9.1f} ms {theirs:23.0f} ms")
    small = "ok: 12 passed in 0.31s\n"
    print(f"\na result of {len(small)} bytes: {median(lambda: redactor.redact(small), 200) * 1000:.1f} µs")


def wrongly(name: str, paths: Iterator[Path]) -> None:
    """How often ordinary text is touched."""
    size = touched = 0
    examples = []
    for path in paths:
        if path.is_file():
            data = path.read_bytes()
            size += len(data)
            for hit in scanner().find(data):
                touched += 1
                examples.append(f"  {hit.kind:24} {path.name}: {data[max(0, hit.start - 30) : hit.end][:80]!r}")
    megabytes = size / MEGABYTE
    print(f"\n{name}: {touched} redactions in {megabytes:.1f} MB, {touched / max(megabytes, 1):.2f} a megabyte")
    print("\n".join(examples[:40]))


def main() -> None:
    """Print it all."""
    speed()
    wrongly("standard library", library())
    wrongly("this project", project())
    if sys.argv[1:]:
        wrongly("given files", (Path(path) for path in sys.argv[1:]))


if __name__ == "__main__":
    main()
