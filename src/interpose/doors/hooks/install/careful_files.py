"""Other programs' files, read and written with care: never through a link that leads elsewhere, never half."""

from __future__ import annotations

import os
import re
import secrets
import stat
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from interpose.core.errors import SetupError, text_of

MOST_BYTES = 4 << 20


class FoundFile(Struct, frozen=True):
    """What is at a place. `path` has no symbolic links any more."""

    path: Path
    content: bytes | None
    mode: int


def found_at(path: Path, root: Path, mode: int = 0o600) -> FoundFile:
    """What is there, if it is safe to write there; `mode` is for a file that is yet to be made. Raises SetupError."""
    try:
        real = path.resolve()
        if not real.is_relative_to(root.resolve()):
            raise SetupError(
                f"{path} leads to {real}, which is outside {root}: written there it could be anybody's file"
            )
        _refuse_open_directories(real.parent, root.resolve())
        return _read(real, mode)
    except (OSError, RuntimeError) as error:  # a circle of links is a RuntimeError in older versions of Python
        raise SetupError(f"{path} can't be read: {text_of(error)}") from error


def _read(path: Path, mode: int) -> FoundFile:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return FoundFile(path, None, mode)
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise SetupError(f"{path} is no regular file")
        if about.st_size > MOST_BYTES:
            raise SetupError(f"{path} has {about.st_size} bytes; no settings of that size are edited")
        return FoundFile(path, file.read(MOST_BYTES + 1), stat.S_IMODE(about.st_mode))


def _refuse_open_directories(directory: Path, root: Path) -> None:
    for place in (directory, *directory.parents):
        if place.exists():
            mode = place.stat().st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                raise SetupError(f"everybody can write to {place}, and so change what is installed there (chmod o-w)")
        if place == root:
            return


def make_directories(directory: Path, mode: int) -> None:
    """Make a directory and those above it that are missing."""
    for place in [place for place in (directory, *directory.parents) if not place.exists()][::-1]:
        place.mkdir(mode=mode)


def write(path: Path, content: bytes, mode: int) -> None:
    """Put a file in place at once and for good, with its mode and owner. `path` must have no symbolic links."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    name = f".{path.name}.{secrets.token_hex(6)}"
    try:
        handle = os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
        )  # fmt: skip
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                _take_over_owner(handle, path)
                os.fchmod(handle, mode)
                os.fsync(handle)
            os.rename(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(name, dir_fd=folder)
            raise
        os.fsync(folder)
    finally:
        os.close(folder)


def drafts_of(path: Path) -> list[Path]:
    """What `write` left beside a file when the machine went down in the middle of it."""
    try:
        beside = list(path.parent.iterdir())
    except OSError:
        return []
    draft = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{12}}")
    return [each for each in beside if draft.fullmatch(each.name) and each.is_file() and not each.is_symlink()]


def _take_over_owner(handle: int, path: Path) -> None:
    try:
        before = path.lstat()
    except FileNotFoundError:
        return
    now = os.fstat(handle)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        os.fchown(handle, before.st_uid, before.st_gid)


def back_up(directory: Path, path: Path, content: bytes) -> Path:
    """Keep what a file had, for its owner only. Says where."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    kept = directory / f"{now}-{path.parent.name.lstrip('.')}-{path.name}"
    handle = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)
    return kept
