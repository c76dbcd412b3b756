"""A message on the desktop of this machine: notify-send, over the session bus."""

from __future__ import annotations

import shutil
import subprocess
from html import escape

from interpose.core.errors import NotificationError
from interpose.core.types import Severity
from interpose.people.notifications.notices import Notice, text_of_notice
from interpose.people.notifications.posting import TIMEOUT

PROGRAM = "notify-send"
_URGENCY: dict[Severity, str] = {"info": "low", "warning": "normal", "error": "normal", "critical": "critical"}
_SAID = 200


def send(notice: Notice) -> None:
    """Show it. Raises NotificationError."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise NotificationError(f"there is no {PROGRAM} here: install it (libnotify), or choose another channel")
    # The text may have marks such as <b> there: none of ours has, and none of the agent's counts.
    words = [
        program, "--app-name=Interpose", f"--urgency={_URGENCY[notice.severity]}", "--", notice.title,
        escape(text_of_notice(notice), quote=False),
    ]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 - our own words; what the agent chose is one argument behind `--`
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotificationError(f"{PROGRAM} did not end within {TIMEOUT:g} s", again=True) from None
    except OSError as error:
        raise NotificationError(f"{PROGRAM} can't be started: {error.strerror}") from None
    if done.returncode:
        said = done.stderr[:_SAID].decode("utf-8", "replace").strip()
        raise NotificationError(f"{PROGRAM} ended with {done.returncode}{f': {said}' if said else ''}", again=True)
