"""`interpose audit redact`: a filter that hides secrets, for text or for rows of JSON."""

from __future__ import annotations

import argparse
import os
import select
import sys
from collections.abc import Callable

import msgspec

from interpose.doors.cli import EXIT_USAGE
from interpose.doors.cli.auditing.jsonl_rows import BadRow, lines, parsed
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.reading.secrets import Redactor
from interpose.reading.secrets.catalogue import catalogue
from interpose.reading.secrets.stream import StreamRedactor

EXIT_BAD_ROWS = 65
_CHUNK = 1 << 16
_PATIENCE = 0.02
"""Seconds to wait for more input before finished lines go out."""

_EPILOG = """exit codes: 0 done, 64 wrong usage, 65 some rows could not be read

Text goes from stdin to stdout; every secret becomes [redacted:<kind>:<digest>]. Equal secrets have equal digests in one
run, or in all runs with one --key-file.

--jsonl reads one {"id", "text"} a line and writes one {"id", "text", "found": [kinds]} a line; a row that cannot be
read is answered with {"id", "error"}."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `redact` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("--jsonl", action="store_true", help="read and write rows of JSON")
    parser.add_argument("--list", action="store_true", help="print the kinds of secrets that are known")
    parser.add_argument("--key-file", metavar="FILE", help="the key of the digests, so that they agree between runs")


def run(args: argparse.Namespace) -> int:
    """Run `interpose audit redact`."""
    try:
        if args.list:
            print("\n".join(catalogue()))
            return 0
        redactor = Redactor(_key(args.key_file))
        if args.jsonl:
            return redact_rows(_read, _write, redactor)
        redact_text(_read, _write, redactor, _is_waiting)
        return 0
    except BrokenPipeError:
        raise  # not an error of ours: see cli/__init__.py
    except (OSError, ValueError) as error:
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        print(f"interpose audit redact: {visible(said)}", file=sys.stderr)
        return EXIT_USAGE


def _key(path: str | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:  # noqa: PTH123 - the error message names the path as it was given
        return file.read().strip()


def _read(size: int) -> bytes:
    return os.read(sys.stdin.fileno(), size)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sys.stdout.fileno(), view) :]


def _is_waiting() -> bool:
    """Whether more input is there, or comes very soon."""
    return bool(select.select([sys.stdin.fileno()], [], [], _PATIENCE)[0])


def redact_text(
    read: Callable[[int], bytes], write: Callable[[bytes], None], redactor: Redactor, is_waiting: Callable[[], bool]
) -> None:
    """Pass a text through. Nothing is held back longer than it takes to know that it is whole."""
    stream = StreamRedactor(redactor)
    while chunk := read(_CHUNK):
        write(stream.feed(chunk, hurry=not is_waiting()))
    write(stream.close())


def redact_rows(read: Callable[[int], bytes], write: Callable[[bytes], None], redactor: Redactor) -> int:
    """Answer every row. Answers go out before each read that could block."""
    out = bytearray()
    encode = msgspec.json.Encoder().encode
    status = 0

    def flush() -> None:
        write(bytes(out))
        out.clear()

    for line in lines(read, flush):
        if isinstance(line, bytes) and (not line or line.isspace()):
            continue
        try:
            answer = _answer(line, redactor)
        except BadRow as refused:
            status = EXIT_BAD_ROWS
            answer = {"id": refused.id, "error": str(refused)}
        out += encode(answer)
        out += b"\n"
        if len(out) > _CHUNK:
            flush()
    flush()
    return status


def _answer(line: bytes | BadRow, redactor: Redactor) -> dict[str, object]:
    if isinstance(line, BadRow):
        raise line
    row = parsed(line)
    text = row.get("text")
    if not isinstance(text, str):
        raise BadRow("'text' must be text" if "text" in row else "'text' is missing", row["id"])
    redaction = redactor.redact(text)
    return {"id": row["id"], "text": redaction.text, "found": [found.kind for found in redaction.found]}
