"""Hosts that understand nothing but the exit code: 2 refuses what is asked about, the reason stands on standard error.

Nothing can be changed on its way and no result can be replaced. Where a host shows the agent what a hook prints, that
is how the agent is told.
"""

from __future__ import annotations

from typing import Any

from interpose.doors.hooks.hosts.event_fields import read_event
from interpose.doors.hooks.hosts.events import HostEvent, Reply, Unable, one_line, refused


class ExitCode(Unable, frozen=True):
    """A host with named fields."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event."""
        return read_event(self.facts, raw, hint)

    def allow(self, _event: HostEvent) -> Reply:
        """Nothing."""
        return Reply()

    def deny(self, event: HostEvent, reason: str) -> Reply:
        """Refuse, or tell the agent where the host can't be stopped."""
        return refused(reason) if event.name in self.facts.gates else self.context(event, reason)

    def context(self, event: HostEvent, text: str) -> Reply:
        """What the agent reads, or a person where the agent doesn't."""
        return Reply(text.encode()) if event.name in self.facts.prints else Reply(b"", one_line(text))

    def broken(self, reason: str) -> Reply:
        """Exit code 2."""
        return refused(reason)


CODEC = ExitCode
