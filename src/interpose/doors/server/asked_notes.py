"""Questions that hooks wait for now, each as a small file: what an agent's own screen shows while its hook waits.

A host that runs a program for its status line runs `line.bash`, which reads them. They decide nothing, and a note that
a killed server left is over when its time is.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from interpose.core.late import late_logger
from interpose.doors.hooks.hosts.hook_waits import what_is_asked, where_to_answer
from interpose.effects.late_patterns import late

if TYPE_CHECKING:
    from interpose.people.approvals.questions import Question

log = late_logger("interpose.hooks")

_SESSION = late(r"[A-Za-z0-9_-]{1,100}")
"""Sessions whose names can be those of files. Hosts that show a line name theirs so."""


class AskedNotes:
    """One file for each question: until when it is waited for, what is asked, and where to answer."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, question: Question, seconds: float) -> None:
        """The answer to this is waited for now. What can't be noted is not shown, and waits all the same."""
        if not _SESSION.fullmatch(question.session):
            return
        note = self._file(question)
        draft = note.with_name(f".{note.name}")
        text = f"{int(time() + seconds)} {what_is_asked(question)}\nAnswer: {where_to_answer(question)}\n"
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            draft.replace(note)  # whoever reads it sees all of it
        except OSError as error:
            log.warning("a question can't be shown in the agent's status line: %s: %s", note, error.strerror)

    def remove(self, question: Question) -> None:
        """Nobody waits for it any longer."""
        if _SESSION.fullmatch(question.session):
            self._remove(self._file(question))

    def clear(self) -> None:
        """Nobody waits for anything: this server starts."""
        for left in self._directory.glob("*") if self._directory.is_dir() else ():
            self._remove(left)

    def _file(self, question: Question) -> Path:
        return self._directory / f"{question.session}.{question.id}"

    @staticmethod
    def _remove(file: Path) -> None:
        try:
            file.unlink(missing_ok=True)
        except OSError:
            pass  # it is over when its time is
