"""Doing what was planned, or nothing: who changed a file in the meantime is not overwritten."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interpose.core.config.places import Places
from interpose.core.errors import SetupError, text_of
from interpose.doors.hooks.install.careful_files import back_up, found_at, make_directories, write
from interpose.doors.hooks.install.plan import FileChange, Plan
from interpose.doors.hooks.install.records import Records


def apply(plan: Plan, places: Places) -> list[Path]:
    """Carry a plan out. Says where the copies of what was changed are. Raises SetupError."""
    try:
        with alone(places.state):
            for change in plan.changes:
                _refuse_if_changed(change)
            backups = [
                back_up(places.state / "backups", change.path, change.before)
                for change in plan.changed
                if change.before is not None and not change.path.is_relative_to(places.state)
            ]
            _carry_out(plan, Records(places))
    except OSError as error:
        raise SetupError(f"it could not be written: {text_of(error)}") from error
    return backups


def _carry_out(plan: Plan, records: Records) -> None:
    if plan.record is not None:
        records.keep(plan.record)  # first, so that whatever comes of the rest can be taken out again
    for heir in plan.heirs:
        records.keep(heir)
    for change in plan.changed:
        if change.after is None:
            change.path.unlink(missing_ok=True)
        else:
            make_directories(change.path.parent, 0o700 if plan.target.scope == "user" else 0o755)
            write(change.path, change.after, change.mode)
    if plan.record is None and plan.was is not None:
        for directory in reversed(plan.was.directories):
            try:
                Path(directory).rmdir()
            except OSError:
                pass  # others have put something there, or it is gone
        records.forget(plan.was.host, Path(plan.was.path))


def _refuse_if_changed(change: FileChange) -> None:
    now = found_at(change.path, change.path.parent)
    if now.path != change.path or now.content != change.before:
        raise SetupError(f"{change.path} was changed in the meantime; try again")


@contextmanager
def alone(state: Path) -> Iterator[None]:
    """Nobody else installs or removes anything meanwhile."""
    directory = state / "installs"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
