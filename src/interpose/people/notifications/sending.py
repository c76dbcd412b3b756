"""A notification on its way through one channel, with its secrets filled in at that moment."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from interpose.core.config.notifications import NotificationChannel
from interpose.core.config.server_variables import filled
from interpose.core.errors import NotificationError, text_of
from interpose.people.notifications.notices import Notice

_LARGEST_SECRET = 4096


def send(notice: Notice, channel: NotificationChannel, environ: Mapping[str, str]) -> None:
    """Send it, in one attempt. Raises NotificationError, which names no secret. Blocks."""
    try:
        channel = filled(channel, environ)
    except ValueError as error:
        raise NotificationError(text_of(error)) from None
    url = _read(channel.url_file) if channel.url_file else channel.url
    secret = _read(channel.secret_file) if channel.secret_file else channel.secret
    if not (url + secret).isprintable() or not (url + secret).isascii() or " " in url:
        raise NotificationError("its address or secret has characters that none has")
    match channel.kind:
        case "ntfy":
            from interpose.people.notifications import ntfy

            ntfy.send(notice, url=_web(url), secret=secret)
        case "slack":
            from interpose.people.notifications import slack

            slack.send(notice, url=_web(url), secret=secret)
        case "mail":
            from interpose.people.notifications import mail

            mail.send(notice, url=url, secret=secret, user=channel.user, sender=channel.sender, to=channel.to)
        case "desktop":
            from interpose.people.notifications import desktop

            desktop.send(notice)


def _web(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise NotificationError("its address does not begin with http:// or https://")
    return url


def _read(name: str) -> str:
    """A secret of a file that its owner alone can read."""
    path = os.path.expanduser(name)  # noqa: PTH111 - `~/` only: the model takes nothing else
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotificationError(f"{name}: can't be read: {error.strerror}") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise NotificationError(f"{name}: it is no regular file")
        if found.st_mode & 0o077:
            raise NotificationError(f"{name}: others can reach it; run: chmod 600 {name}")
        text = os.read(handle, _LARGEST_SECRET).decode("utf-8", "replace").strip()
    finally:
        os.close(handle)
    if not text:
        raise NotificationError(f"{name}: it is empty")
    return text
