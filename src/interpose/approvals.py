"""Questions to people in a program of yours. See `interpose help approvals`."""

from interpose.people.approvals.desk import Desk
from interpose.people.approvals.scopes import SESSION
from interpose.people.approvals.seal import open_seal

__all__ = ["SESSION", "Desk", "open_seal"]
