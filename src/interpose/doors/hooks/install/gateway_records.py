"""Which agents were pointed at the gateway, and what their files had before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from interpose.core.config.places import Places
from interpose.doors.hooks.install.careful_files import write
from interpose.effects.agents.agent import McpScope


class GatewayInstalled(Struct, frozen=True, kw_only=True):
    """One agent's file. It may hold secrets, as the file does, and is read by its owner alone."""

    host: str
    scope: McpScope
    path: str
    root: str
    keys: tuple[str, ...]
    """Where in the file the servers are."""
    at_ns: int
    entry: str
    """The name of our server in it."""
    before: str | None
    """The whole text, or None if there was no file."""
    after_sha256: str
    section_before: str | None
    """The text of the part that holds servers, or None if there was none."""
    section_after: str
    moved: dict[str, Any] = {}
    """The servers that were taken out."""
    directories: tuple[str, ...] = ()
    """Directories that were not there before, the highest first."""


class GatewayRecords:
    """The records of a user: a file for each agent's file."""

    def __init__(self, places: Places) -> None:
        self._directory = places.state / "installs" / "gateway"

    def all(self) -> list[GatewayInstalled]:
        """Everything that is installed, by host and place. A record that can't be read is left out."""
        found = [record for file in sorted(self._directory.glob("*.json")) if (record := _read(file)) is not None]
        return sorted(found, key=lambda record: (record.host, record.path))

    def damaged(self) -> list[Path]:
        """Records that can't be read."""
        return [file for file in sorted(self._directory.glob("*.json")) if _read(file) is None]

    def get(self, host: str, path: Path, keys: Iterable[str]) -> GatewayInstalled | None:
        """The record of one place."""
        return _read(self._file(host, str(path), keys))

    def keep(self, record: GatewayInstalled) -> None:
        """Write a record down."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        write(self._file(record.host, record.path, record.keys), msgspec.json.encode(record) + b"\n", 0o600)

    def forget(self, record: GatewayInstalled) -> None:
        """Take a record away."""
        self._file(record.host, record.path, record.keys).unlink(missing_ok=True)

    def _file(self, host: str, path: str, keys: Iterable[str]) -> Path:
        mark = hashlib.sha256("\0".join((path, *keys)).encode(errors="surrogateescape")).hexdigest()[:16]
        return self._directory / f"{host}-{mark}.json"


def _read(file: Path) -> GatewayInstalled | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=GatewayInstalled)
    except (OSError, msgspec.MsgspecError):
        return None


def sha256(text: str) -> str:
    """What a text is told by."""
    return hashlib.sha256(text.encode()).hexdigest()
