"""What a call would do, in words. Facts alone: nothing here is said by the agent but names of things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from interpose.core.formats.plain_text import one_line
from interpose.core.types import EMPTY, EffectKind

LONGEST = 200

_VERBS: Mapping[EffectKind, str] = {
    "fs.read": "reads",
    "fs.write": "writes",
    "fs.delete": "deletes",
    "fs.permission": "changes who may use",
    "process.exec": "runs",
    "process.kill": "ends the process",
    "code.remote": "runs code from elsewhere with",
    "net.upload": "sends data to",
    "net.download": "fetches",
    "net.listen": "listens on",
    "privilege": "takes the rights of",
    "vcs.discard": "discards",
    "vcs.publish": "publishes to",
    "data.destroy": "destroys data:",
    "infra.destroy": "destroys what runs:",
    "package.install": "installs",
    "package.publish": "publishes the package",
    "world.change": "acts on the world outside by",
    "persistence": "stays after it ended:",
    "system": "changes the system:",
    "secret.read": "reads a secret:",
    "guard.tamper": "touches what guards it:",
    "opaque": "can't be read:",
}
_MARKS = ("recursive", "forced", "deletes", "everything", "remote", "project", "script")
"""Details that change what an effect is, as words behind it."""


class AnyEffect(Protocol):
    """An effect, as it was seen now or is kept."""

    @property
    def kind(self) -> EffectKind:
        """What it is."""

    @property
    def resource(self) -> str:
        """On what."""

    @property
    def certainty(self) -> str:
        """How surely."""


def effect_text(effect: AnyEffect) -> str:
    """An effect in words: `deletes /srv/app/build (recursive)`, `may fetch https://example.com/x`."""
    details: Mapping[str, Any] = getattr(effect, "details", EMPTY)
    resource = one_line(effect.resource)
    shown = resource if len(resource) <= LONGEST else f"{resource[:LONGEST]}…"
    marks = [mark for mark in _MARKS if details.get(mark) is True]
    text = f"{_VERBS[effect.kind]} {shown}".rstrip(": ") + (f" ({', '.join(marks)})" if marks else "")
    return text if effect.certainty == "proven" else f"perhaps {text}"
