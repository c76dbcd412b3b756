"""Secrets in what a tool sends to others."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from interpose.core.tool_words import word_set
from interpose.core.types import Certainty, Effect, FrozenDict
from interpose.reading.unknown_tools.arguments import Leaf
from interpose.reading.unknown_tools.tool_names import ToolWords

if TYPE_CHECKING:
    from interpose.reading.secrets import Redactor

_OUTWARD = word_set(
    """
    send post upload share publish email mail message messages sms tweet reply forward comment issue issues pull
    gist gists webhook http https request fetch navigate goto url submit broadcast notify push release slack
    discord github gitlab gmail outlook teams telegram whatsapp twitter notion jira linear confluence gdrive
    drive dropbox pastebin paste zapier trello asana reddit linkedin facebook instagram mastodon zendesk
    intercom hubspot salesforce twilio sendgrid mailgun mailchimp web search google api remote s3 blob bucket
    sheets docs page wiki
    """
)
_KEEPING = frozenset({"secret", "secrets", "vault", "credential", "credentials", "keychain", "password"})
_GUESSED = frozenset(
    {
        "generic-password", "generic-api-key", "url-parameter", "cookie", "command-password", "authorization-header",
        "too-complex", "url-password", "basic-auth", "curl-password", "netrc-password",
    }
)  # fmt: skip
"""Kinds that only a name or a place gives away: people write such words to each other."""
_LONGEST, _SHORTEST = 1_048_576, 12


_COOKIES = ("document.cookie", "localStorage", "sessionStorage")
_SENDING = ("fetch(", "XMLHttpRequest", "sendBeacon", "WebSocket", "new Image", ".src")


def taken_from_page(name: str, leaves: tuple[Leaf, ...]) -> tuple[Effect, ...]:
    """A script of a page that reads what a person is logged in with, and sends something."""
    for leaf in leaves:
        text = leaf.text if leaf.name.is_code or leaf.name.is_command else ""
        if any(word in text for word in _COOKIES) and any(word in text for word in _SENDING) and "//" in text:
            reason = f"A script that {name[:100]!r} runs in a page reads its login and sends something"
            details = FrozenDict({"secret": True, "rule": "page-secrets", "reason": reason})
            return (Effect("net.upload", name, "possible", details=details),)
    return ()


def sent_secrets(tool: ToolWords, name: str, leaves: tuple[Leaf, ...], *, outward: bool) -> tuple[Effect, ...]:
    """One effect if a secret is in what leaves. How a call proves who it is (a header, a token) is no such thing."""
    if not outward and not tool.has(_OUTWARD) and not any(leaf.text.startswith(("http:", "https:")) for leaf in leaves):
        return ()
    certainty: Certainty = "possible" if tool.has(_KEEPING) else "proven"
    left = _LONGEST
    for leaf in leaves:
        if leaf.proves or len(leaf.text) < _SHORTEST:
            continue
        left -= len(leaf.text)
        if left < 0:  # INVARIANT: what was not searched is not taken for harmless.
            return (_upload(name, "sends more than is searched for secrets", "possible"),)
        kinds = [found.kind for found in _redactor().redact(leaf.text).found if found.kind not in _GUESSED]
        if kinds:
            where = "_".join(leaf.name.words) or "a text"
            return (_upload(name, f"sends a secret to others ({kinds[0]}), in {where}", certainty),)
    return ()


def _upload(name: str, what: str, certainty: Certainty) -> Effect:
    details = FrozenDict({"secret": True, "rule": "exfiltration", "reason": f"The tool {name[:100]!r} {what}"})
    return Effect("net.upload", name, certainty, details=details)


@cache
def _redactor() -> Redactor:
    from interpose.reading.secrets import Redactor

    return Redactor()
