"""What was installed where: without it, nothing could be taken out exactly."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from interpose.core.config.places import Places
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.careful_files import write
from interpose.doors.hooks.install.hooks_file import Made
from interpose.doors.hooks.install.places import InstallTarget, Scope, facts_for, file_for, system_settings


class Installed(Struct, frozen=True, kw_only=True):
    """One host's hooks in one place. `path` has no symbolic links."""

    host: str
    scope: Scope
    path: str
    at_ns: int
    fail_open: bool = False
    created: bool = False
    """Whether the file was not there before."""
    made: Made = Made()
    files: tuple[str, ...] = ()
    """Files that are ours as a whole."""
    directories: tuple[str, ...] = ()
    """Directories that were not there before, the highest first."""


class Records:
    """The records of a user: a file for each place."""

    def __init__(self, places: Places) -> None:
        self._directory = places.state / "installs"

    def all(self) -> list[Installed]:
        """Everything that is installed, by host and place. A record that can't be read is left out."""
        found = [record for file in sorted(self._directory.glob("*.json")) if (record := _read(file))]
        return sorted(found, key=lambda record: (record.host, record.path))

    def damaged(self) -> list[Path]:
        """Records that can't be read: what they say is installed nobody knows."""
        return [file for file in sorted(self._directory.glob("*.json")) if _read(file) is None]

    def get(self, host: str, path: Path) -> Installed | None:
        """The record of one place."""
        return _read(self._file(host, path))

    def keep(self, record: Installed) -> None:
        """Write a record down."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = msgspec.json.format(msgspec.json.encode(record), indent=2)
        write(self._file(record.host, Path(record.path)), text + b"\n", 0o600)

    def forget(self, host: str, path: Path) -> None:
        """Take a record away."""
        self._file(host, path).unlink(missing_ok=True)

    def _file(self, host: str, path: Path) -> Path:
        return (
            self._directory
            / f"{host}-{hashlib.sha256(str(path).encode(errors='surrogateescape')).hexdigest()[:16]}.json"
        )


def recorded_target(record: Installed, home: Path) -> InstallTarget:
    """The place that a record speaks of. Its host must be one that we know."""
    facts = facts_for(HOSTS[record.host].facts, record.scope)
    return InstallTarget(facts, record.scope, Path(record.path), _root(record, home))


def _root(record: Installed, home: Path) -> Path:
    file = file_for(HOSTS[record.host].facts, record.scope)
    if record.scope == "managed":
        return system_settings()
    if record.scope == "project" and file is not None:
        return Path(record.path.removesuffix("/" + file.path))
    return home if Path(record.path).is_relative_to(home) else Path(record.path).parent


def _read(file: Path) -> Installed | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Installed)
    except (OSError, msgspec.MsgspecError):
        return None
