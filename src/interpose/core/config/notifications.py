"""How people are told of questions: channels, and how often.

Annotations are no texts here, as in settings.py.
"""

import re
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from interpose.core.answers import ApproverRole
from interpose.core.types import EMPTY, FrozenDict, Severity
from interpose.effects.late_patterns import late

_MAIL_ADDRESS = late(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,190}", re.ASCII)
_CHANNEL_NAME = late(r"[A-Za-z0-9][A-Za-z0-9._-]{0,23}", re.ASCII)
MOST_CHANNELS = 20


class NotificationChannel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to tell people of questions: a topic of ntfy, a Slack-compatible webhook, mail, or this desktop."""

    kind: Literal["ntfy", "slack", "mail", "desktop"]
    url: Annotated[
        str,
        Meta(
            pattern=r"^((https?://|smtps?://|\$\{)[^\s]+)?$(?!\n)",
            description="ntfy: the topic's address; slack: the webhook's; mail: smtp://host:587 or smtps://host",
        ),
    ] = ""
    url_file: Annotated[str, Meta(pattern=r"^((/|~/).+)?$(?!\n)", description="file with that address")] = ""
    secret: Annotated[str, Meta(description="ntfy: an access token; mail: the password; as ${VARIABLE}")] = ""
    secret_file: Annotated[str, Meta(pattern=r"^((/|~/).+)?$(?!\n)", description="file with that secret")] = ""
    user: Annotated[str, Meta(max_length=200, description="mail: who logs in")] = ""
    sender: Annotated[str, Meta(max_length=200, description="mail: the address that it comes from")] = ""
    to: Annotated[tuple[str, ...], Meta(max_length=20, description="mail: the addresses that it goes to")] = ()
    after: Annotated[
        float, Meta(ge=0, le=86400, description="seconds until it is told, if the question is still open then")
    ] = 0.0
    min_severity: Annotated[Severity, Meta(description="questions of less are not told here")] = "info"
    details: Annotated[bool, Meta(description="false: only that there is a question, and its link")] = True
    person: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9._@-]{0,40}$(?!\n)",
            description="who gets it: whoever answers by its links answers as this person",
        ),
    ] = ""
    role: Annotated[ApproverRole, Meta(description="the role of that person")] = "approver"

    def __post_init__(self) -> None:
        needs_url = self.kind != "desktop"
        if bool(self.url) == bool(self.url_file) and needs_url:
            raise ValueError(f"{self.kind} needs a url or a url_file, and not both")
        if not needs_url and (self.url or self.url_file or self.secret or self.secret_file):
            raise ValueError("desktop has no url and no secret")
        if self.secret and self.secret_file:
            raise ValueError("a secret or a secret_file, not both")
        if self.kind == "slack" and (self.secret or self.secret_file):
            raise ValueError("the secret of a slack webhook is its url: use url_file")
        schemes = ("smtp://", "smtps://", "${") if self.kind == "mail" else ("http://", "https://", "${")
        if self.url and not self.url.startswith(schemes):
            raise ValueError(f"the url of {self.kind} begins with {' or '.join(schemes[:2])}")
        if self.kind == "mail" and not (self.sender and self.to):
            raise ValueError("mail needs a sender and to")
        if self.kind != "mail" and (self.user or self.sender or self.to):
            raise ValueError("user, sender and to are for mail")
        if bool(self.user) != bool(self.secret or self.secret_file) and self.kind == "mail":
            raise ValueError("user and secret are needed together")
        for one in (self.sender, *self.to) if self.kind == "mail" else ():
            if not _MAIL_ADDRESS.fullmatch(one):
                raise ValueError(f"{one[:80]!r} is no mail address")


class NotificationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is told of questions, and how. See `interpose help notifications`."""

    channels: Annotated[
        dict[str, NotificationChannel],
        Meta(
            description="ways to tell people of questions, by name, each with `kind` (ntfy, slack, mail, desktop)",
            extra={
                "secret": True,
                "form": "a map of channels by name, each with kind",
                "servers": NotificationChannel,
            },
        ),
    ] = EMPTY
    group: Annotated[
        float, Meta(ge=0, le=60, description="seconds in which questions are collected into one notification")
    ] = 3.0
    per_minute: Annotated[int, Meta(ge=1, le=60, description="notifications a minute of one channel at most")] = 6

    def __post_init__(self) -> None:
        force_setattr(self, "channels", FrozenDict(self.channels))
        if len(self.channels) > MOST_CHANNELS:
            raise ValueError(f"notifications.channels: {MOST_CHANNELS} at most")
        for name in self.channels:
            if not _CHANNEL_NAME.fullmatch(name):
                raise ValueError(
                    f"notifications.channels: {name[:40]!r}: a name has letters, digits, `-`, `.` and `_`, and 24 of "
                    "them at most"
                )
