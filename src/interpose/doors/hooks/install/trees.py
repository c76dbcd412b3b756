"""Taking files and directories of ours away. Links go; what they lead to stays."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from interpose.core.errors import text_of


def remove_tree(path: Path) -> dict[str, str]:
    """Remove a file, a link or a whole directory. Says what could not be removed, and why."""
    failed: dict[str, str] = {}

    def note(_act: Any, name: str, error: BaseException) -> None:
        if not isinstance(error, FileNotFoundError):  # gone is what was wanted
            failed.setdefault(str(name), text_of(error))

    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
        elif sys.version_info >= (3, 12):
            shutil.rmtree(path, onexc=note)
        else:
            shutil.rmtree(path, onerror=lambda act, name, about: note(act, name, about[1]))
    except OSError as error:
        note(None, str(path), error)
    return failed


def remove_empty(directory: Path, home: Path) -> None:
    """Remove one of our directories if nothing is in it, and above it the usual ones that hold nothing else."""
    above = (home / ".config", home / ".local" / "state", home / ".local")
    for place in (directory, *(parent for parent in directory.parents if parent in above)):
        try:
            if place.is_symlink():
                if place != directory:
                    return
                place.unlink()
            else:
                place.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return  # others have something there
