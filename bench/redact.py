"""Redaction: how fast, beside Python's own `re` doing the same patterns in the same run, and how often wrongly.

python -m bench.redact [FILE ...]     more files are counted for wrong redactions, too

Every secret that was put into a text must be gone from it, and the rest of the text must still be there.
"""

from __future__ import annotations

import random
import re
import statistics
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from bench.checks import require, require_equal
from bench.command_line import make_parser, run_main
from interpose.reading.secrets import Redactor
from interpose.reading.secrets.kinds import SHAPED
from interpose.reading.secrets.scanner import scanner

MEGABYTE = 1_000_000
ROUNDS = 15
SMOKE_SIZE, SMOKE_FILES = 50_000, 40
WRONGLY_AT_MOST = 1.0
"""Redactions a megabyte of ordinary text. The standard library has 0.13."""
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


def with_secrets(data: bytes, count: int) -> tuple[bytes, list[str]]:
    """The same text with secrets of many kinds among its lines, and the secrets."""
    dice = random.Random(1)

    def text(length: int, alphabet: str = _LETTERS) -> str:
        return "".join(dice.choices(alphabet, k=length))

    makers: tuple[Callable[[], tuple[str, str, str]], ...] = (
        lambda: ("", "gh" + "p_" + text(36), ""),
        lambda: ("", "AK" + "IA" + text(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), ""),
        lambda: ("", "glp" + "at-" + text(20), ""),
        lambda: ('API_TOKEN = "', text(32), '"'),
        lambda: ("https://bob:", text(12), "@db.corp.internal/x"),
        lambda: ("Authorization: Bearer ", text(40), ""),
    )
    lines, secrets = data.split(b"\n"), []
    for number in range(count):
        place = (number * len(lines)) // count + 7
        before, secret, after = makers[number % len(makers)]()
        lines[place % len(lines)] += f" {before}{secret}{after}".encode()
        secrets.append(secret)
    return b"\n".join(lines), secrets


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


def speed(size: int, rounds: int) -> None:
    """The table of times."""
    clean = sample(size)
    require_equal("bytes of ordinary text", len(clean), size)
    texts = {"clean": (clean, [])} | {f"{count} secrets": with_secrets(clean, count) for count in (30, 1000)}
    start = time.perf_counter()
    scanner()
    print(f"making the scanner: {(time.perf_counter() - start) * 1000:.0f} ms, once in a process")
    redactor = Redactor()
    start = time.perf_counter()
    redactor.redact(clean.decode("utf-8", "replace"))
    print(f"first megabyte: {(time.perf_counter() - start) * 1000:.0f} ms\n")
    patterns = [re.compile(rb"\b" + kind.pattern.encode()) for kind in SHAPED]
    head, beside = f"{size / MEGABYTE:g} MB", f"re, {len(patterns)} of the patterns"
    print(f"{head:14} {'found':>6} {'interpose':>12} {beside:>26}")
    for name, (data, secrets) in texts.items():
        text = data.decode("utf-8", "replace")
        found = require_redacted(redactor, text, secrets)
        ours = median(lambda text=text: redactor.redact(text), rounds)  # type: ignore[misc]
        theirs = median(lambda data=data: by_re(patterns, data), rounds=1)  # type: ignore[misc]
        print(f"{name:14} {found:6} {ours:9.1f} ms {theirs:23.0f} ms")
    small = "ok: 12 passed in 0.31s\n"
    require_equal("a result without secrets", redactor.redact(small).text, small)
    print(f"\na result of {len(small)} bytes: {median(lambda: redactor.redact(small), 200) * 1000:.1f} µs")


def require_redacted(redactor: Redactor, text: str, secrets: list[str]) -> int:
    """How much was found in a text, in which these secrets must be found and as little else as in any."""
    redacted = redactor.redact(text)
    left = [secret for secret in secrets if secret in redacted.text]
    require(not left, f"{len(left)} of {len(secrets)} secrets were not redacted, {left[:3]} among them")
    found = len(redacted.found)
    most = len(secrets) + max(3, WRONGLY_AT_MOST * len(text) / MEGABYTE)
    require(len(secrets) <= found <= most, f"{found} redactions in a text with {len(secrets)} secrets")
    return found


def wrongly(name: str, paths: Iterable[Path], most: float | None = None) -> None:
    """How often ordinary text is touched, and how often at most it may be in a megabyte."""
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
    require(size > 0, f"{name}: there is no text")
    require(most is None or touched / max(megabytes, 1) <= most, f"{name}: more than {most} redactions a megabyte")


def main() -> None:
    """Print it all."""
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    if options.smoke:
        speed(SMOKE_SIZE, 1)
        wrongly("standard library, a part", islice(library(), SMOKE_FILES), WRONGLY_AT_MOST)
        wrongly("this project, a part", islice(project(), SMOKE_FILES))
        return
    speed(MEGABYTE, ROUNDS)
    wrongly("standard library", library(), WRONGLY_AT_MOST)
    wrongly("this project", project())
    if options.files:
        wrongly("given files", options.files)


if __name__ == "__main__":
    run_main(main)
