"""A webhook that takes what Slack's takes: Slack, Mattermost, Rocket.Chat, Discord's `/slack`.

What the agent chose stands in code marks: no chat makes a link, a mention or bold letters of what is in there.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import json as fast

from interpose.people.notifications.notices import Notice, NoticeLine
from interpose.people.notifications.posting import post

_TICK = "`"
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def send(notice: Notice, *, url: str, secret: str) -> None:  # noqa: ARG001 - the address is the secret
    """Post it. Raises NotificationError."""
    post(url, fast.encode({"text": text(notice)}), {"Content-Type": "application/json"})


def text(notice: Notice) -> str:
    """A notification as such chats write it."""
    return "\n".join(_lines(notice))


def _lines(notice: Notice) -> Iterator[str]:
    yield f"*{_quoted(notice.title)}*"
    if notice.hint:
        yield _escaped(notice.hint)
    for entry in notice.entries:
        if len(notice.entries) > 1:
            yield f"*Question {entry.id}*"
        yield from (_line(line) for line in entry.lines)
        # The mark `<address|words>` is Slack's own; an address alone is a link in all of them.
        yield f"Answer: {entry.link}" if entry.link else f"Answer: `interpose approvals show {entry.id}`"
    if notice.more:
        yield f"And {notice.more} more: `interpose approvals list`"


def _line(line: NoticeLine) -> str:
    return f"{line.label}: {_quoted(line.text) if line.quoted else _escaped(line.text)}"


def _quoted(text: str) -> str:
    """INVARIANT: there is no mark in it that could end the quotation."""
    return f"`{_escaped(text.replace(_TICK, chr(0x2BC)))}`"


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
