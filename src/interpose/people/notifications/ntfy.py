"""ntfy: a push message to phones and browsers that follow a topic.

INVARIANT: a button of the message says no, or opens the page. A yes needs the page.
"""

from __future__ import annotations

from typing import Any

from msgspec import json as fast

from interpose.core.errors import NotificationError
from interpose.core.types import Severity
from interpose.people.notifications.notices import Notice, text_of_notice
from interpose.people.notifications.posting import post

_PRIORITY: dict[Severity, int] = {"info": 3, "warning": 3, "error": 4, "critical": 5}
_LONGEST = 4000
"""Bytes: a server of ntfy makes a file out of longer messages."""
_FORM = "application/x-www-form-urlencoded"


def send(notice: Notice, *, url: str, secret: str) -> None:
    """Publish it. Raises NotificationError."""
    base, _, topic = url.rstrip("/").rpartition("/")
    if not topic or base.endswith("/"):
        raise NotificationError("the url of ntfy names no topic: https://ntfy.example/TOPIC")
    headers = {"Content-Type": "application/json"}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    post(f"{base}/", fast.encode(message(notice, topic)), headers)


def message(notice: Notice, topic: str) -> dict[str, Any]:
    """What is published."""
    alone = notice.entries[0] if len(notice.entries) == 1 else None
    text = text_of_notice(notice, links=alone is None).encode()
    said: dict[str, Any] = {
        "topic": topic, "title": notice.title, "priority": _PRIORITY[notice.severity], "markdown": False,
        "message": text[:_LONGEST].decode("utf-8", "ignore"),
    }  # fmt: skip
    if alone is not None and alone.link:
        said["click"] = alone.link
        said["actions"] = [
            {"action": "view", "label": "Look and answer", "url": alone.link},
            {
                "action": "http", "label": "Deny", "url": alone.deny, "method": "POST", "body": "answer=deny",
                "headers": {"Content-Type": _FORM}, "clear": True,
            },
        ]  # fmt: skip
    return said
