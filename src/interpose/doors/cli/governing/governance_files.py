"""Which governance files hold here, for the verbs that read them."""

from __future__ import annotations

import os
from pathlib import Path

from interpose.core.config.load import load
from interpose.core.errors import GovernanceError
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.files.rulebook import Rulebook, RulebookLevel
from interpose.rules.policy.rule_places import ORGANISATION_GOVERNANCE, PROJECT_GOVERNANCE, project_files

_LARGEST = 4_000_000


def user_file() -> Path:
    """Where the user's governance file is looked for. Raises ConfigError."""
    return Path(load().config.governance.file)


def files_here(cwd: str) -> tuple[tuple[str, RulebookLevel], ...]:
    """The files that hold for an agent that works in `cwd`: all of them count, and the strictest answer does."""
    listed: list[tuple[str, RulebookLevel]] = [(ORGANISATION_GOVERNANCE, "organisation"), (str(user_file()), "user")]
    listed += [(file, "project") for file in project_files(cwd) if file.endswith(PROJECT_GOVERNANCE)]
    return tuple((file, level) for file, level in listed if os.path.lexists(file))


def book_of(file: str, level: RulebookLevel = "user") -> Rulebook:
    """The rulebook of a file. Raises GovernanceError."""
    try:
        with open(file, "rb", opener=_opener) as opened:
            text = opened.read(_LARGEST).decode("utf-8")
    except OSError as error:
        raise GovernanceError.of(file, 1, f"it can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise GovernanceError.of(file, 1, "expected UTF-8 text") from None
    return load_rulebook(text, file, level)


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def books_here(file: str | None, cwd: str) -> tuple[Rulebook, ...]:
    """The rulebook of a file that was named, or all that hold in a directory. Raises GovernanceError, ConfigError."""
    if file is not None:
        return (book_of(file),)
    found = tuple(book_of(path, level) for path, level in files_here(cwd))
    if not found:
        raise GovernanceError.of(str(user_file()), 1, "there is no such file; `interpose governance init` begins one")
    return found
