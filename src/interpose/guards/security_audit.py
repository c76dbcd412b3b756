"""`builtin:security-audit`: may a file tool touch this path?

Reading a secret, planting what runs later, and changing the system or the guard are questions for a person. The same
path means the same here as in a command, because both ask `interpose.paths`.
"""

from __future__ import annotations

import os

from interpose.paths import Mark, Place, persistence_of, place_of, resolve, secret_of, tamper_of
from interpose.tools import paths_of
from interpose.types import Allow, Confirm, Deny, ToolCall

ID = "builtin:security-audit"

READERS = frozenset({"read"})
WRITERS = frozenset({"write", "edit", "apply_patch"})

_SYSTEM = frozenset({Place.ROOT, Place.SYSTEM_TOP, Place.SYSTEM})


class SecurityAudit:
    """Judges the paths of `read`, `write`, `edit` and `apply_patch` calls."""

    id = ID

    def __init__(self, *, workspace: str = "", home: str | None = None) -> None:
        self.workspace = workspace
        self.home = os.environ.get("HOME", "/root") if home is None else home

    def intercept(self, call: ToolCall) -> Allow | Confirm | Deny:
        """The decision on one call: the worst of its paths."""
        if call.name not in READERS and call.name not in WRITERS:
            return Allow()
        named = paths_of(call)
        if not named:
            return Deny(
                f"This {call.name} call names no path, so nobody can say what it would touch.",
                rule="bad-path",
                part="path",
            )
        cwd = call.context.cwd or self.workspace or "/"
        decision: Allow | Confirm | Deny = Allow()
        for text in named:
            found = self._judge(text, cwd, writes=call.name in WRITERS)
            if isinstance(found, Deny):
                return found
            if isinstance(found, Confirm) and isinstance(decision, Allow):
                decision = found
        return decision

    def _judge(self, text: str, cwd: str, *, writes: bool) -> Allow | Confirm | Deny:
        path = resolve(text, cwd, self.home)
        if writes:
            place = place_of(path, cwd=cwd, home=self.home, workspace=self.workspace or cwd)
            if place is Place.DEVICE:
                return Deny(
                    "Writes straight onto a disk, which destroys what is on it.", "write-device", "critical", text
                )
            if mark := tamper_of(path, self.home):
                return _question("guard-tamper", "Changes", text, mark)
            if (mark := persistence_of(path, self.home)) and mark.strength != "soft":
                return _question("persistence", "Changes", text, mark)
            if place in _SYSTEM:
                return Confirm("Changes a part of the operating system.", "write-system", "error", text)
        if (mark := secret_of(path, self.home)) and mark.strength != "faint":
            return _question("secret", "Changes" if writes else "Reads", text, mark)
        if not writes and not path.startswith(f"{cwd}/") and (mark := tamper_of(path, self.home)):
            # Agents keep tokens beside their settings.
            return _question("agent-settings", "Reads", text, mark)
        return Allow()


def _question(rule: str, verb: str, path: str, mark: Mark) -> Confirm:
    return Confirm(f"{verb} {path}, which {mark.reason}.", rule, "error", path)
