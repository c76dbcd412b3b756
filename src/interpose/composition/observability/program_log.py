"""The program's own log: one line for each thing worth knowing, for people or for programs.

What stands in a line may come from a client: secrets are hidden, and nothing in it can start a new line or steer a
terminal. What was decided is not here but in the ledger.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from interpose.core.errors import ServerError
from interpose.core.formats.plain_text import one_line
from interpose.reading import hidden

if TYPE_CHECKING:
    from interpose.core.config.settings import LoggingSettings

LOGGERS = ("interpose", "opentelemetry")
LONGEST = 8192
"""Characters of one text in a line."""

_KNOWN = frozenset(vars(logging.LogRecord("", 0, "", 0, "", None, None))) | {"message", "asctime", "taskName"}


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """A record as plain data: time, level, logger, message, then what was given as `extra`, then what went wrong."""
    fields: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": _shown(record.getMessage()),
    }
    for name, value in vars(record).items():
        if name not in _KNOWN:
            fields[name] = value if type(value) in (int, float, bool) else _shown(str(value))
    if record.exc_info:
        fields["trace"] = _shown(logging.Formatter().formatException(record.exc_info))
    return fields


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return msgspec.json.encode(fields_of(record)).decode()


class TextLines(logging.Formatter):
    """`2026-01-31T08:00:00.000Z info  refused  status=403 code=forbidden_host`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields = fields_of(record)
        head = f"{fields.pop('time')} {fields.pop('level'):<7} {fields.pop('message')}"
        fields.pop("logger")
        rest = "".join(f" {name}={_quoted(value)}" for name, value in fields.items())
        return f"{head} {rest}" if rest else head


def _quoted(value: Any) -> str:
    text = str(value)
    return text if text and not set(text) & set(' "=') else f'"{text.replace(chr(34), chr(92) + chr(34))}"'


def _shown(text: str) -> str:
    """Text of one line, without secrets. One that is cut in two is searched for as a whole."""
    return one_line(hidden(text[: 2 * LONGEST]))[:LONGEST]


@contextmanager
def logging_to(settings: LoggingSettings, stream: TextIO | None = None) -> Iterator[None]:
    """Log as configured while this holds: into the file, or to `stream` (default: the standard error)."""
    handler = _handler(settings, stream)
    handler.setFormatter(JsonLines() if settings.format == "json" else TextLines())
    before = [(logger, logger.level, logger.propagate) for logger in map(logging.getLogger, LOGGERS)]
    for logger, _, _ in before:
        logger.addHandler(handler)
        logger.setLevel(settings.level.upper())
        logger.propagate = False
    try:
        yield
    finally:
        for logger, level, propagate in before:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate
        handler.close()


def _handler(settings: LoggingSettings, stream: TextIO | None) -> logging.Handler:
    if not settings.path:
        return logging.StreamHandler(stream or sys.stderr)
    path = Path(settings.path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
        return WatchedFileHandler(path, encoding="utf-8")
    except OSError as error:
        raise ServerError(f"logging.path: {path} can't be written: {error.strerror}") from None
