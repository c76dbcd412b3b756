"""The files that are believed, and which of them others could have written or read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interpose.core.config.settings import Config
from interpose.core.formats.own_files import cannot_be_written, why_not_ours
from interpose.doors.hooks.install.remedies import HostCheck


def loose_files(config: Config) -> list[HostCheck]:
    """What is wrong with the owner or mode of files and directories, each with what to do about it."""
    found: list[HostCheck] = []
    for path, private in _believed(config):
        if why := _why(Path(path), private):
            what, _, command = why.partition("; run: ")
            found.append(HostCheck("files", "open", f"{path}: {what}", file=path, todo=f"run `{command}`"))
    return found


def _believed(config: Config) -> Iterator[tuple[str, bool]]:
    """Paths, and whether others must not read them either. Rule files are looked at when they are loaded."""
    ledger = config.ledger.directory
    yield from ((ledger, False), (f"{ledger}/key", True), (f"{ledger}/ledger.db", False))
    yield config.policy.directory, False
    for secret in (config.server.tokens_file, config.server.tls.key_file):
        if secret:
            yield secret, True
    for socket in (config.server.socket, config.hooks.socket):
        if socket:
            yield str(Path(socket).parent), True


def _why(path: Path, private: bool) -> str:
    try:
        found = path.stat()
    except OSError:
        return ""  # what is not there, others can't have written; who needs it says so
    return "" if cannot_be_written(path) else why_not_ours(path, found, private=private)
